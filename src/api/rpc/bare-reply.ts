import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Call } from "../http/call.ts";
import type { HeaderFields } from "../http/http-message.ts";
import { sendBytes, sendError, writePieces } from "../http/send.ts";
import { envelopeSize, isLong, type Encoded } from "./encoded.ts";
import type { Protocol } from "./protocol.ts";
import { compressFrom, type Reply } from "./reply.ts";
import type { Terms } from "./terms.ts";

const gzipBytes = promisify(gzip);

/** Answers with a body that is the message. Trailers become fields of the header (Connect, unary). */
export function createBareReply(call: Call, protocol: Protocol, terms: () => Terms): Reply {
  const fields = (): HeaderFields => {
    const { header, trailer } = call.extraFields;
    const own = { "content-type": protocol.contentType };
    if (header === undefined && trailer === undefined) return own;
    const trailers = Array.from(trailer ?? [], ([name, value]) => [`trailer-${name}`, value] as const);
    return { ...Object.fromEntries(header ?? []), ...Object.fromEntries(trailers), ...own };
  };

  const unary = (encoded: Encoded): void | Promise<void> => {
    call.code = "ok";
    if (isLong(encoded)) {
      call.begin(200, fields(), { hasTrailers: false });
      // What is too long to be made at once is so for compressing at once.
      return writePieces(call, encoded.pieces()).then(() => call.end());
    }
    const body = typeof encoded === "string" ? encoded : encoded.subarray(envelopeSize);
    if (body.length >= compressFrom) return sendLarge(body);
    call.answer(200, fields(), body);
    return undefined;
  };

  const sendLarge = async (body: string | Buffer): Promise<void> => {
    if (!terms().acceptsGzip) return sendBytes(call, 200, fields(), body);
    const header = { ...fields(), "content-encoding": "gzip", vary: "accept-encoding" };
    return sendBytes(call, 200, header, await gzipBytes(body));
  };

  return {
    unary,
    message: () => Promise.reject(new Error("a bare body holds one message")),
    end: () => undefined,
    refuse(error) {
      if (call.isBegun()) {
        call.breakOff();
        return;
      }
      const { "content-type": _, ...headers } = fields();
      sendError(call, error, { headers });
    },
  };
}
