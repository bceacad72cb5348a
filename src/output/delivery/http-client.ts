import {
  Agent as HttpAgent,
  request as httpRequest,
  type Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from "node:http";
import { Agent as HttpsAgent, type AgentOptions, request as httpsRequest, type RequestOptions } from "node:https";
import { HttpProxyAgent } from "http-proxy-agent";
import { HttpsProxyAgent } from "https-proxy-agent";
import { getProxyForUrl } from "proxy-from-env";
import { urlToHttpOptions } from "node:url";
import type { Clock } from "../../base/report/index.ts";
import { DeliveryError, type Blame, connectionFailure } from "./output-adapter.ts";
import { Endpoints } from "./backoff.ts";
import { tlsOptions, type TlsConfig } from "./tls-options.ts";

/** Who is at fault for the status of a request, and its meaning. For other statuses: the store from 500 on, the operator below. */
const statuses: Readonly<Record<number, readonly [Blame, string]>> = {
  400: ["record", "refuses the content"],
  401: ["operator", "refuses the credentials"],
  403: ["operator", "refuses the credentials: they lack permission"],
  404: ["operator", "has nothing at the path"],
  405: ["operator", "does not take this kind of request at the path"],
  407: ["operator", "cannot be reached: the proxy wants credentials"],
  408: ["store", "did not get the request in time"],
  413: ["record", "finds the request too large"],
  415: ["operator", "does not take the format or the compression"],
  422: ["record", "refuses the content"],
  425: ["store", "asks to send it again"],
  429: ["store", "asks to wait"],
  500: ["unclear", "has a fault"],
};

/** Matches what web servers answer to plain HTTP on a TLS port, with status 400. */
const wantsTls =
  /\bHTTP request\b.*\bHTTPS (port|server)\b|\bspeaking plain HTTP to an SSL-enabled\b|\brequires TLS\b/i;

/** Returns who is at fault for a status, of a request or of a record. */
export function blameOfStatus(status: number): Blame {
  return statuses[status]?.[0] ?? (status >= 500 ? "store" : "operator");
}

/** Returns the delivery error for an answer other than success. */
export function httpFailure(answer: HttpAnswer, clock: Clock): DeliveryError {
  const { status, url } = answer;
  const place = new URL(url).host;
  const said = saidBy(answer);
  const code = `http_${status}`;
  if (status === 400 && wantsTls.test(said)) {
    return new DeliveryError("operator", "tls", `${place} speaks TLS only: turn TLS on${said}`);
  }
  const explanation = statuses[status]?.[1] ?? (status >= 500 ? "has a fault" : "answers unexpectedly");
  return new DeliveryError(blameOfStatus(status), code, `${place} ${explanation}: ${status}${said}`, {
    retryAfterMs: retryAfterMs(answer, clock),
  });
}

/** Reports whether an answer is a page for people: from a proxy, a sign-in, or a web server at a wrong path. */
export function isPage({ headers }: Pick<HttpAnswer, "headers">): boolean {
  return headers["content-type"]?.startsWith("text/html") === true;
}

/** Returns the error for a success that does not follow the protocol: it acknowledges nothing. */
export function notAcknowledged(answer: HttpAnswer, protocol: string): DeliveryError {
  const text = `${new URL(answer.url).host} does not answer as ${protocol} does: ${answer.status}${saidBy(answer)}`;
  return new DeliveryError("operator", "protocol", `${text}: is the address right?`);
}

/** Reads `Retry-After` in seconds or as a date (RFC 9110, 10.2.3); undefined without it. */
function retryAfterMs({ headers }: Pick<HttpAnswer, "headers">, clock: Clock): number | undefined {
  const text = headers["retry-after"];
  if (text === undefined) return undefined;
  if (/^[0-9]{1,9}$/.test(text)) return 1000 * Number(text);
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : Math.max(0, time - clock.now());
}

/** Returns the beginning of an answer's text, on one line. */
function saidBy({ body }: HttpAnswer): string {
  const text = body.subarray(0, 300).toString().replaceAll(/\s+/g, " ").trim();
  return text === "" ? "" : ` (${text})`;
}

/**
 * Returns an agent that keeps connections to one place for later requests. They go through the proxy that `HTTP_PROXY`, `HTTPS_PROXY`
 * and `NO_PROXY` name for it, in upper or lower case.
 */
export function agentFor(url: string, options: AgentOptions): HttpAgent {
  const shared = { ...options, keepAlive: true };
  const proxy = getProxyForUrl(url);
  const isTls = url.startsWith("https:");
  if (proxy !== "") {
    return isTls ? new HttpsProxyAgent(proxy, shared) : new HttpProxyAgent(proxy, shared);
  }
  return isTls ? new HttpsAgent(shared) : new HttpAgent(shared);
}

/** The address, headers and TLS of a store over HTTP; plain data. */
export interface HttpStore {
  /** URLs, each `http://host:port/path` or `https://…`, without credentials; one or more. */
  readonly urls: readonly string[];
  /** Headers of every request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsConfig;
  readonly maxConnections: number;
}

interface HttpRequest {
  readonly method: string;
  /** The path appended to that of the URL; it starts with a slash or a question mark, or is empty. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Returns further headers that depend on the URL, such as a signature. */
  readonly headersFor?: (url: string) => Readonly<Record<string, string>>;
  /** Parts of the body, written in order without copying. */
  readonly body?: readonly Uint8Array[];
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The URL that answered. */
  readonly url: string;
}

/** The limit of an answer. A longer one is cut off, and is an error. */
const maxAnswerBytes = 64 * 1024 * 1024;

type Answer = Omit<HttpAnswer, "url">;

/** Sends requests to one store, by one or several URLs. */
export class HttpClient {
  readonly #headers: HttpStore["headers"];
  readonly #endpoints: Endpoints;
  readonly #targets: ReadonlyMap<string, Target>;

  /** @throws DeliveryError when a file of the TLS settings cannot be read. */
  constructor({ urls, headers, tls, maxConnections }: HttpStore, clock: Clock) {
    const options = tlsOptions(tls);
    this.#headers = headers;
    this.#endpoints = new Endpoints(urls, clock);
    this.#targets = new Map(urls.map((url) => [url, new Target(url, options, maxConnections)]));
  }

  /** Sends a request. @returns the answer, whatever its status. @throws DeliveryError when there was none; the next call uses another URL. */
  async request(request: HttpRequest): Promise<HttpAnswer> {
    const url = this.#endpoints.next();
    try {
      request.signal.throwIfAborted();
      const answer = await this.#send(this.#targets.get(url) as Target, request);
      // 502, 503 and 504 may come from a proxy whose server is away, too.
      if (answer.status >= 502 && answer.status <= 504) this.#endpoints.failed(url);
      else this.#endpoints.worked(url);
      return { ...answer, url };
    } catch (error) {
      request.signal.throwIfAborted();
      this.#endpoints.failed(url);
      throw connectionFailure(error, new URL(url).host);
    }
  }

  close(): void {
    for (const { agent } of this.#targets.values()) agent.destroy();
  }

  #send(target: Target, { method, path, headers, headersFor, body = [], signal }: HttpRequest): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const length = body.reduce((sum, chunk) => sum + chunk.length, 0);
      const outgoing = target.send({
        ...target.optionsOf(path),
        method,
        headers: {
          ...this.#headers,
          ...headers,
          ...headersFor?.(target.url),
          ...(body.length > 0 && { "content-length": length }),
        },
      });
      const abort = (): void => void outgoing.destroy(signal.reason as Error);
      signal.addEventListener("abort", abort);
      outgoing.on("close", () => signal.removeEventListener("abort", abort));
      outgoing.on("error", reject);
      outgoing.on("response", (response) => void readAnswer(response).then(resolve, reject));
      for (const chunk of body) outgoing.write(chunk);
      outgoing.end();
    });
  }
}

