import { base } from "../navigation/place.ts";
import { ApiFailure, failureOf } from "./api-failure.ts";
import { noteAnswer, noteSilence } from "./connection.ts";
import type { Credentials } from "./credentials.ts";
import { scopeOfCall } from "./scope.ts";

/** One call of the API: what a page asks, and what "as curl" shows. */
export interface ApiCall {
  /** POST when there is a body, else GET. */
  readonly method?: "GET" | "POST";
  /** Without a slash before it: `api/v1/outputs`. */
  readonly path: string;
  /** A text is sent as it is, with `contentType`; anything else as JSON. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  /** A status that is an answer as well, with a body to read: `/readyz` has 503. */
  readonly alsoTakes?: number;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds to wait for the answer; 20 000. */
  readonly timeoutMs?: number;
  /** The proof of who asks, where a session begins. */
  readonly credentials?: Credentials;
}

const defaultTimeoutMs = 20_000;

/** Path of a method of the metadata service, or of its tools. */
export const udmPath = (method: string): string => `api/v1/enrich/ipaddr/udm.v1.UdmService/${method}`;
export const toolsPath = (method: string): string => `api/v1/enrich/ipaddr/udm.v1.UdmToolsService/${method}`;

/**
 * Makes a call and reads its JSON.
 *
 * @throws ApiFailure; the reason of `signal` when it was aborted.
 */
export async function callApi<Answer>(call: ApiCall, options: CallOptions = {}): Promise<Answer> {
  const response = await request(call, options);
  return (await response.json()) as Answer;
}

/** Makes a call and gives its answer once the header is there. @throws as {@link callApi}. */
export async function request(
  call: ApiCall,
  { signal, timeoutMs = defaultTimeoutMs, credentials }: CallOptions = {},
): Promise<Response> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), timeoutMs);
  let response: Response;
  try {
    response = await fetch(base() + call.path, {
      ...init(call, credentials),
      // Asks each time, and is spared what has not changed.
      cache: "no-cache",
      signal: signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]),
    });
  } catch {
    signal?.throwIfAborted();
    if (timeout.signal.aborted) {
      throw new ApiFailure("timeout", `the collector did not answer within ${String(timeoutMs / 1000)} s`);
    }
    noteSilence();
    throw new ApiFailure("offline", "the collector does not answer");
  } finally {
    clearTimeout(timer);
  }
  if (response.ok || response.status === call.alsoTakes) {
    noteAnswer();
    return response;
  }
  const failure = failureOf(response.status, await readBody(response));
  if (failure.kind === "offline") noteSilence();
  else noteAnswer();
  // A session of which this page knows no token was begun in another tab: by whom is asked again.
  if (failure.kind === "unauthenticated" || failure.reason === "CSRF_TOKEN")
    for (const listener of refusedListeners) listener();
  throw failure;
}

let csrfToken: string | undefined;

/** Keeps the token of the session, which goes along with all that changes something. */
export function keepCsrfToken(token: string | undefined): void {
  csrfToken = token;
}

const refusedListeners = new Set<() => void>();

/** Calls `listener` whenever the server does not know who asks. @returns what ends that. */
export function onUnauthenticated(listener: () => void): () => void {
  refusedListeners.add(listener);
  return () => void refusedListeners.delete(listener);
}

function init(call: ApiCall, credentials: Credentials | undefined): RequestInit {
  const { method = call.body === undefined ? "GET" : "POST", body, contentType = "application/json" } = call;
  const headers: Record<string, string> = {
    accept: call.accept ?? "application/json",
    // Without it the server would ask for a password through a dialog of the browser.
    "x-requested-with": "netgloss-pages",
  };
  if (credentials !== undefined) headers["authorization"] = credentials.authorization;
  const scope = scopeOfCall(call.path);
  if (scope !== undefined) headers["udm-scope"] = scope;
  if (method === "POST") headers["content-type"] = contentType;
  if (method === "POST" && csrfToken !== undefined) headers["x-csrf-token"] = csrfToken;
  const sent = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
  return { method, headers, ...(sent !== undefined && { body: sent }) };
}

async function readBody(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    return undefined;
  }
}
