import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import type { Settings } from "../../settings/index.ts";
import type { TaskView } from "../../../base/report/index.ts";
import { type Terminal, CommandError } from "../terminal.ts";
import { packageVersion } from "../../package-root.ts";

/** The credentials of a client. */
export type Credentials =
  | { readonly kind: "password"; readonly user: string; readonly password: string }
  | { readonly kind: "token"; readonly token: string };

/** The address of an API, the certificates to trust there, and the credentials. */
export interface ApiPlace {
  /** Scheme, host and port, and the path before those of the API; no credentials. */
  readonly url: string;
  readonly credentials?: Credentials;
  /** Certificates in PEM that are trusted in addition to those of the system. */
  readonly ca?: string;
  /** True to skip the check of the name in the certificate: the address is that of the host's own collector. */
  readonly anyName?: boolean;
  /** The client's own certificate and key, in PEM. */
  readonly cert?: string;
  readonly key?: string;
  /** The scope of the metadata to use; absent: none. */
  readonly scope?: string;
  /** True if requests concern names rather than the metadata of addresses. */
  readonly names?: boolean;
}

/** Reads the address from a URL that may have a user name and a password in it. */
export function placeOfUrl(text: string): ApiPlace {
  const url = new URL(text);
  const { username, password } = url;
  url.username = "";
  url.password = "";
  if (username === "") return { url: url.href };
  const user = decodeURIComponent(username);
  return { url: url.href, credentials: { kind: "password", user, password: decodeURIComponent(password) } };
}

/** Returns the URL of the API of a collector with these settings on its own host, without a slash at the end. */
export function localApiUrl(settings: Settings, port: number): string {
  const any: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "::1" };
  const ip = any[settings.SVC_API_IP] ?? settings.SVC_API_IP;
  return `http${settings.SVC_API_TLS_ENABLE ? "s" : ""}://${ip.includes(":") ? `[${ip}]` : ip}:${port}`;
}

/** Returns the same place with the credentials and the certificate of the settings. */
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

/** Returns the collector's own certificate, if it can be read: it may be self-signed. */
function ownCertificate(settings: Settings): { readonly ca?: string } {
  try {
    return { ca: readFileSync(settings.SVC_API_TLS_CERT_FILEPATH, "utf8") };
  } catch {
    return {};
  }
}

/** The interval between requests to the collector for its progress, milliseconds. */
const askMs = 500;

/**
 * Waits for an operation of the collector, and shows its progress at a terminal. A user who may not see the progress only waits.
 *
 * @param kind of the tasks that are shown.
 */
export async function showProgress<T>(
  client: ApiClient,
  kind: TaskView["kind"],
  terminal: Pick<Terminal, "isWatched" | "err">,
  work: Promise<T>,
): Promise<T> {
  if (!terminal.isWatched) return work;
  let shown = "";
  let isDone = false;
  let asking = Promise.resolve();
  const show = (text: string): void => {
    if (text === shown || isDone) return;
    terminal.err(`\r${text.padEnd(shown.length)}`);
    shown = text;
  };
  const ask = async (): Promise<void> => {
    const { tasks } = (await client.ask("GET", "/api/v1/progress")) as { tasks: readonly TaskView[] };
    const mine = tasks.findLast((task) => task.kind === kind);
    if (mine !== undefined) show(progressLine(mine));
  };
  const timer = setInterval(() => void (asking = ask().catch(() => clearInterval(timer))), askMs);
  try {
    return await work;
  } finally {
    isDone = true;
    clearInterval(timer);
    await asking;
    if (shown !== "") terminal.err(`\r${" ".repeat(shown.length)}\r`);
  }
}

/** Returns one task as a line: `reading: 42 %`. */
export function progressLine({ step, done, total, unit }: TaskView): string {
  if (done === 0) return `${step} …`;
  return total === undefined || total === 0
    ? `${step}: ${done} ${unit}`
    : `${step}: ${Math.min(100, Math.floor((100 * done) / total))} %`;
}

/** Matches OpenSSL's codes for a certificate that is not trusted. */
const untrusted = /^(?:DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|CERT_|ERR_TLS_CERT_)/;

