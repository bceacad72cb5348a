import { request as httpRequest, type Agent, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { request as httpsRequest, type AgentOptions } from "node:https";
import { createGunzip } from "node:zlib";
import type { FileIo } from "../../base/file/index.ts";
import { SourceFault, type SecretSource, type SourceConfig } from "./source-config.ts";
import type { Clock } from "../../base/report/index.ts";

/** Makes an agent for a URL: direct, or through the proxy of the environment. */
export type AgentFor = (url: string, options: AgentOptions) => Agent;

interface HttpRequest {
  readonly url: string;
  readonly method?: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  /** The certificates and the key, in PEM. */
  readonly tls: { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer };
  /** The longest time without data, in milliseconds. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** The names of further hosts to which the server may redirect; `*` allows any. */
  readonly redirectHosts: readonly string[];
  readonly signal: AbortSignal;
}

interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const mostRedirects = 5;

/**
 * Gets a document and decompresses it. It follows redirects to the same host and to allowed hosts. To another origin it sends no credentials.
 *
 * @throws SourceFault when no complete answer was received.
 */
async function httpGet(request: HttpRequest, agentFor: AgentFor): Promise<HttpAnswer> {
  let { url, headers } = request;
  for (let redirects = 0; ; redirects++) {
    const answer = await getOnce({ ...request, url, headers }, agentFor);
    const { location } = answer.headers;
    if (![301, 302, 303, 307, 308].includes(answer.status) || location === undefined) return answer;
    if (redirects === mostRedirects || !URL.canParse(location, url)) {
      throw new SourceFault("refused", `${placeOf(url)} redirects too often, or to nowhere`);
    }
    const next = new URL(location, url);
    if (!mayFollow(new URL(request.url), next, request.redirectHosts)) {
      throw new SourceFault(
        "refused",
        `${placeOf(url)} redirects to ${next.origin}: redirect_hosts does not allow that`,
      );
    }
    if (next.origin !== new URL(url).origin) headers = { accept: headers["accept"] ?? "*/*" };
    url = next.href;
  }
}

/** Reports whether a redirect may be followed. The port must be the same, too, except from HTTP to HTTPS at their default ports. */
function mayFollow(from: URL, to: URL, allowed: readonly string[]): boolean {
  if (!/^https?:$/.test(to.protocol)) return false;
  if (allowed.includes("*") || allowed.includes(to.hostname)) return true;
  const isUpgrade = from.protocol === "http:" && to.protocol === "https:" && from.port === "" && to.port === "";
  return to.hostname === from.hostname && (to.origin === from.origin || isUpgrade);
}

function getOnce(request: HttpRequest, agentFor: AgentFor): Promise<HttpAnswer> {
  const { url, method = "GET", headers, tls, timeoutMs, maxBytes, signal } = request;
  const isTls = url.startsWith("https:");
  const agent = agentFor(url, isTls ? tls : {});
  return new Promise<HttpAnswer>((resolve, reject) => {
    const send = isTls ? httpsRequest : httpRequest;
    const outgoing = send(new URL(url), {
      method,
      agent,
      signal,
      headers: { "accept-encoding": "gzip", "user-agent": "netgloss", ...headers },
      ...(isTls && tls),
    });
    outgoing.setTimeout(timeoutMs, () => outgoing.destroy(new Error(`nothing has come for ${timeoutMs / 1000} s`)));
    outgoing.on("error", (error) => reject(unreachable(url, error)));
    outgoing.on("response", (response) => {
      readBody(response, maxBytes, url).then(
        (body) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
        reject,
      );
    });
    outgoing.end();
  }).finally(() => agent.destroy());
}

async function readBody(response: IncomingMessage, maxBytes: number, url: string): Promise<Buffer> {
  const coding = (response.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  const isZipped = coding === "gzip" || coding === "x-gzip";
  if (!isZipped && coding !== "identity") {
    response.destroy();
    throw new SourceFault("content", `${placeOf(url)} answers with a Content-Encoding that was not asked for`);
  }
  const body = isZipped ? response.pipe(createGunzip()) : response;
  if (isZipped) response.on("error", (error) => body.destroy(error));
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) {
        response.destroy();
        throw new SourceFault("too_large", `the answer of ${placeOf(url)} is longer than ${maxBytes} bytes (max_size)`);
      }
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof SourceFault) throw error;
    throw new SourceFault("partial", `the answer of ${placeOf(url)} breaks off: ${(error as Error).message}`);
  }
  if (!response.complete) throw new SourceFault("partial", `the answer of ${placeOf(url)} breaks off`);
  return Buffer.concat(chunks);
}

function unreachable(url: string, error: Error): SourceFault {
  const { code } = error as NodeJS.ErrnoException;
  return new SourceFault("unreachable", `${placeOf(url)} cannot be reached: ${error.message || code || "no answer"}`);
}

