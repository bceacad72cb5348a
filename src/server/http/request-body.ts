import { createGunzip } from "node:zlib";
import { ConnectError } from "@connectrpc/connect";
import { apiError, clientGone } from "../api-error.ts";
import { quote } from "../../base/text/index.ts";
import type { ApiMetrics, CallLog } from "./call-log.ts";
import { type Call, headerOf } from "./call.ts";

/** Takes a body. */
export interface BodyTaker {
  /** Sees the first chunk, and may throw. */
  inspect(first: Buffer): void;
  /** Called with all of it, or… */
  take(bytes: Buffer): void;
  /** …with what `inspect` threw, or why the body is refused. */
  fail(error: unknown): void;
}

const emptyBody = Buffer.alloc(0);
/** A header, an empty block and a trailer. */
const shortestGzip = 20;
/** Bytes that are unpacked at a time. */
const unpackedAtOnce = 65_536;
/** Bytes that the envelopes of a stream of messages may add to its length. */
const envelopesBytes = 1024;

/** Reads request bodies within the bounds of one and of all. */
export class BodyReader {
  readonly maxBytes: number;
  readonly #calls: CallLog;
  readonly #metrics: ApiMetrics;

  constructor(maxBytes: number, calls: CallLog, metrics: ApiMetrics) {
    this.maxBytes = maxBytes;
    this.#calls = calls;
    this.#metrics = metrics;
  }

  /** The refusal of a body that is too large, counted. */
  tooLarge(): ConnectError {
    this.#metrics.reject("body");
    return apiError("resource_exhausted", "BODY_TOO_LARGE", `the body is larger than ${this.maxBytes} bytes`);
  }

  /** Counts what is made of a message, which may take many times its bytes. @throws ConnectError `resource_exhausted` */
  make(call: Call, bytes: number): void {
    if (this.#calls.make(call, bytes)) return;
    this.#metrics.reject("memory");
    const message = "the lists of all requests at a time have too many elements: send fewer at once, or import a text";
    throw apiError("resource_exhausted", "TOO_MANY_ELEMENTS", message);
  }

  /**
   * The whole body as it was sent, without a promise. `take` or `fail` is called, later; none when the client goes.
   *
   * @param framing bytes that the body may have beyond those of a message.
   */
  collect(call: Call, framing: number, taker: BodyTaker): void {
    const { body } = call;
    let first: Buffer | undefined;
    /** The chunks that follow the first; most bodies come in one. */
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
      // By then a body that came along with the header has been seen, and the connection can be kept.
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
   * Returns what gzip made, within the bound of one and, as it is unpacked, of all. It is counted until the call is over, or until it
   * is released.
   *
   * @throws ConnectError `resource_exhausted` or `invalid_argument`
   */
  decompress(call: Call, bytes: Uint8Array): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      // Room for what gzip says it holds (RFC 1952 section 2.3.1, ISIZE), which need not be true.
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

  /** Counts no longer what was unpacked for a call, of which this much was counted before. */
  release(call: Call, heldBefore: number): void {
    this.#calls.release(call, call.heldBytes - heldBefore);
  }

  /**
   * The whole body, decompressed as `Content-Encoding` (`identity` or `gzip`) says.
   *
   * @throws ConnectError `resource_exhausted` when too large before or after decompression, `unimplemented` for another
   *   encoding, `invalid_argument` for broken gzip.
   */
  async readAll(call: Call): Promise<Uint8Array> {
    const isGzip = isGzipped(headerOf(call.headers, "content-encoding"));
    const bytes = await new Promise<Buffer>((take, fail) => this.collect(call, 0, { inspect: ignore, take, fail }));
    return isGzip && bytes.length > 0 ? this.decompress(call, bytes) : bytes;
  }

  /** The body in chunks as it was sent. Ending early leaves the connection fit for an answer. */
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
 * Tells whether a header of compression names gzip; names are in any case (RFC 9110 section 8.4.1).
 *
 * @throws ConnectError `unimplemented` for one that is not known here.
 */
export function isGzipped(encoding = "identity"): boolean {
  const name = encoding.toLowerCase();
  if (name === "gzip") return true;
  if (name === "identity") return false;
  const message = `content encoding ${quote(encoding)} is not supported: use gzip`;
  throw apiError("unimplemented", "UNKNOWN_ENCODING", message);
}