/** The parsed target of requests to a URL. Parsing it for each request would be most of the cost here. */
class Target {
  readonly agent: Agent;
  readonly send: typeof httpRequest;
  readonly url: string;
  readonly #tls: ReturnType<typeof tlsOptions> | undefined;
  #last: { readonly path: string; readonly options: RequestOptions } | undefined;

  constructor(url: string, tls: ReturnType<typeof tlsOptions>, maxConnections: number) {
    this.url = url;
    this.#tls = url.startsWith("https:") ? tls : undefined;
    this.send = url.startsWith("https:") ? httpsRequest : httpRequest;
    this.agent = agentFor(url, { ...this.#tls, maxSockets: maxConnections });
  }

  optionsOf(path: string): RequestOptions {
    if (this.#last?.path !== path) {
      const url = new URL(this.url.replace(/\/$/, "") + path);
      this.#last = { path, options: { ...urlToHttpOptions(url), agent: this.agent, ...this.#tls } };
    }
    return this.#last.options;
  }
}

function readAnswer(response: IncomingMessage): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    response.on("data", (part: Buffer) => {
      parts.push(part);
      length += part.length;
      if (length > maxAnswerBytes) response.destroy(new Error(`an answer of more than ${maxAnswerBytes} bytes`));
    });
    response.on("error", reject);
    // The connection was cut in the middle of an answer.
    response.on("aborted", () => reject(new DeliveryError("store", "connection_lost", "the answer was cut off")));
    response.on("end", () => {
      if (!response.complete) return;
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) });
    });
  });
}
