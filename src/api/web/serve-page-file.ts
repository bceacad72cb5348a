import type { Call } from "../http/call.ts";
import { headerOf } from "../http/http-message.ts";
import { sendBytes } from "../http/send.ts";
import { takesGzip } from "../rpc/terms.ts";
import type { PageFile } from "./page-files.ts";

/** Only files of this server, nothing inline, in no frame of another site. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

export const pageHeader = {
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
} as const;

/** Files with a hash of their content in their name. */
const keptForGood = "public, max-age=31536000, immutable";
const askedAgain = "no-cache";

/**
 * Answers with a file of the pages: compressed for who takes that, 304 for who has it.
 *
 * @param isHashed whether its name changes with its content.
 */
export function servePageFile(call: Call, { gzip, plain, type, etag }: PageFile, isHashed: boolean): Promise<void> {
  const header = {
    ...pageHeader,
    etag,
    "cache-control": isHashed ? keptForGood : askedAgain,
    vary: isHashed ? "accept-encoding" : "accept, accept-encoding",
  };
  call.code = "ok";
  if (hasTag(headerOf(call.headers, "if-none-match"), etag)) {
    call.answer(304, header, "");
    return Promise.resolve();
  }
  const isCompressed = takesGzip(headerOf(call.headers, "accept-encoding"));
  const body = isCompressed ? gzip : plain();
  return sendBytes(
    call,
    200,
    { ...header, "content-type": type, ...(isCompressed && { "content-encoding": "gzip" }) },
    body,
  );
}

/** RFC 9110, 13.1.2: a list of tags, compared weakly, or `*`. */
function hasTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const strong = etag.slice(2);
  return header.split(",").some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === strong);
}
