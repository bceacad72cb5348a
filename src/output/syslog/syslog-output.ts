import type { Socket as DatagramSocket } from "node:dgram";
import type { Socket } from "node:net";
import type { Clock } from "../../report/index.ts";
import { createEndpoints } from "../delivery/endpoints.ts";
import { allAccepted, type OutputAdapter } from "../delivery/output-adapter.ts";
import type { SyslogOutputConfig } from "./syslog-config.ts";
import { openDatagrams, sendDatagrams } from "./syslog-datagrams.ts";
import { createHeaderOf, datagramOf, frameMessages } from "./syslog-message.ts";
import { openStream, writeAll, writeAndEnd, writeFirst } from "./syslog-stream.ts";

/** How long a server must be silent at its first message, besides the way there and back: longer than its threads wait. */
const leastSilenceMs = 50;

/** Sends each record as a message of syslog (RFC 5424), over TCP, TLS or UDP. */
export function createSyslogOutput(config: SyslogOutputConfig, clock: Clock): OutputAdapter {
  return config.protocol === "udp" ? overDatagrams(config, clock) : overStreams(config, clock);
}

/**
 * Syslog has no acknowledgements. So each batch has a connection of its own, which the server closes when it has read it:
 * at least once. With `confirm` of `write` connections stay, and what a server had not read when it went away is lost.
 */
function overStreams(config: SyslogOutputConfig, clock: Clock): OutputAdapter {
  const { servers, tls, confirm } = config;
  const endpoints = createEndpoints(servers, clock);
  const headerOf = createHeaderOf(config);
  /** Connections that stay and are free, the server of each. */
  const idle = new Map<Socket, string>();
  /** Servers that took the last batch: they speak syslog, not TLS. */
  const known = new Set<string>();

  const to = async <T>(action: (server: string) => Promise<T>, signal: AbortSignal): Promise<T> => {
    const server = endpoints.next();
    try {
      const result = await action(server);
      endpoints.worked(server);
      return result;
    } catch (error) {
      // Another server may listen there now.
      known.delete(server);
      if (!signal.aborted) endpoints.failed(server);
      throw error;
    }
  };

  const taken = (server: string): Socket | undefined => {
    for (const [socket, of] of idle) {
      if (socket.destroyed || !socket.writable) idle.delete(socket);
      else if (of === server) {
        idle.delete(socket);
        return socket;
      }
    }
    return undefined;
  };

  return {
    async open(signal) {
      const socket = await to((server) => openStream(server, tls, signal), signal);
      socket.destroy();
      return [];
    },
    async send(batch, signal) {
      const messages = frameMessages(batch, headerOf);
      await to(async (server) => {
        const begunAt = clock.monotonic();
        const socket = taken(server) ?? (await openStream(server, tls, signal));
        const silenceMs = leastSilenceMs + 2 * (clock.monotonic() - begunAt);
        const isKnown = tls !== undefined || known.has(server);
        if (!isKnown) await writeFirst(socket, messages, { server, silenceMs, signal });
        if (confirm === "close") await writeAndEnd(socket, isKnown ? messages : undefined, server, signal);
        else if (isKnown) await writeAll(socket, messages, server, signal);
        known.add(server);
        if (confirm === "close") return;
        // A server that closes is seen at once, and not with the next batch.
        socket.resume().once("end", () => socket.destroy());
        idle.set(socket, server);
      }, signal);
      return allAccepted;
    },
    async close() {
      for (const socket of idle.keys()) socket.destroySoon();
    },
  };
}

/** Whether a datagram has arrived is not known: at most once. */
function overDatagrams(config: SyslogOutputConfig, clock: Clock): OutputAdapter {
  const endpoints = createEndpoints(config.servers, clock);
  const headerOf = createHeaderOf(config);
  const sockets = new Map<string, DatagramSocket>();
  const socketTo = async (server: string): Promise<DatagramSocket> => {
    const socket = sockets.get(server) ?? (await openDatagrams(server));
    sockets.set(server, socket);
    return socket;
  };
  return {
    async open() {
      for (const server of config.servers) await socketTo(server);
      return ["syslog over UDP: what is lost on the way, or refused by the receiver, is not noticed"];
    },
    async send(batch) {
      const server = endpoints.next();
      try {
        const outcome = await sendDatagrams(await socketTo(server), server, batch, (lines, from, to) =>
          datagramOf(lines, from, to, headerOf),
        );
        endpoints.worked(server);
        return outcome;
      } catch (error) {
        endpoints.failed(server);
        // The next one looks the name up again.
        sockets.get(server)?.close();
        sockets.delete(server);
        throw error;
      }
    },
    async close() {
      for (const socket of sockets.values()) socket.close();
    },
  };
}
