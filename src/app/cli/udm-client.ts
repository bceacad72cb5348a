import { readFileSync } from "node:fs";
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

/** What the API answered instead of a result, or why there was no answer (code `unreachable` or `untrusted`). */
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

/** Where an API is, and whom to trust there. */
export interface ApiPlace {
  /** Scheme, host and port, and the path before those of the API; a user name and password are sent as basic authentication. */
  readonly url: string;
  /** Certificates in PEM that are trusted in addition to those of the system. */
  readonly ca?: string;
  /** Whether the name in the certificate is of no matter: the address is that of the host's own collector. */
  readonly anyName?: boolean;
}

/** A client of the metadata API by JSON over HTTP. */
export function createUdmCall(place: ApiPlace): UdmCall {
  const ask = createApiCall(place);
  return (method, request) => ask("POST", `/api/v1/enrich/ipaddr/udm.v1.UdmService/${method}`, request);
}

/** Sends one request to a path of the API and gives the JSON that it answers. */
export type ApiCall = (method: "GET" | "POST", path: string, body?: unknown) => Promise<unknown>;

export function createApiCall(place: ApiPlace): ApiCall {
  const url = new URL(place.url);
  const base = `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (url.username !== "") {
    const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    headers["authorization"] = `Basic ${Buffer.from(credentials).toString("base64")}`;
  }
  return async (method, path, body) => {
    const { status, text } = await send(place, `${base}${path}`, method, headers, body).catch((error: unknown) => {
      throw noAnswer(url.origin, error as NodeJS.ErrnoException);
    });
    if (status < 200 || status > 299) throw toError(status, text);
    try {
      return JSON.parse(text) as unknown;
    } catch {
      throw new UdmClientError("unknown", `${base}${path} does not answer as netgloss does: ${text.slice(0, 200)}`);
    }
  };
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function send(
  { ca, anyName = false }: ApiPlace,
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body: unknown,
): Promise<Answer> {
  const isTls = url.startsWith("https:");
  const [{ request }, { rootCertificates }] = await Promise.all([
    isTls ? import("node:https") : import("node:http"),
    import("node:tls"),
  ]);
  return new Promise((resolve, reject) => {
    const asked = request(
      url,
      {
        method,
        headers,
        ...(ca !== undefined && { ca: [...rootCertificates, ca] }),
        ...(anyName && { checkServerIdentity: () => undefined }),
      },
      (response) => {
        const parts: Buffer[] = [];
        response.on("data", (part: Buffer) => void parts.push(part));
        response.on("error", reject);
        response.on("end", () => {
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString("utf8") });
        });
      },
    );
    asked.on("error", reject);
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** What OpenSSL says of a certificate that is not trusted, and of a peer that speaks no TLS. */
const untrusted = /^(?:DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|CERT_|ERR_TLS_CERT_)/;

function noAnswer(origin: string, error: NodeJS.ErrnoException): UdmClientError {
  const { code = "", message } = error instanceof AggregateError ? (error.errors[0] as NodeJS.ErrnoException) : error;
  if (untrusted.test(code)) {
    const hint = code === "ERR_TLS_CERT_ALTNAME_INVALID" ? "use a name of the certificate" : "give its CA with --ca";
    return new UdmClientError("untrusted", `the certificate of ${origin} is not trusted: ${message}; ${hint}`);
  }
  if (code === "EPROTO" || code.startsWith("ERR_SSL")) {
    return new UdmClientError("unreachable", `${origin} does not speak TLS: is http:// meant?`);
  }
  if (code === "HPE_INVALID_CONSTANT" || code === "ECONNRESET") {
    return new UdmClientError("unreachable", `no answer from ${origin}: ${message}. Is https:// meant?`);
  }
  return new UdmClientError("unreachable", `no answer from ${origin}: ${message}. Is netgloss running there?`);
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

/** The same with the credentials and the certificate of the settings. */
export function apiPlace(settings: Settings): ApiPlace {
  const url = new URL(localApiUrl(settings, settings.SVC_API_PORT));
  if (settings.SVC_API_BASIC_AUTH_ENABLE) {
    url.username = encodeURIComponent(settings.SVC_API_BASIC_AUTH_USERNAME);
    url.password = encodeURIComponent(settings.SVC_API_BASIC_AUTH_PASSWORD.reveal());
  }
  return { url: url.href, ...(settings.SVC_API_TLS_ENABLE && { ...ownCertificate(settings), anyName: true }) };
}

/** The collector's own certificate, if it can be read: it may have signed itself. */
function ownCertificate(settings: Settings): { readonly ca?: string } {
  try {
    return { ca: readFileSync(settings.SVC_API_TLS_CERT_FILEPATH, "utf8") };
  } catch {
    return {};
  }
}
