import { createGunzip } from "node:zlib";
import { ConnectError } from "@connectrpc/connect";
import { apiError, clientGone } from "../api-error.ts";
import { quote } from "../../base/text/index.ts";
import type { ApiMetrics, CallLog } from "./call-log.ts";
import { type Call, headerOf } from "./call.ts";

/** A receiver of a body. */
export interface BodyTaker {
  /** Checks the first chunk, and may throw. */
  inspect(first: Buffer): void;
  /** Is called with the whole body. */
  take(bytes: Buffer): void;
  /** Is called instead with the error of `inspect`, or with the reason why the body is refused. */
  fail(error: unknown): void;
}

const emptyBody = Buffer.alloc(0);
/** The bytes of a header, an empty block and a trailer. */
const shortestGzip = 20;
/** The bytes that are decompressed at a time. */
const unpackedAtOnce = 65_536;
/** The most bytes that the envelopes of a stream of messages may add. */
const envelopesBytes = 1024;

/** A reader of request bodies, within the limits of one body and of all bodies. */
export class BodyReader {
  readonly maxBytes: number;
  readonly #calls: CallLog;
  readonly #metrics: ApiMetrics;

  constructor(maxBytes: number, calls: CallLog, metrics: ApiMetrics) {
    this.maxBytes = maxBytes;
    this.#calls = calls;
    this.#metrics = metrics;
  }

  /** Counts and returns the refusal of a body that is too large. */
  tooLarge(): ConnectError {
    this.#metrics.reject("body");
    return apiError("resource_exhausted", "BODY_TOO_LARGE", `the body is larger than ${this.maxBytes} bytes`);
  }

  /** Counts the memory made from a message, which may be many times its bytes. @throws ConnectError `resource_exhausted` */
  make(call: Call, bytes: number): void {
    if (this.#calls.make(call, bytes)) return;
    this.#metrics.reject("memory");
    const message = "the lists of all requests at a time have too many elements: send fewer at once, or import a text";
    throw apiError("resource_exhausted", "TOO_MANY_ELEMENTS", message);
  }

  /**
   * Reads the whole body as it was sent, without a promise. It calls `take` or `fail` later, or neither when the client disconnects.
   *
   * @param framing the bytes that the body may have in addition to those of a message.
   */
  collect(call: Call, framing: number, taker: BodyTaker): void {
    const { body } = call;
    let first: Buffer | undefined;
    /** The chunks after the first. Most bodies have only one. */
    let rest: Buffer[] | undefined;
    let size = 0;
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      try {
        if (size > this.maxBytes + framing) throw this.tooLarge();
        this.#hold(call, chunk.length);
        if (first === undefined) taker.inspect(chunk);
      } catch (error) {
        body.pause();
        body.off("data", take);
        body.off("end", end);
        taker.fail(error);
        return;
      }
      if (first === undefined) first = chunk;
      else (rest ??= []).push(chunk);
    };
    const end = (): void => {
      const whole = first ?? emptyBody;
      taker.take(rest === undefined ? whole : Buffer.concat([whole, ...rest]));
    };
    try {
      this.#admit(call, framing);
    } catch (error) {
      // By then, a body that arrived with the header was read, so that the connection can be kept.
      queueMicrotask(() => taker.fail(error));
      return;
    }
    if (body.readableEnded) {
      // An empty body of HTTP/2 ends by itself.
      queueMicrotask(end);
      return;
    }
    body.on("data", take);
    body.on("end", end);
  }

  /**
   * Decompresses gzip within the limits of one body and of all bodies. The result counts until the call ends, or until it
   * is released.
   *
   * @throws ConnectError `resource_exhausted` or `invalid_argument`
   */
  decompress(call: Call, bytes: Uint8Array): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      // Allocate the size that gzip claims (RFC 1952 section 2.3.1, ISIZE), which need not be true.
      let room = Buffer.alloc(0);
      let size = 0;
      const grow = (length: number): void => {
        if (length > this.maxBytes) throw this.tooLarge();
        this.#hold(call, length - room.length);
        const grown = Buffer.allocUnsafeSlow(length);
        room.copy(grown, 0, 0, size);
        room = grown;
      };
      const claimed = bytes.length < shortestGzip ? 0 : Buffer.from(bytes.slice(-4)).readUInt32LE();
      if (claimed > 0 && claimed <= this.maxBytes) grow(claimed);
      const gunzip = createGunzip({ chunkSize: unpackedAtOnce });
      gunzip.on("data", (chunk: Buffer) => {
        try {
          call.throwIfAborted();
          const wanted = size + chunk.length;
          if (wanted > room.length) grow(Math.max(wanted, Math.min(2 * room.length, this.maxBytes)));
          chunk.copy(room, size);
          size = wanted;
        } catch (error) {
          gunzip.destroy();
          reject(error);
        }
      });
      gunzip.on("end", () => resolve(room.subarray(0, size)));
      gunzip.on("error", () => reject(apiError("invalid_argument", "MALFORMED_BODY", "the body is not valid gzip")));
      gunzip.end(bytes);
    });
  }

  /** Stops counting the decompressed bytes of a call, down to the earlier count. */
  release(call: Call, heldBefore: number): void {
    this.#calls.release(call, call.heldBytes - heldBefore);
  }

  /**
   * Reads the whole body and decompresses it by `Content-Encoding` (`identity` or `gzip`).
   *
   * @throws ConnectError `resource_exhausted` when too large before or after decompression, `unimplemented` for another
   *   encoding, `invalid_argument` for broken gzip.
   */
  async readAll(call: Call): Promise<Uint8Array> {
    const isGzip = isGzipped(headerOf(call.headers, "content-encoding"));
    const bytes = await new Promise<Buffer>((take, fail) => this.collect(call, 0, { inspect: ignore, take, fail }));
    return isGzip && bytes.length > 0 ? this.decompress(call, bytes) : bytes;
  }

  /** Yields the body in chunks as it was sent. After an early end, the connection can still send an answer. */
  async *stream(call: Call): AsyncIterable<Buffer> {
    this.#admit(call, envelopesBytes);
    let size = 0;
    try {
      for await (const chunk of call.body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > this.maxBytes + envelopesBytes) throw this.tooLarge();
        this.#hold(call, chunk.length);
        yield chunk;
      }
    } catch (error) {
      throw error instanceof ConnectError ? error : clientGone();
    }
  }

  #admit(call: Call, framing: number): void {
    if (Number(headerOf(call.headers, "content-length") ?? 0) > this.maxBytes + framing) throw this.tooLarge();
    call.continue();
  }

  #hold(call: Call, bytes: number): void {
    if (this.#calls.hold(call, bytes)) return;
    this.#metrics.reject("memory");
    throw apiError("resource_exhausted", "TOO_MANY_BODIES", "too many request bodies at a time: try again");
  }
}

function ignore(): void {}

/**
 * Reports whether a compression header names gzip. Names are case-insensitive (RFC 9110 section 8.4.1).
 *
 * @throws ConnectError `unimplemented` for an unknown compression.
 */
export function isGzipped(encoding = "identity"): boolean {
  const name = encoding.toLowerCase();
  if (name === "gzip") return true;
  if (name === "identity") return false;
  const message = `content encoding ${quote(encoding)} is not supported: use gzip`;
  throw apiError("unimplemented", "UNKNOWN_ENCODING", message);
}
