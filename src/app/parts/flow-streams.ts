import { readTlsCredentials } from "../../server/index.ts";
import { readAuthorities } from "./access.ts";
import type { StreamCredentials, StreamOptions } from "../../flow/index.ts";
import type { Settings } from "../settings/index.ts";

/**
 * Returns the connections of exporters by the settings; undefined when there are to be none.
 *
 * @throws Error naming a file of TLS that cannot be read.
 */
export function flowStreams(settings: Settings): StreamOptions | undefined {
  const ports: StreamOptions["ports"][number][] = [];
  if (settings.SVC_FLOW_SERVER_TCP_ENABLE) {
    ports.push({ ip: settings.SVC_FLOW_SERVER_TCP_IP, port: settings.SVC_FLOW_SERVER_TCP_PORT });
  }
  const tls = flowCredentials(settings);
  if (tls !== undefined) {
    ports.push({ ip: settings.SVC_FLOW_SERVER_TLS_IP, port: settings.SVC_FLOW_SERVER_TLS_PORT, tls });
  }
  if (ports.length === 0) return undefined;
  return {
    ports,
    maxConnections: settings.SVC_FLOW_SERVER_TCP_MAX_CONNECTIONS,
    maxPerHost: settings.SVC_FLOW_SERVER_TCP_MAX_CONNECTIONS_PER_HOST,
    idleMs: settings.SVC_FLOW_SERVER_TCP_IDLE_TIMEOUT * 1000,
  };
}

/**
 * Reads certificate, key and authorities of the TLS port for flows; undefined when it is off.
 *
 * @throws Error naming the file that cannot be read.
 */
export function flowCredentials(settings: Settings): StreamCredentials | undefined {
  if (!settings.SVC_FLOW_SERVER_TLS_ENABLE) return undefined;
  const { cert, key } = readTlsCredentials({
    certPath: settings.SVC_FLOW_SERVER_TLS_CERT_FILEPATH,
    keyPath: settings.SVC_FLOW_SERVER_TLS_KEY_FILEPATH,
  });
  const caPath = settings.SVC_FLOW_SERVER_TLS_CA_CERT_FILEPATH;
  return { cert, key, ca: caPath === "" ? undefined : readAuthorities(caPath) };
}
