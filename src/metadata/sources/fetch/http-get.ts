import { request as httpRequest, type Agent, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { request as httpsRequest, type AgentOptions } from "node:https";
import { createGunzip } from "node:zlib";
import { SourceFault } from "../source-fault.ts";

/** Makes an agent for a URL: direct, or through the proxy of the environment. */
export type AgentFor = (url: string, options: AgentOptions) => Agent;

export interface HttpRequest {
  readonly url: string;
  readonly method?: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  /** PEM. */
  readonly tls: { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer };
  /** Of silence. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** Names of hosts to which it may be redirected besides its own; `*` is any. */
  readonly redirectHosts: readonly string[];
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const mostRedirects = 5;

/**
 * Gets a document, decompressed. Redirects are followed to the same host and to those that are allowed; to another origin without credentials.
 *
 * @throws SourceFault when nothing whole has come.
 */
export async function httpGet(request: HttpRequest, agentFor: AgentFor): Promise<HttpAnswer> {
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

/** The same host is the same port, too, unless HTTPS takes the place of HTTP at their own ports. */
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
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of body as AsyncIterable<Buffer>) {
      size += piece.length;
      if (size > maxBytes) {
        response.destroy();
        throw new SourceFault("too_large", `the answer of ${placeOf(url)} is longer than ${maxBytes} bytes (max_size)`);
      }
      pieces.push(piece);
    }
  } catch (error) {
    if (error instanceof SourceFault) throw error;
    throw new SourceFault("partial", `the answer of ${placeOf(url)} breaks off: ${(error as Error).message}`);
  }
  if (!response.complete) throw new SourceFault("partial", `the answer of ${placeOf(url)} breaks off`);
  return Buffer.concat(pieces);
}

function unreachable(url: string, error: Error): SourceFault {
  const { code } = error as NodeJS.ErrnoException;
  return new SourceFault("unreachable", `${placeOf(url)} cannot be reached: ${error.message || code || "no answer"}`);
}

/** A URL without its parameters, which may be secret. */
export function placeOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
