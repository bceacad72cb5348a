import { promisify } from "node:util";
import * as zlib from "node:zlib";
import {
  bool,
  hasControl,
  list,
  listOrNone,
  oneOf,
  partsOf,
  path,
  plainText,
  row,
  secret,
  serverAddress,
  userName,
  type Setting,
  type SettingType,
} from "../../base/settings/index.ts";
import { Secret } from "../../base/text/index.ts";
import type { TlsConfig } from "../delivery/tls-options.ts";
import type { OwnSettings } from "../output-kind.ts";
import type { HttpStore } from "../delivery/http-client.ts";
import { commonRows } from "../delivery/settings.ts";

export type Compression = "none" | "gzip" | "zstd";

type Compress = (bytes: Uint8Array) => Promise<Uint8Array>;

const gzip = promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.gzip);
/** Available from Node 22.15 on. */
const { zstdCompress } = zlib as {
  readonly zstdCompress?: (bytes: Uint8Array, callback: (error: Error | null, result: Buffer) => void) => void;
};

/**
 * Returns a function that compresses in a thread of libuv's pool, fast rather than small.
 *
 * @returns undefined for `none`. @throws Error when this Node does not support it.
 */
export function compressor(compression: Compression): Compress | undefined {
  if (compression === "none") return undefined;
  if (compression === "gzip") return (bytes) => gzip(bytes, { level: 1 });
  if (zstdCompress === undefined) throw new Error("this Node has no zstd: 22.15 or later is needed");
  return promisify(zstdCompress);
}

/** Returns the fault of a compression that this Node does not support; undefined: there is none. */
export function zstdFault(compression: string): string | undefined {
  if (compression !== "zstd" || zstdCompress !== undefined) return undefined;
  return `cannot be zstd with Node ${process.version}: 22.15 or later is needed`;
}

/** HTTP headers: `X-Tenant=edge,X-Site=north`. */
const headerList: SettingType<ReadonlyMap<string, string>> = {
  expected: "a list separated by commas, nothing twice, each <name of an HTTP header>=<value>",
  parse(value) {
    const pairs = partsOf(value).map((pair) => pair.split("="));
    const found = new Map<string, string>();
    for (const [name = "", ...parts] of pairs) {
      const text = parts.join("=");
      if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(name) || text === "" || hasControl(text)) return undefined;
      found.set(name.toLowerCase(), text);
    }
    return found.size === pairs.length ? found : undefined;
  },
  format: (of) => [...of].map(([name, value]) => `${name}=${value}`).join(","),
};

export const addressesRow = (fallback: readonly string[]): Setting<readonly string[]> =>
  row(
    list(serverAddress),
    fallback,
    "The servers of the store. Requests are spread over those that answer.",
    "https://store-1.example.com,https://store-2.example.com",
  );

export const tlsRows = {
  TLS_ENABLE: row(bool, false, "Uses TLS for addresses without a scheme. `https://` and `tls://` say it themselves."),
  TLS_CA_CERT_FILEPATH: row(
    path,
    "",
    "CA certificates in PEM. They replace those of the system.",
    "/etc/netgloss/tls/ca.pem",
  ),
  TLS_SKIP_VERIFICATION: row(
    bool,
    false,
    "Accepts any server certificate. Insecure: others on the path can read and change the records.",
  ),
};

export const clientCertificateRows = {
  TLS_CERT_FILEPATH: row(path, "", "The client's certificate in PEM.", "/etc/netgloss/tls/client.pem"),
  TLS_KEY_FILEPATH: row(path, "", "The client's private key in PEM.", "/etc/netgloss/tls/client-key.pem"),
};

export const credentialRows = (user: string) => ({
  USERNAME: row(userName, user, "The user name of basic authentication, which needs a password, too.", "netgloss"),
  PASSWORD: row(secret, new Secret(""), "The password of basic authentication."),
});

export const tokenRow = row(secret, new Secret(""), "Sent as `Authorization: Bearer <token>`.");
export const headersRow = row(headerList, new Map(), "Further headers of every request.", "x-tenant=edge,x-site=north");

export const labelsRow = (what: string): Setting<readonly string[]> =>
  row(listOrNone(plainText), ["flow.export.ip.addr", "system.ip.addr"], what);

export const gzipRow = row(oneOf(["none", "gzip"]), "none", "Of requests.");

/** Returns the settings of a log store over HTTP: servers, TLS, credentials and headers. */
export const logStoreRows = (store: string, address: string) => ({
  ...commonRows(store),
  ADDRESSES: addressesRow([address]),
  ...tlsRows,
  ...clientCertificateRows,
  ...credentialRows(""),
  TOKEN: tokenRow,
  HEADERS: headersRow,
  COMPRESSION: gzipRow,
});

type TlsSettings = OwnSettings<typeof tlsRows & typeof clientCertificateRows>;

/** Reads the TLS of a store. */
export function tlsOf(settings: TlsSettings): TlsConfig {
  return {
    caPath: settings.TLS_CA_CERT_FILEPATH,
    certPath: settings.TLS_CERT_FILEPATH,
    keyPath: settings.TLS_KEY_FILEPATH,
    skipVerification: settings.TLS_SKIP_VERIFICATION,
  };
}

interface ServerSettings extends Pick<TlsSettings, "TLS_ENABLE"> {
  readonly ADDRESSES: readonly string[];
}

/** Reads the addresses of a store over HTTP as URLs. @param pathOfAddress the path for addresses that are not URLs. */
export function urlsOf({ ADDRESSES, TLS_ENABLE }: ServerSettings, pathOfAddress = ""): readonly string[] {
  const scheme = TLS_ENABLE ? "https" : "http";
  return ADDRESSES.map((address) => (/^https?:/i.test(address) ? address : `${scheme}://${address}${pathOfAddress}`));
}

type CredentialSettings = OwnSettings<ReturnType<typeof credentialRows>>;

/** Returns the header of basic authentication; none without a user or a password. */
export function basicAuthorization({ USERNAME, PASSWORD }: CredentialSettings): { readonly authorization?: string } {
  if (USERNAME === "" || PASSWORD === "") return {};
  return { authorization: `Basic ${Buffer.from(`${USERNAME}:${PASSWORD}`).toString("base64")}` };
}

/** The configuration for posting batches to a store; plain data. */
export type PostConfig = HttpStore & { readonly compression: Compression };

interface PostSettings extends ServerSettings, TlsSettings {
  readonly REQUESTS_IN_FLIGHT: number;
  readonly COMPRESSION: Compression;
}

/** Returns the configuration for posting batches to a store. @param pathOfAddress the path for addresses that are not URLs. */
export function postConfig(settings: PostSettings, headers: PostConfig["headers"], pathOfAddress = ""): PostConfig {
  return {
    urls: urlsOf(settings, pathOfAddress),
    tls: tlsOf(settings),
    maxConnections: settings.REQUESTS_IN_FLIGHT,
    compression: settings.COMPRESSION,
    headers,
  };
}

interface LogSettings extends PostSettings, CredentialSettings {
  readonly TOKEN: string;
  readonly HEADERS: ReadonlyMap<string, string>;
}

/** Returns the configuration for a store that takes basic authentication, a bearer token and headers. */
export function logPostConfig(settings: LogSettings, pathOfAddress = ""): PostConfig {
  const headers = {
    ...Object.fromEntries(settings.HEADERS),
    ...basicAuthorization(settings),
    ...(settings.TOKEN !== "" && { authorization: `Bearer ${settings.TOKEN}` }),
  };
  return postConfig(settings, headers, pathOfAddress);
}
