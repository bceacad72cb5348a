import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { ConnectError } from "@connectrpc/connect";
import type { Call } from "../http/call.ts";
import type { HeaderFields } from "../http/http-message.ts";
import { sendBytes, sendError, writePieces } from "../http/send.ts";
import { envelopeSize, isLong, type Encoded, type LongMessage } from "./encoded.ts";
import type { Protocol } from "./protocol.ts";
import { compressFrom, noTerms, type Reply } from "./reply.ts";

const gzipBytes = promisify(gzip);

/** Answers with a body that is the message. Trailers become fields of the header (Connect, unary). */
export function createBareReply(call: Call, protocol: Protocol): Reply {
  return new BareReply(call, protocol);
}

/** A class, because closures of their own cost too much for each call. */
class BareReply implements Reply {
  terms = noTerms;
  readonly #call: Call;
  readonly #protocol: Protocol;

  constructor(call: Call, protocol: Protocol) {
    this.#call = call;
    this.#protocol = protocol;
  }

  unary(encoded: Encoded): void | Promise<void> {
    this.#call.code = "ok";
    if (isLong(encoded)) return this.#sendPieces(encoded);
    const body = typeof encoded === "string" ? encoded : encoded.subarray(envelopeSize);
    if (body.length >= compressFrom) return this.#sendLarge(body);
    this.#call.answer(200, this.#fields(), body);
    return undefined;
  }

  message(): Promise<void> {
    return Promise.reject(new Error("a bare body holds one message"));
  }

  end(): void {}

  refuse(error: ConnectError): void {
    if (this.#call.isBegun()) {
      this.#call.breakOff();
      return;
    }
    // The content type is that of an error.
    sendError(this.#call, error, { headers: this.#fields() });
  }

  /** What is too long to be made at once is so for compressing at once. */
  async #sendPieces(message: LongMessage): Promise<void> {
    const isCounted = message.needsSize !== true || (await message.size(() => !this.#call.isGone())) !== undefined;
    if (!isCounted) return;
    this.#call.begin(200, this.#fields(), { hasTrailers: false });
    await writePieces(this.#call, message.pieces());
    this.#call.end();
  }

  async #sendLarge(body: string | Buffer): Promise<void> {
    if (!this.terms.acceptsGzip) return sendBytes(this.#call, 200, this.#fields(), body);
    const header = { ...this.#fields(), "content-encoding": "gzip", vary: "accept-encoding" };
    return sendBytes(this.#call, 200, header, await gzipBytes(body));
  }

  #fields(): HeaderFields {
    const { extraHeader, extraTrailer } = this.#call;
    const { header } = this.#protocol;
    if (extraHeader === undefined && extraTrailer === undefined) return header;
    const trailers = Array.from(extraTrailer ?? [], ([name, value]) => [`trailer-${name}`, value] as const);
    return { ...Object.fromEntries(extraHeader ?? []), ...Object.fromEntries(trailers), ...header };
  }
}
