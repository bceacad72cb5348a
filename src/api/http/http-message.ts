import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";

/** Node's request of either HTTP version. */
export type HttpRequest = IncomingMessage | Http2ServerRequest;
/** Node's response of either HTTP version. */
export type HttpResponse = ServerResponse | Http2ServerResponse;

export type HeaderFields = Readonly<Record<string, string | readonly string[]>>;

/** The value of a header that has one; of several, the first. */
export function headerOf(request: HttpRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
