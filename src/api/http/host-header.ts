import type { IncomingMessage } from "node:http";
import { quote } from "../../text/index.ts";

/** `uri-host [":" port]` of RFC 3986 section 3.2; an empty host is valid. */
const hostSyntax = /^(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?$/;

/**
 * What is wrong with the Host header of a request of HTTP/1 (RFC 9112 section 3.2), or undefined: HTTP/1.1 needs exactly one, HTTP/1.0
 * at most one, and it must be a host with an optional port.
 */
export function hostFault({ headers, rawHeaders, httpVersionMinor }: IncomingMessage): string | undefined {
  const { host } = headers;
  if (host === undefined) return httpVersionMinor >= 1 ? "HTTP/1.1 needs a Host header" : undefined;
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === 4 && name.toLowerCase() === "host") count++;
  }
  if (count > 1) return `there are ${count} Host headers: send one`;
  return hostSyntax.test(host) ? undefined : `the Host header ${quote(host)} is not a host with an optional port`;
}
