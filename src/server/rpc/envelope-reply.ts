import { ConnectError, Code } from "@connectrpc/connect";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { codeToString, endStreamToJson } from "@connectrpc/connect/protocol-connect";
import {
  type Encoded,
  envelope,
  envelopeHead,
  envelopeSize,
  inEnvelope,
  isLong,
  type LongMessage,
  type CallMetadata,
  type Protocol,
} from "./protocol.ts";
import { apiError, grpcErrorTrailer } from "../api-error.ts";
import { type Call, type HeaderFields, writeBytes, writeChunks } from "../http/call.ts";

/** A writer of an answer in the framing of the protocol. */
export interface Reply {
  /** The compression metadata of the request's header, after it was read. */
  callMetadata: CallMetadata;
  /** Sends one message and ends the answer. */
  unary(encoded: Encoded): void | Promise<void>;
  /** Sends one message of a stream. It resolves when there is room for another. */
  message(encoded: Encoded): Promise<void>;
  /** Ends a stream. */
  end(): void;
  /** Ends with an error, at any point of the answer. */
  refuse(error: ConnectError): void;
}

/** The metadata of a request whose header could not be read. */
export const noCallMetadata: CallMetadata = { isGzip: false, acceptsGzip: false };

/** The bytes from which a message is worth compressing. */
export const compressFrom = 1024;

/** Decodes base64 that may have padding in the middle, because each side encodes in chunks. @throws ConnectError `invalid_argument` */
export function decodeText(bytes: Buffer): Buffer {
  const text = bytes.toString("latin1");
  const parts = text.match(/[^=]+={0,2}/g) ?? [];
  // A pattern for the whole text, with groups of four, would overflow the stack for a long text.
  const length = parts.reduce((sum, part) => (part.length % 4 === 0 ? sum + part.length : Infinity), 0);
  if (length !== text.length || /[^A-Za-z0-9+/=]/.test(text)) throw badText();
  return Buffer.concat(parts.map((part) => Buffer.from(part, "base64")));
}

/** Decodes base64 that arrives in chunks of any size. */
export async function* decodeTexts(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([rest, chunk]);
    const whole = bytes.length - (bytes.length % 4);
    rest = bytes.subarray(whole);
    if (whole > 0) yield decodeText(bytes.subarray(0, whole));
  }
  if (rest.length > 0) throw badText();
}

