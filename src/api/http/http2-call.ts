import { constants, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { ConnectError } from "@connectrpc/connect";
import { ActiveCall, type CallSurroundings } from "./active-call.ts";
import { headerOf, type HeaderFields, type RequestHeaders } from "./http-message.ts";

/** A request of HTTP/2, on its stream: Node's request and response objects for it take twice as long. */
export class Http2Call extends ActiveCall {
  readonly body: ServerHttp2Stream;
  readonly ownSocket = undefined;
  readonly shared: object;
  readonly #stream: ServerHttp2Stream;
  /** Whether all of the answer was handed over. Node ends a stream that its peer has reset, too. */
  #isWhole = false;
  #trailers: HeaderFields | undefined;
  #isStallWatched = false;

  constructor(stream: ServerHttp2Stream, headers: RequestHeaders, surroundings: CallSurroundings) {
    super(headerOf(headers, ":method") ?? "", headerOf(headers, ":path") ?? "", headers, surroundings);
    this.body = stream;
    this.#stream = stream;
    this.shared = stream.session ?? stream;
    this.expectsContinue = headers["expect"] === "100-continue";
    // What failed is reported by `close`.
    stream.on("error", ignore);
  }

  hostFault(): undefined {}

  protected peerAddress(): string | undefined {
    return this.#stream.session?.socket.remoteAddress;
  }

  protected connection(): Socket | undefined {
    return this.#stream.session?.socket;
  }

  isGone(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }

  isBegun(): boolean {
    return this.#stream.headersSent;
  }

  answer(status: number, fields: HeaderFields, body: Uint8Array | string): void {
    if (this.isAnswered()) return;
    const length = typeof body === "string" ? Buffer.byteLength(body) : body.length;
    // A status with a length of its own would not be gRPC's header that is the trailer too.
    const isPlain = status !== 204 && status !== 304 && this.wire !== "grpc";
    const header = isPlain
      ? { ...fields, ":status": status, "content-length": String(length) }
      : { ...fields, ":status": status };
    const isHeaderOnly = length === 0 || status === 204 || this.method === "HEAD";
    this.#isWhole = true;
    this.#stream.respond(header, { endStream: isHeaderOnly });
    if (!isHeaderOnly) this.#stream.end(body);
    this.#abandonBody();
  }

  begin(status: number, fields: HeaderFields, { hasTrailers }: { readonly hasTrailers: boolean }): void {
    if (this.isAnswered()) return;
    const stream = this.#stream;
    stream.respond({ ":status": status, ...fields }, { waitForTrailers: hasTrailers });
    if (hasTrailers) {
      stream.on("wantTrailers", () => stream.sendTrailers((this.#trailers ?? {}) as Record<string, string>));
    }
  }

  write(bytes: Uint8Array | string): boolean {
    return this.isGone() || this.#stream.write(bytes);
  }

  end(bytes?: Uint8Array, trailers?: HeaderFields): void {
    if (this.#stream.writableEnded || this.isGone()) return;
    this.#trailers = trailers;
    this.#isWhole = true;
    this.#stream.end(bytes);
    this.#abandonBody();
  }

  drained(): Promise<void> {
    const stream = this.#stream;
    return new Promise((resolve) => {
      const done = (): void => {
        stream.off("drain", done);
        stream.off("close", done);
        resolve();
      };
      stream.on("drain", done);
      stream.on("close", done);
      if (this.isGone()) done();
    });
  }

  breakOff(): void {
    this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  }

  protected sendContinue(): void {
    if (!this.isAnswered()) this.#stream.additionalHeaders({ ":status": 100 });
  }

  onClose(listener: () => void): void {
    this.#stream.on("close", listener);
  }

  hasBrokenOff(): boolean {
    return !this.#isWhole || (this.#stream.rstCode ?? 0) !== constants.NGHTTP2_NO_ERROR;
  }

  isReceiving(): boolean {
    return !this.#stream.readableEnded && !this.#stream.endAfterHeaders;
  }

  cut(): void {
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  endWatch(reason: ConnectError): void {
    if (this.isReceiving()) this.cut();
    else this.abort(reason);
  }

  /** Most calls are over before a sweep sees them, so that a timer for each is not worth its while. */
  onSweep(): void {
    if (this.#isStallWatched) return;
    this.#isStallWatched = true;
    const stream = this.#stream;
    stream.setTimeout(this.surroundings.stallTimeout, () => {
      if (!stream.writableEnded && stream.writableLength === 0) return;
      this.surroundings.onStall();
      stream.destroy();
    });
  }

  /** A client that is still sending learns that nobody listens. */
  #abandonBody(): void {
    const stream = this.#stream;
    if (!this.isReceiving()) return;
    // Node sends what it has gathered before it comes to immediates. A reset before that would replace the header (Node 26).
    const close = (): void => {
      setImmediate(() => {
        if (!stream.closed) stream.close(constants.NGHTTP2_NO_ERROR);
      });
    };
    if (stream.writableFinished) close();
    else stream.once("finish", close);
  }
}

function ignore(): void {}