/** Returns the error for an origin that did not answer, with advice. */
function noAnswerError(origin: string, error: NodeJS.ErrnoException): CommandError {
  const { code = "", message } = error instanceof AggregateError ? (error.errors[0] as NodeJS.ErrnoException) : error;
  if (untrusted.test(code)) {
    const hint = code === "ERR_TLS_CERT_ALTNAME_INVALID" ? "use a name of the certificate" : "give its CA with --ca";
    return new CommandError("untrusted", `the certificate of ${origin} is not trusted: ${message}; ${hint}`);
  }
  if (/^ERR_SSL_TLSV1\d?_ALERT|CERTIFICATE_REQUIRED|^ERR_OSSL/.test(code)) {
    return new CommandError("untrusted", `the TLS connection to ${origin} was refused: ${message}; see --cert, --key`);
  }
  if (code === "EPROTO" || code.startsWith("ERR_SSL")) {
    return new CommandError("unreachable", `${origin} does not speak TLS: is http:// meant?`);
  }
  if (code === "HPE_INVALID_CONSTANT" || code === "ECONNRESET") {
    return new CommandError("unreachable", `no answer from ${origin}: ${message}. Is https:// meant?`);
  }
  return new CommandError("unreachable", `no answer from ${origin}: ${message}. Is netgloss running there?`);
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

/** Returns the error for an answer with an error status. */
function answerError(status: number, text: string, hasCredentials: boolean): CommandError {
  try {
    const { code, message, details = [] } = JSON.parse(text) as ErrorJson;
    if (typeof code === "string") {
      const violations = details.flatMap(({ debug }) => debug?.fieldViolations ?? []);
      // A single violation is already in the message.
      const lines = violations.length < 2 && status !== 422 ? [] : violations;
      const more = lines.map(({ field = "", description = "" }) => `\n  ${field}: ${description}`);
      const hint = code === "unauthenticated" && !hasCredentials ? "; see --user, NETGLOSS_TOKEN" : "";
      return new CommandError(code, `${code}: ${message ?? ""}${hint}${more.join("")}`);
    }
  } catch {
    // This is not the API's answer, but perhaps a proxy's. Its status says more than its text.
  }
  return new CommandError("unknown", `HTTP status ${status}: ${text.slice(0, 200)}`);
}

/** Requests to the API of one collector. Each rejects with a CommandError. */
export interface ApiClient {
  /** Scheme, host, port and path of the API, for messages. */
  readonly base: string;
  /** True if requests concern names rather than the metadata of addresses. */
  readonly names?: boolean | undefined;
  /** Sends a request and returns the JSON of the answer. */
  ask(method: "GET" | "POST", path: string, body?: unknown, options?: ReadOptions): Promise<unknown>;
  /** Sends a request and returns the bytes of its answer as they arrive. A reader that stops early ends the request. */
  read(method: "GET" | "POST", path: string, options?: ReadOptions): Promise<AsyncIterable<Uint8Array>>;
}

interface ReadOptions {
  readonly body?: unknown;
  /** True if the answer never ends by itself, so silence is not a fault. */
  readonly isEndless?: boolean;
  /** The media type of the body; by default JSON. */
  readonly contentType?: string;
  /** A status that counts as an answer like 200, and not as an error. */
  readonly answerStatus?: number;
}

/** The longest time to connect, and the longest silence of a collector after that, milliseconds. */
const connectTimeout = 10_000;
const silenceTimeout = 300_000;

/** Creates a client of the API over HTTP. */
export function createApiClient(place: ApiPlace): ApiClient {
  const url = new URL(place.url);
  const base = `${url.origin}${url.pathname.replace(/\/+$/, "")}`;

  const read: ApiClient["read"] = async (method, path, options = {}) => {
    const response = await send(place, `${base}${path}`, method, options).catch((error: unknown) => {
      throw noAnswerError(url.origin, error as NodeJS.ErrnoException);
    });
    const bytes = bytesOf(response, url.origin);
    const { statusCode = 0 } = response;
    if ((statusCode >= 200 && statusCode <= 299) || statusCode === options.answerStatus) return bytes;
    throw answerError(statusCode, await textOf(bytes), place.credentials !== undefined);
  };
  return {
    base,
    names: place.names,
    read,
    async ask(method, path, body, options) {
      const text = await textOf(await read(method, path, { ...options, body }));
      try {
        return JSON.parse(text) as unknown;
      } catch {
        throw new CommandError("unknown", `${base}${path} does not answer as netgloss does: ${text.slice(0, 200)}`);
      }
    },
  };
}

function headersOf(
  { credentials, scope }: ApiPlace,
  { contentType = "application/json" }: ReadOptions,
): Record<string, string> {
  const headers = {
    "content-type": contentType,
    "user-agent": `netgloss/${packageVersion()}`,
    ...(scope !== undefined && { "udm-scope": scope }),
  };
  if (credentials === undefined) return headers;
  const proof =
    credentials.kind === "token"
      ? `Bearer ${credentials.token}`
      : `Basic ${Buffer.from(`${credentials.user}:${credentials.password}`).toString("base64")}`;
  return { ...headers, authorization: proof };
}

async function send(place: ApiPlace, url: string, method: string, options: ReadOptions): Promise<IncomingMessage> {
  const isTls = url.startsWith("https:");
  const [{ request }, { rootCertificates }] = await Promise.all([
    isTls ? import("node:https") : import("node:http"),
    import("node:tls"),
  ]);
  const { ca, cert, key, anyName = false } = place;
  return new Promise((resolve, reject) => {
    const asked = request(
      url,
      {
        method,
        headers: headersOf(place, options),
        ...(ca !== undefined && { ca: [...rootCertificates, ca] }),
        ...(cert !== undefined && { cert, key: key ?? cert }),
        ...(anyName && { checkServerIdentity: () => undefined }),
      },
      resolve,
    );
    const late = setTimeout(() => asked.destroy(timedOut(connectTimeout)), connectTimeout);
    asked.on("error", reject);
    asked.on("close", () => clearTimeout(late));
    asked.on("socket", (socket) => {
      const connected = (): void => {
        clearTimeout(late);
        if (options.isEndless !== true) asked.setTimeout(silenceTimeout, () => asked.destroy(timedOut(silenceTimeout)));
      };
      if (socket.connecting) socket.once(isTls ? "secureConnect" : "connect", connected);
      else connected();
    });
    const { body } = options;
    asked.end(
      body === undefined || typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body),
    );
  });
}

function timedOut(ms: number): Error {
  return Object.assign(new Error(`nothing for ${ms / 1000} s`), { code: "ETIMEDOUT" });
}

async function* bytesOf(response: IncomingMessage, origin: string): AsyncIterable<Uint8Array> {
  try {
    yield* response as AsyncIterable<Uint8Array>;
  } catch (error) {
    const { message } = error as Error;
    throw new CommandError("unreachable", `the answer of ${origin} was cut off: ${message}`);
  }
}

async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of bytes) parts.push(part);
  return Buffer.concat(parts).toString("utf8");
}
