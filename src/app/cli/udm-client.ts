import type { Settings } from "../settings/index.ts";

/** An entry as the API sends it in JSON: what is not set is left out. */
export interface UdmJson {
  readonly key: string;
  readonly name?: string;
  readonly tags?: readonly string[];
  /** A number that may exceed 2^53, as text. */
  readonly vlan?: string;
  readonly internal?: boolean;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** What the API answered instead of a result, or why there was no answer (code `unreachable`). */
export class UdmClientError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = "UdmClientError";
    this.code = code;
  }
}

/** Calls one method of the metadata API. */
export type UdmCall = (method: string, request: unknown) => Promise<unknown>;

/**
 * A client of the metadata API by JSON over HTTP.
 *
 * @param base scheme, host and port; a user name and password in it are sent as basic authentication.
 */
export function createUdmCall(base: string): UdmCall {
  const url = new URL(base);
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (url.username !== "") {
    const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    headers["authorization"] = `Basic ${Buffer.from(credentials).toString("base64")}`;
  }
  return async (method, request) => {
    let response: Response;
    try {
      response = await fetch(`${url.origin}/api/v1/enrich/ipaddr/udm.v1.UdmService/${method}`, {
        method: "POST",
        headers,
        body: JSON.stringify(request),
      });
    } catch (error) {
      const cause = (error as Error).cause;
      const why = cause instanceof Error && cause.message !== "" ? cause.message : (error as Error).message;
      throw new UdmClientError("unreachable", `no answer from ${url.origin}: ${why}. Is netgloss running there?`);
    }
    const text = await response.text();
    if (response.ok) return JSON.parse(text);
    throw toError(response.status, text);
  };
}

function toError(status: number, text: string): UdmClientError {
  try {
    const { code, message } = JSON.parse(text) as { code?: string; message?: string };
    if (typeof code === "string") return new UdmClientError(code, `${code}: ${message ?? ""}`);
  } catch {
    // Not the API's answer: a proxy's, perhaps. Its status says more than its text.
  }
  return new UdmClientError("unknown", `HTTP status ${status}: ${text.slice(0, 200)}`);
}

/** Where the API of a collector with these settings answers on its own host, without credentials or slash at the end. */
export function localApiUrl(settings: Settings, port: number): string {
  const any: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "::1" };
  const ip = any[settings.SVC_API_IP] ?? settings.SVC_API_IP;
  return `http${settings.SVC_API_TLS_ENABLE ? "s" : ""}://${ip.includes(":") ? `[${ip}]` : ip}:${port}`;
}

/** The same with the credentials of the settings. */
export function apiUrl(settings: Settings): string {
  const url = new URL(localApiUrl(settings, settings.SVC_API_PORT));
  if (settings.SVC_API_BASIC_AUTH_ENABLE) {
    url.username = encodeURIComponent(settings.SVC_API_BASIC_AUTH_USERNAME);
    url.password = encodeURIComponent(settings.SVC_API_BASIC_AUTH_PASSWORD.reveal());
  }
  return url.href;
}
