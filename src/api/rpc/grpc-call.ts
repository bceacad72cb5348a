import { constants, type ServerHttp2Stream } from "node:http2";
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import type { RequestHeaders } from "../guard/admission.ts";
import type { Pending } from "../http/call-log.ts";
import type { HeaderFields } from "../http/http-message.ts";
import { listPieces, listSize, type ListMessage } from "../proto/list-message.ts";
import { envelopeSize, type ProtoAnswer } from "../proto/proto-methods.ts";
import { apiError } from "./api-error.ts";
import { invokeConnect } from "./connect-front.ts";
import type { GrpcFrontParts, GrpcMethod } from "./grpc-front.ts";
import { grpcErrorTrailer, grpcTrailer } from "./grpc-trailer.ts";
import { listTooLarge, type LongList } from "./long-list.ts";
import type { Waiting } from "./timeouts.ts";

export interface GrpcCallOptions {
  /** Milliseconds from now, or Infinity. */
  readonly timeout: number;
  readonly acceptsGzip: boolean;
}

const gzipBytes = promisify(gzip);
/** As connect-es has it. */
const compressFrom = 1024;
const okTrailer = { "grpc-status": "0" };

/** Serves one unary call: reads its body, runs the method, answers. */
export function serveGrpcCall(
  parts: GrpcFrontParts,
  method: GrpcMethod,
  stream: ServerHttp2Stream,
  headers: RequestHeaders,
  options: GrpcCallOptions,
): void {
  const call = new GrpcCall(parts, method, stream, headers, options);
  parts.calls.add(call);
  stream.on("data", (chunk: Buffer) => call.take(chunk));
  stream.on("end", () => call.finish());
  stream.on("close", () => call.closed());
  // What failed is told by `close`.
  stream.on("error", ignore);
}

class GrpcCall implements Pending, Waiting {
  readonly since: number;
  readonly isEndless = false;
  heldBytes = 0;
  readonly #parts: GrpcFrontParts;
  readonly #method: GrpcMethod;
  readonly #stream: ServerHttp2Stream;
  readonly #headers: RequestHeaders;
  readonly #options: GrpcCallOptions;
  readonly #chunks: Buffer[] = [];
  #size = 0;
  /** Whether the body has been handed on. */
  #isRead = false;
  #isStallWatched = false;
  #code = "canceled";
  #controller: AbortController | undefined;

  constructor(
    parts: GrpcFrontParts,
    method: GrpcMethod,
    stream: ServerHttp2Stream,
    headers: RequestHeaders,
    options: GrpcCallOptions,
  ) {
    this.since = parts.calls.now();
    this.#parts = parts;
    this.#method = method;
    this.#stream = stream;
    this.#headers = headers;
    this.#options = options;
  }

