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
  readonly #contentType: string;

  constructor(call: Call, { contentType }: Protocol) {
    this.#call = call;
    this.#contentType = contentType;
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
    const { "content-type": _, ...headers } = this.#fields();
    sendError(this.#call, error, { headers });
  }

  /** What is too long to be made at once is so for compressing at once. */
  async #sendPieces(message: LongMessage): Promise<void> {
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
    const { header, trailer } = this.#call.extraFields;
    const own = { "content-type": this.#contentType };
    if (header === undefined && trailer === undefined) return own;
    const trailers = Array.from(trailer ?? [], ([name, value]) => [`trailer-${name}`, value] as const);
    return { ...Object.fromEntries(header ?? []), ...Object.fromEntries(trailers), ...own };
  }
}