/** Returns a URL without its parameters, which may be secret. */
export function placeOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/** The values that show whether a document has changed. */
export interface Validators {
  readonly etag?: string;
  readonly lastModified?: string;
  /** The size and modification time of a file. */
  readonly stamp?: string;
}

interface JsonOptions {
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  /** Further HTTP statuses that count as answers. */
  readonly accepted?: readonly number[];
}

export type Pause = (ms: number, signal: AbortSignal) => Promise<void>;

/** The options of a reader. */
interface ReaderOptions {
  readonly io: FileIo;
  readonly agentFor: AgentFor;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The most times that an API may ask the reader to wait in one run, and the longest single wait. */
const mostWaits = 10;
const longestWaitMs = 120_000;
/** The longest total time of a page, as a multiple of the longest time without data. */
const timeoutsOfAnswer = 10;

/** Reads a source on behalf of its kind. */
export class SourceReader {
  readonly #config: SourceConfig;
  readonly #known: Validators | undefined;
  readonly #tokenScheme: string;
  readonly #options: ReaderOptions;
  readonly #pause: Pause;
  readonly #signal: AbortSignal;
  #validators: Validators = {};
  #waits = 0;

  /**
   * @param known the validators of the last run that was used; undefined requests the whole document.
   * @param tokenScheme the authentication scheme of a token: `Bearer`, `Token`; "" for a separate header, which the kind sets.
   */
  constructor(
    config: SourceConfig,
    known: Validators | undefined,
    tokenScheme: string,
    options: ReaderOptions,
    pause: Pause,
    signal: AbortSignal,
  ) {
    this.#config = config;
    this.#known = known;
    this.#tokenScheme = tokenScheme;
    this.#options = options;
    this.#pause = pause;
    this.#signal = signal;
  }

  /** Returns the validators of the document after it was read. */
  get validators(): Validators {
    return this.#validators;
  }