  take(chunk: Buffer): void {
    if (this.#isRead) return;
    this.#size += chunk.length;
    if (this.#size > this.#parts.maxBodyBytes + 1024) {
      this.#parts.metrics.reject("body");
      const bound = `the body is larger than ${this.#parts.maxBodyBytes} bytes`;
      this.#handOn(apiError("resource_exhausted", "BODY_TOO_LARGE", bound));
    } else if (!this.#parts.calls.hold(this, chunk.length)) {
      this.#parts.metrics.reject("memory");
      this.#handOn(apiError("resource_exhausted", "TOO_MANY_BODIES", "too many request bodies at a time: try again"));
    } else {
      this.#chunks.push(chunk);
      // The rest of what says that it is too long need not be waited for.
      if (this.#chunks.length === 1 && chunk.length >= envelopeSize && !this.#fits(chunk)) this.#handOn(undefined);
    }
  }

  finish(): void {
    if (this.#isRead) return;
    this.#isRead = true;
    const bytes = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    const isPlain = bytes[0] === 0 && bytes.length >= envelopeSize && this.#fits(bytes);
    if (!isPlain || bytes.readUInt32BE(1) !== bytes.length - envelopeSize) {
      this.#giveUp(undefined);
      return;
    }
    try {
      const answer = this.#method.run(bytes.subarray(envelopeSize), this);
      if (answer instanceof Promise) answer.then((given) => this.#answer(given)).catch((error) => this.#refuse(error));
      else this.#answer(answer);
    } catch (error) {
      this.#refuse(error);
    }
  }

  closed(): void {
    const { rstCode, writableEnded } = this.#stream;
    const isWhole = (writableEnded || this.#isHeaderOnly) && (rstCode ?? 0) === constants.NGHTTP2_NO_ERROR;
    if (!isWhole) {
      this.#code = "canceled";
      this.#controller?.abort(clientGone());
    }
    this.#isRead = true;
    this.#parts.calls.end(this, this.#method.label, "grpc", this.#code);
  }

  /** Nothing waits for a deadline: it is looked at before something begins that it can prevent. */
  throwIfAborted(): void {
    if (this.#isGone()) throw clientGone();
    if (this.#parts.calls.now() - this.since < this.#options.timeout) return;
    // The words are those of connect-es.
    throw new ConnectError("the operation timed out", Code.DeadlineExceeded);
  }

  isReceiving(): boolean {
    return !this.#stream.readableEnded;
  }

  cut(): void {
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  endWatch(): void {}

  /** Most calls are over before a sweep sees them, so that a timer for each is not worth its while. */
  onSweep(): void {
    if (this.#isStallWatched) return;
    this.#isStallWatched = true;
    const stream = this.#stream;
    stream.setTimeout(this.#parts.limits.stallTimeout, () => {
      if (!stream.writableEnded && stream.writableLength === 0) return;
      this.#parts.metrics.reject("timeout");
      stream.destroy();
    });
  }

  #isHeaderOnly = false;

  #isGone(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }

  /** Whether an envelope's head is that of a message that is not too long. */
  #fits(head: Buffer): boolean {
    return head.readUInt32BE(1) <= this.#parts.maxBodyBytes;
  }

  #handOn(reason: ConnectError | undefined): void {
    this.#isRead = true;
    this.#giveUp(reason);
  }

  #header(): Record<string, string> {
    const header: Record<string, string> = { "content-type": "application/grpc+proto" };
    if (this.#options.acceptsGzip) header["grpc-encoding"] = "gzip";
    return header;
  }

  #answer(answer: ProtoAnswer | undefined): void {
    if (answer === undefined) this.#giveUp(undefined);
    else if (!Buffer.isBuffer(answer)) this.#sendList(answer).catch((error) => this.#refuse(error));
    else if (this.#options.acceptsGzip && answer.length - envelopeSize >= compressFrom) {
      gzipBytes(answer.subarray(envelopeSize))
        .then((bytes) => this.#send(enveloped(Buffer.concat([Buffer.alloc(envelopeSize), bytes]), 1)))
        .catch((error) => this.#refuse(error));
    } else this.#send(enveloped(answer, 0));
  }

  #send(message: Buffer): void {
    if (this.#isGone()) return;
    this.#begin(this.#header(), okTrailer);
    this.#code = "ok";
    this.#stream.end(message);
  }

  async #sendList(list: ListMessage): Promise<void> {
    const size = await listSize(list, () => !this.#isGone());
    if (size === undefined || this.#isGone()) return;
    if (size > this.#parts.limits.maxMessageBytes) throw listTooLarge(size);
    this.#begin(this.#header(), okTrailer);
    const head = Buffer.alloc(envelopeSize);
    head.writeUInt32BE(size, 1);
    this.#stream.write(head);
    for (const piece of listPieces(list)) {
      if (this.#isGone()) return;
      if (!this.#stream.write(piece)) await this.#drained();
      await setImmediate();
    }
    if (this.#isGone()) return;
    this.#code = "ok";
    this.#stream.end();
  }

  #drained(): Promise<void> {
    const stream = this.#stream;
    return new Promise((resolve) => {
      const done = (): void => {
        stream.off("drain", done);
        stream.off("close", done);
        resolve();
      };
      stream.on("drain", done);
      stream.on("close", done);
      if (this.#isGone()) done();
    });
  }

  #begin(header: HeaderFields, trailer: Record<string, string>): void {
    const stream = this.#stream;
    stream.respond({ ":status": 200, ...(header as Record<string, string>) }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers(trailer));
  }

  #refuse(error: unknown): void {
    const stream = this.#stream;
    if (!(error instanceof ConnectError)) this.#parts.onFailure(error);
    if (this.#isGone()) return;
    // When a part of the answer has been sent, cutting it off is the only way to say that it is not whole.
    if (stream.headersSent) {
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      return;
    }
    const told = error instanceof ConnectError ? error : new ConnectError("internal error", Code.Internal);
    this.#code = codeToString(told.code);
    this.#sendHeaderOnly({ ...this.#header(), ...grpcErrorTrailer(told) });
  }

  #sendHeaderOnly(header: Record<string, string>): void {
    const stream = this.#stream;
    stream.respond({ ":status": 200, ...header }, { endStream: true });
    this.#isHeaderOnly = true;
    if (stream.readableEnded) return;
    // A client that is still sending learns that nobody listens.
    const close = (): void => {
      if (!stream.closed) stream.close(constants.NGHTTP2_NO_ERROR);
    };
    if (stream.writableFinished) close();
    else stream.once("finish", close);
  }

  /** The complete way, for a body that is not one plain message: what came so far, then `reason` as an error, or the end. */
  #giveUp(reason: ConnectError | undefined): void {
    this.#serveByConnect(reason).catch((failure) => this.#refuse(failure));
  }

  async #serveByConnect(reason: ConnectError | undefined): Promise<void> {
    this.#controller = new AbortController();
    const longList: LongList = { list: undefined };
    const answer = await invokeConnect(this.#method.handler, {
      longList,
      headers: this.#headers,
      httpVersion: "2.0",
      method: "POST",
      body: replay(this.#chunks, reason),
      signal: this.#controller.signal,
    });
    if (longList.list !== undefined) {
      await answer.body?.[Symbol.asyncIterator]().return?.();
      return this.#sendList(longList.list);
    }
    const pieces: Uint8Array[] = [];
    for await (const piece of answer.body ?? []) pieces.push(piece);
    if (this.#isGone()) return;
    const header = Object.fromEntries(answer.header ?? []);
    const trailer = grpcTrailer(answer.trailer ?? new Headers());
    this.#code = codeOfGrpcStatus(trailer["grpc-status"]);
    if (pieces.length === 0) {
      this.#sendHeaderOnly({ ...header, ...trailer });
      return;
    }
    this.#begin(header, trailer);
    this.#stream.end(Buffer.concat(pieces));
  }
}

function ignore(): void {}

function clientGone(): ConnectError {
  return new ConnectError("the client has gone", Code.Canceled);
}

/** Fills in the head of an envelope whose place has been left free. */
function enveloped(bytes: Buffer, flags: number): Buffer {
  bytes[0] = flags;
  bytes.writeUInt32BE(bytes.length - envelopeSize, 1);
  return bytes;
}

function codeOfGrpcStatus(status: string | undefined): string {
  const code = Number(status ?? Code.Unknown);
  return code === 0 ? "ok" : codeToString(code in Code ? code : Code.Unknown);
}

async function* replay(chunks: readonly Buffer[], error: ConnectError | undefined): AsyncGenerator<Uint8Array> {
  yield* chunks;
  if (error !== undefined) throw error;
}
