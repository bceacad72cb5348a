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
import { DeliveryError, connectionFailure } from "./delivery-error.ts";
import { createEndpoints } from "./endpoints.ts";
import { tlsOptions, type TlsConfig } from "./tls-options.ts";

/**
 * Connections to one place, kept for the next request. They go through the proxy that `HTTP_PROXY`, `HTTPS_PROXY` and
 * `NO_PROXY` name for it, in upper or lower case.
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

export interface HttpClientOptions {
  /** Each `http://host:port/path` or `https://…`, without credentials; one or more. */
  readonly urls: readonly string[];
  /** Of every request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsConfig;
  readonly maxConnections: number;
  readonly clock: Clock;
}

export interface HttpRequest {
  readonly method: string;
  /** Behind the path of the URL; begins with a slash or a question mark, or is empty. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Written one after the other, not copied. */
  readonly body?: readonly Uint8Array[];
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Which of the URLs answered. */
  readonly url: string;
}

/** Requests to one store, by several URLs where it has them. */
export interface HttpClient {
  /** @returns the answer, whatever its status. @throws DeliveryError when there was none; another URL is used next time. */
  request(request: HttpRequest): Promise<HttpAnswer>;
  close(): void;
}

/** An answer that is longer is cut off, and is an error. */
const maxAnswerBytes = 64 * 1024 * 1024;

/** @throws DeliveryError when a file of the TLS settings cannot be read. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { urls, headers, maxConnections, clock } = options;
  const endpoints = createEndpoints(urls, clock);
  const tls = tlsOptions(options.tls);
  const agents = new Map<string, Agent>(
    urls.map((url) => [url, agentFor(url, { ...(url.startsWith("https:") && tls), maxSockets: maxConnections })]),
  );

  const targets = new Map(urls.map((url) => [url, createTarget(url, agents.get(url), tls)]));

  const requestTo = (url: string, { method, path, headers: own, body = [], signal }: HttpRequest): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const target = targets.get(url) as Target;
      let length = 0;
      for (const chunk of body) length += chunk.length;
      const outgoing = target.send({
        ...target.optionsOf(path),
        method,
        headers: { ...headers, ...own, ...(body.length > 0 && { "content-length": length }) },
      });
      const abort = (): void => void outgoing.destroy(signal.reason as Error);
      signal.addEventListener("abort", abort);
      outgoing.on("close", () => signal.removeEventListener("abort", abort));
      outgoing.on("error", reject);
      outgoing.on("response", (response) => void readAnswer(response).then(resolve, reject));
      for (const chunk of body) outgoing.write(chunk);
      outgoing.end();
    });

  return {
    async request(request) {
      const url = endpoints.next();
      try {
        request.signal.throwIfAborted();
        const answer = await requestTo(url, request);
        // 502, 503 and 504 come from a proxy whose server is away, too.
        if (answer.status >= 502 && answer.status <= 504) endpoints.failed(url);
        else endpoints.worked(url);
        return { ...answer, url };
      } catch (error) {
        request.signal.throwIfAborted();
        endpoints.failed(url);
        throw connectionFailure(error, new URL(url).host);
      }
    },
    close() {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}

type Answer = Omit<HttpAnswer, "url">;

interface Target {
  readonly send: typeof httpRequest;
  readonly optionsOf: (path: string) => RequestOptions;
}

/** Where requests to a URL go. Parsing it again for each of them would be most of what a request costs here. */
function createTarget(url: string, agent: Agent | undefined, tls: ReturnType<typeof tlsOptions>): Target {
  const isTls = url.startsWith("https:");
  let last: { readonly path: string; readonly options: RequestOptions } | undefined;
  return {
    send: isTls ? httpsRequest : httpRequest,
    optionsOf(path) {
      if (last?.path === path) return last.options;
      const options = { ...urlToHttpOptions(new URL(url.replace(/\/$/, "") + path)), agent, ...(isTls && tls) };
      last = { path, options };
      return options;
    },
  };
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
    // A connection that is cut in the middle of an answer.
    response.on("aborted", () => reject(new DeliveryError("store", "connection_lost", "the answer was cut off")));
    response.on("end", () => {
      if (!response.complete) return;
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) });
    });
  });
}