  /**
   * Reads the document at the URL or path; returns undefined where it has not changed since the last run that was used.
   *
   * @param isWhole true requests the document even if it has not changed.
   */
  async document(isWhole = false): Promise<Buffer | undefined> {
    const known = isWhole ? undefined : this.#known;
    if (this.#config.path !== undefined) {
      const found = await readPath(this.#options.io, this.#config.path, this.#config.maxBytes, known);
      this.#validators = found.validators;
      return found.bytes;
    }
    const conditions = {
      ...(known?.etag !== undefined && { "if-none-match": known.etag }),
      ...(known?.lastModified !== undefined && { "if-modified-since": known.lastModified }),
    };
    const answer = await this.#request(this.#config.url ?? "", conditions);
    if (answer.status === 304 && Object.keys(conditions).length > 0) {
      this.#validators = known ?? {};
      return undefined;
    }
    if (answer.status !== 200) throw refusal(this.#config.url ?? "", answer);
    if (isPage(answer.body)) {
      const message = `${placeOf(this.#config.url ?? "")} answers with a page of HTML: does it want a sign-in?`;
      throw new SourceFault("content", message);
    }
    const { etag, "last-modified": lastModified } = answer.headers;
    this.#validators = { ...(etag !== undefined && { etag }), ...(lastModified !== undefined && { lastModified }) };
    return answer.body;
  }

  /** Reads JSON from an API, and waits where the API asks for it. @param path after the URL, with its parameters. */
  async json(path: string, { headers = {}, method, accepted = [] }: JsonOptions = {}): Promise<unknown> {
    const url = `${(this.#config.url ?? "").replace(/\/+$/, "")}${path}`;
    const answer = await this.#request(
      url,
      { accept: "application/json", ...headers },
      method,
      timeoutsOfAnswer * this.#config.timeoutMs,
    );
    if ((answer.status < 200 || answer.status > 299) && !accepted.includes(answer.status)) throw refusal(url, answer);
    try {
      return JSON.parse(answer.body.toString("utf8")) as unknown;
    } catch {
      throw new SourceFault("content", `${placeOf(url)} answers what is not JSON`);
    }
  }

  async #request(
    url: string,
    headers: Readonly<Record<string, string>>,
    method?: "GET" | "POST",
    mostMs?: number,
  ): Promise<HttpAnswer> {
    const { caPath, certPath, keyPath } = this.#config;
    const pem = (path: string | undefined): Promise<Buffer> | undefined =>
      path === undefined ? undefined : readNamed(this.#options.io, path);
    const [ca, cert, key] = await Promise.all([pem(caPath), pem(certPath), pem(keyPath)]);
    const tls = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
    const all = {
      ...(await credentials(this.#config, this.#tokenScheme, this.#options)),
      ...this.#config.headers,
      ...headers,
    };
    const { timeoutMs, maxBytes, redirectHosts } = this.#config;
    for (;;) {
      const late = mostMs === undefined ? undefined : AbortSignal.timeout(mostMs);
      const ends = late === undefined ? this.#signal : AbortSignal.any([this.#signal, late]);
      const answer = await httpGet(
        { url, headers: all, tls, timeoutMs, maxBytes, redirectHosts, signal: ends, ...(method && { method }) },
        this.#options.agentFor,
      ).catch((error: unknown) => {
        if (late?.aborted !== true || this.#signal.aborted) throw error;
        throw new SourceFault(
          "too_slow",
          `the answer of ${placeOf(url)} was not whole after ${(mostMs ?? 0) / 1000} s`,
        );
      });
      if (answer.status !== 429 && answer.status !== 503) return answer;
      const wait = retryAfter(answer, this.#options.clock) ?? 1000 * 2 ** this.#waits;
      if (answer.status === 503 && answer.headers["retry-after"] === undefined) return answer;
      if (++this.#waits > mostWaits || wait > longestWaitMs) {
        throw new SourceFault("rate_limited", `${placeOf(url)} asks to come back later (${answer.status})`, wait);
      }
      await this.#pause(wait, this.#signal);
    }
  }
}

const nsOfSecond = 1_000_000_000n;

async function readPath(
  io: FileIo,
  path: string,
  maxBytes: number,
  known: Validators | undefined,
): Promise<{ bytes: Buffer | undefined; validators: Validators }> {
  try {
    const { kind, size, modified, inode } = await io.state(path);
    // Reading anything but a regular file may never end.
    if (kind !== "file") throw new SourceFault("configuration", `${path} is not a file`);
    if (size > maxBytes) throw new SourceFault("too_large", `${path} is longer than ${maxBytes} bytes (max_size)`);
    // The text must match `mtimeMs` and `ino` of Node.js, which last good copies have.
    const ms = Number(modified / nsOfSecond) * 1000 + Number(modified % nsOfSecond) / 1e6;
    const stamp = `${size} ${ms} ${Number(inode)}`;
    if (known?.stamp === stamp) return { bytes: undefined, validators: known };
    const bytes = await io.read(path);
    return { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), validators: { stamp } };
  } catch (error) {
    if (error instanceof SourceFault) throw error;
    throw new SourceFault("unreachable", `${path} cannot be read: ${(error as Error).message}`);
  }
}

/** Reports whether a body is an HTML page. It checks the first characters, because servers also send lists as text/html. */
function isPage(body: Buffer): boolean {
  return /^\s*(?:<!--[^]*?-->\s*|<\?xml[^>]*>\s*)*<(?:!doctype\s+html|html|head|body)\b/i.test(
    body.toString("utf8", 0, 2048),
  );
}

/** Reads a file that the configuration names. */
async function readNamed(io: FileIo, path: string): Promise<Buffer> {
  try {
    return Buffer.from(await io.read(path));
  } catch (error) {
    throw new SourceFault("configuration", `${path} cannot be read: ${(error as Error).message}`);
  }
}

async function credentials(
  config: SourceConfig,
  tokenScheme: string,
  options: ReaderOptions,
): Promise<Readonly<Record<string, string>>> {
  if (config.token !== undefined && tokenScheme !== "") {
    const token = await readSecret(config.token, options);
    return { authorization: token.includes(" ") ? token : `${tokenScheme} ${token}` };
  }
  if (config.username === undefined) return {};
  const password = config.password === undefined ? "" : await readSecret(config.password, options);
  return { authorization: `Basic ${Buffer.from(`${config.username}:${password}`).toString("base64")}` };
}

/** Reads a secret. @throws SourceFault that names the place, never the secret. */
export async function readSecret(
  source: SecretSource,
  { io, env }: Pick<ReaderOptions, "io" | "env">,
): Promise<string> {
  if ("env" in source) {
    const value = env[source.env];
    if (value === undefined || value === "")
      throw new SourceFault("configuration", `the environment has no ${source.env}`);
    return value;
  }
  const text = (await readNamed(io, source.file)).toString();
  if (text.trim() === "") throw new SourceFault("configuration", `${source.file} is empty`);
  return text.trim();
}

function refusal(url: string, { status, headers }: HttpAnswer): SourceFault {
  const hint = status === 401 || status === 403 ? ": are the credentials right, and may they read this?" : "";
  const isRedirect = headers.location !== undefined;
  return new SourceFault("refused", `${placeOf(url)} answers ${status}${isRedirect ? " and redirects" : ""}${hint}`);
}

/** Returns the milliseconds until the time in the Retry-After header. */
function retryAfter({ headers }: HttpAnswer, clock: Clock): number | undefined {
  const text = headers["retry-after"];
  if (text === undefined) return undefined;
  if (/^\d{1,6}$/.test(text)) return 1000 * Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - clock.now());
}
