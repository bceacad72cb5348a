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
  const ask = createApiCall(base);
  return (method, request) => ask("POST", `/api/v1/enrich/ipaddr/udm.v1.UdmService/${method}`, request);
}

/** Sends one request to a path of the API and gives the JSON that it answers. */
export type ApiCall = (method: "GET" | "POST", path: string, body?: unknown) => Promise<unknown>;

/** @param base as in {@link createUdmCall}. */
export function createApiCall(base: string): ApiCall {
  const url = new URL(base);
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (url.username !== "") {
    const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    headers["authorization"] = `Basic ${Buffer.from(credentials).toString("base64")}`;
  }
  return async (method, path, body) => {
    let response: Response;
    try {
      response = await fetch(`${url.origin}${path}`, {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
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

interface ErrorJson {
  readonly code?: string;
  readonly message?: string;
  readonly details?: readonly {
    readonly debug?: {
      readonly fieldViolations?: readonly { readonly field?: string; readonly description?: string }[];
    };
  }[];
}

function toError(status: number, text: string): UdmClientError {
  try {
    const { code, message, details = [] } = JSON.parse(text) as ErrorJson;
    if (typeof code === "string") {
      const violations = details.flatMap(({ debug }) => debug?.fieldViolations ?? []);
      // One is in the message already.
      const lines = violations.length < 2 && status !== 422 ? [] : violations;
      const more = lines.map(({ field = "", description = "" }) => `\n  ${field}: ${description}`);
      return new UdmClientError(code, `${code}: ${message ?? ""}${more.join("")}`);
    }
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
