import { readFileSync } from "node:fs";
import type { Settings } from "../../settings/index.ts";

/** How a client proves who it is. */
export type Credentials =
  | { readonly kind: "password"; readonly user: string; readonly password: string }
  | { readonly kind: "token"; readonly token: string };

/** Where an API is, whom to trust there, and who asks. */
export interface ApiPlace {
  /** Scheme, host and port, and the path before those of the API; no credentials. */
  readonly url: string;
  readonly credentials?: Credentials;
  /** Certificates in PEM that are trusted in addition to those of the system. */
  readonly ca?: string;
  /** Whether the name in the certificate is of no matter: the address is that of the host's own collector. */
  readonly anyName?: boolean;
  /** The client's own certificate and key, in PEM. */
  readonly cert?: string;
  readonly key?: string;
}

/** The place of a URL that may have a user name and a password in it. */
export function placeOfUrl(text: string): ApiPlace {
  const url = new URL(text);
  const { username, password } = url;
  url.username = "";
  url.password = "";
  if (username === "") return { url: url.href };
  const user = decodeURIComponent(username);
  return { url: url.href, credentials: { kind: "password", user, password: decodeURIComponent(password) } };
}

/** Where the API of a collector with these settings answers on its own host, without a slash at the end. */
export function localApiUrl(settings: Settings, port: number): string {
  const any: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "::1" };
  const ip = any[settings.SVC_API_IP] ?? settings.SVC_API_IP;
  return `http${settings.SVC_API_TLS_ENABLE ? "s" : ""}://${ip.includes(":") ? `[${ip}]` : ip}:${port}`;
}

/** The same with the credentials and the certificate of the settings. */
export function placeOfSettings(settings: Settings): ApiPlace {
  const credentials: Credentials = {
    kind: "password",
    user: settings.SVC_API_BASIC_AUTH_USERNAME,
    password: settings.SVC_API_BASIC_AUTH_PASSWORD.reveal(),
  };
  return {
    url: localApiUrl(settings, settings.SVC_API_PORT),
    ...(settings.SVC_API_BASIC_AUTH_ENABLE && { credentials }),
    ...(settings.SVC_API_TLS_ENABLE && { ...ownCertificate(settings), anyName: true }),
  };
}

/** The collector's own certificate, if it can be read: it may have signed itself. */
function ownCertificate(settings: Settings): { readonly ca?: string } {
  try {
    return { ca: readFileSync(settings.SVC_API_TLS_CERT_FILEPATH, "utf8") };
  } catch {
    return {};
  }
}
