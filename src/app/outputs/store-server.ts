import type { StoreConfig } from "../../output/index.ts";
import type { Secret } from "../../text/index.ts";
import type { Settings } from "../settings/index.ts";

type HttpStoreConfig = Extract<StoreConfig, { kind: "http" }>;

/** Words of stores that take basic authentication, a bearer token and headers. */
type LogWord = "GENERIC_HTTP" | "LOKI" | "VICTORIALOGS" | "OTLP";

/** How a store that takes basic authentication, a bearer token and headers is reached. @param path of addresses that are no URLs. */
export function logServerOf(word: LogWord, settings: Settings, path: string): Omit<HttpStoreConfig, "kind" | "format"> {
  const of = <Name extends string>(name: Name): `SVC_OUTPUT_${LogWord}_${Name}` => `SVC_OUTPUT_${word}_${name}`;
  const token = settings[of("TOKEN")];
  return {
    ...serverOf(word, settings, path),
    compression: settings[of("COMPRESSION")],
    headers: {
      ...Object.fromEntries(settings[of("HEADERS")]),
      ...basicAuthorization(settings[of("USERNAME")], settings[of("PASSWORD")]),
      ...(token.isSet && { authorization: `Bearer ${token.reveal()}` }),
    },
  };
}

/** Words of stores over HTTP whose client certificate is set as that of TLS. */
type HttpWord = LogWord | "CRIBL" | "CLICKHOUSE" | "SPLUNK_HEC";

/** How a store over HTTP is reached. @param path of addresses that are no URLs. */
export function serverOf(
  word: HttpWord,
  settings: Settings,
  path: string,
): Pick<HttpStoreConfig, "urls" | "tls" | "maxConnections"> {
  const of = <Name extends string>(name: Name): `SVC_OUTPUT_${HttpWord}_${Name}` => `SVC_OUTPUT_${word}_${name}`;
  return {
    urls: settings[of("ADDRESSES")].map((address) => urlOf(address, settings[of("TLS_ENABLE")], path)),
    tls: tlsOf(word, settings),
    maxConnections: settings[of("REQUESTS_IN_FLIGHT")],
  };
}

/** TLS of a store whose client certificate is set as that of TLS. */
export function tlsOf(word: HttpWord | "KAFKA" | "NATS" | "SYSLOG", settings: Settings): HttpStoreConfig["tls"] {
  const of = <Name extends string>(name: Name): `SVC_OUTPUT_${typeof word}_${Name}` => `SVC_OUTPUT_${word}_${name}`;
  return {
    caPath: settings[of("TLS_CA_CERT_FILEPATH")],
    certPath: settings[of("TLS_CERT_FILEPATH")],
    keyPath: settings[of("TLS_KEY_FILEPATH")],
    skipVerification: settings[of("TLS_SKIP_VERIFICATION")],
  };
}

/** An address as a URL; the path is for those that are none. */
export function urlOf(address: string, isTls: boolean, path: string): string {
  return /^https?:/i.test(address) ? address : `${isTls ? "https" : "http"}://${address}${path}`;
}

/** The header of basic authentication; none without a user or a password. */
export function basicAuthorization(user: string, password: Secret): { readonly authorization?: string } {
  if (user === "" || !password.isSet) return {};
  return { authorization: `Basic ${Buffer.from(`${user}:${password.reveal()}`).toString("base64")}` };
}