function encodeText(bytes: Uint8Array): Buffer {
  return Buffer.from(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64"), "latin1");
}

function badText(): ConnectError {
  return new ConnectError("the body is not base64", Code.InvalidArgument);
}

const gzipBytes = promisify(gzip);
const compressedFlag = 1;
/** The flag of the envelope that ends a stream, for Connect and for gRPC-Web. */
const endStreamFlag = 2;
const trailerFlag = 0x80;
const okTrailer: Readonly<Record<string, string>> = { "grpc-status": "0" };

/**
 * A reply with messages in envelopes, and the end of the stream after them.
 *
 * @param maxMessageBytes the most bytes of a message, bounded by the length field of an envelope.
 */
export class EnvelopeReply implements Reply {
  callMetadata = noCallMetadata;
  readonly #call: Call;
  readonly #protocol: Protocol;
  readonly #maxMessageBytes: number;
  #isWithinMessage = false;

  constructor(call: Call, protocol: Protocol, maxMessageBytes: number) {
    this.#call = call;
    this.#protocol = protocol;
    this.#maxMessageBytes = maxMessageBytes;
  }

  unary(encoded: Encoded): void | Promise<void> {
    if (isLong(encoded) || this.#isCompressed(encoded)) return this.#unaryInParts(encoded);
    this.#begin();
    this.#end(inEnvelope(encoded), undefined);
    return undefined;
  }

  async message(encoded: Encoded): Promise<void> {
    if (isLong(encoded)) return this.#long(encoded);
    const bytes = await this.#enveloped(encoded);
    this.#begin();
    await writeBytes(this.#call, this.#text(bytes));
  }

  end(): void {
    this.#begin();
    this.#end(undefined, undefined);
  }

  refuse(error: ConnectError): void {
    const call = this.#call;
    if (call.isGone()) return;
    if (this.#isWithinMessage) {
      call.breakOff();
      return;
    }
    // Answer as a whole, so that an HTTP/1.1 client can send the rest of its body first. Fields that a method put into the header must not go
    // into the trailer.
    if (!call.isBegun() && call.extraHeader === undefined) {
      call.code = codeToString(error.code);
      const isGrpc = this.#protocol.framing === "grpc";
      const header = isGrpc ? { ...this.#header(), ...this.#trailer(error) } : this.#header();
      call.answer(200, header, isGrpc ? "" : this.#text(this.#last(error)));
      return;
    }
    this.#begin();
    this.#end(undefined, error);
  }

  async #unaryInParts(encoded: Encoded): Promise<void> {
    if (isLong(encoded)) {
      await this.#long(encoded);
      this.#end(undefined, undefined);
      return;
    }
    const bytes = await this.#enveloped(encoded);
    this.#begin();
    this.#end(bytes, undefined);
  }

  /** Sends a message that is encoded while it is sent. Its envelope needs the length first. */
  async #long(message: LongMessage): Promise<void> {
    const call = this.#call;
    const size = await message.size(() => !call.isGone());
    if (size === undefined) return;
    if (size > this.#maxMessageBytes) throw messageTooLarge(size);
    this.#begin();
    this.#isWithinMessage = true;
    call.write(this.#text(envelopeHead(0, size)));
    await writeChunks(call, this.#protocol.isText ? textChunks(message.chunks()) : message.chunks());
    this.#isWithinMessage = false;
  }

  #isCompressed(encoded: string | Buffer): boolean {
    return encoded.length >= compressFrom && this.callMetadata.acceptsGzip;
  }

  async #enveloped(encoded: string | Buffer): Promise<Buffer> {
    if (!this.#isCompressed(encoded)) return inEnvelope(encoded);
    const bytes = typeof encoded === "string" ? encoded : encoded.subarray(envelopeSize);
    return envelope(compressedFlag, await gzipBytes(bytes));
  }

  #begin(): void {
    if (!this.#call.isBegun()) {
      this.#call.begin(200, this.#header(), { hasTrailers: this.#protocol.framing === "grpc" });
    }
  }

  #header(): HeaderFields {
    const { header, gzipHeader } = this.#protocol;
    const { extraHeader } = this.#call;
    const own = this.callMetadata.acceptsGzip ? gzipHeader : header;
    return extraHeader === undefined ? own : { ...Object.fromEntries(extraHeader), ...own };
  }

  #trailer(error: ConnectError | undefined): HeaderFields {
    const status = error === undefined ? okTrailer : grpcErrorTrailer(error);
    const { extraTrailer } = this.#call;
    return extraTrailer === undefined ? status : { ...Object.fromEntries(extraTrailer), ...status };
  }

  /** Ends an answer with an optional last message and the end of the stream. */
  #end(bytes: Buffer | undefined, error: ConnectError | undefined): void {
    const call = this.#call;
    if (call.isGone()) return;
    call.code = error === undefined ? "ok" : codeToString(error.code);
    if (this.#protocol.framing === "grpc") {
      call.end(bytes, this.#trailer(error));
      return;
    }
    const last = this.#text(this.#last(error));
    call.end(bytes === undefined ? last : Buffer.concat([this.#text(bytes), last]));
  }

  /** Returns the bytes after the messages, where the protocol does not use an HTTP trailer. */
  #last(error: ConnectError | undefined): Buffer {
    return this.#protocol.framing === "connect" ? this.#endOfStream(error) : this.#webTrailer(error);
  }

  #webTrailer(error: ConnectError | undefined): Buffer {
    const lines = Object.entries(this.#trailer(error)).map(([name, value]) => `${name}: ${String(value)}\r\n`);
    return envelope(trailerFlag, Buffer.from(lines.join("")));
  }

  #endOfStream(error: ConnectError | undefined): Buffer {
    const json = endStreamToJson(this.#call.extraTrailer ?? new Headers(), error, undefined);
    return envelope(endStreamFlag, Buffer.from(JSON.stringify(json)));
  }

  #text(bytes: Buffer): Buffer {
    return this.#protocol.isText ? encodeText(bytes) : bytes;
  }
}

function* textChunks(chunks: Iterable<Uint8Array>): Generator<Buffer> {
  for (const chunk of chunks) yield encodeText(chunk);
}

/** Returns the refusal of a message of this size. */
function messageTooLarge(size: number): Error {
  const message = `the list takes ${size} bytes, more than one message can hold: list a part by key, or all by JSON`;
  return apiError("resource_exhausted", "LIST_TOO_LARGE", message, { metadata: { bytes: String(size) } });
}
