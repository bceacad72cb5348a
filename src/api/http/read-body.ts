import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { ConnectError } from "@connectrpc/connect";
import { apiError, clientGone } from "../error/api-error.ts";
import { quote } from "../../text/index.ts";
import type { ApiMetrics } from "./api-metrics.ts";
import type { CallLog } from "./call-log.ts";
import type { Call } from "./call.ts";
import { headerOf } from "./http-message.ts";

/** Takes a body. */
export interface BodyTaker {
  /** Sees the first piece, and may throw. */
  inspect(first: Buffer): void;
  /** Called with all of it, or… */
  take(bytes: Buffer): void;
  /** …with what `inspect` threw, or why the body is refused. */
  fail(error: unknown): void;
}

/** Reads request bodies within the bounds of one and of all. */
export interface BodyReader {
  /** The longest message, before and after decompression. */
  readonly maxBytes: number;
  /**
   * The whole body as it was sent, without a promise. `take` or `fail` is called, later; none when the client goes.
   *
   * @param framing bytes that the body may have beyond those of a message.
   */
  collect(call: Call, framing: number, taker: BodyTaker): void;
  /**
   * The whole body, decompressed as `Content-Encoding` (`identity` or `gzip`) says.
   *
   * @throws ConnectError `resource_exhausted` when too large before or after decompression, `unimplemented` for another
   *   encoding, `invalid_argument` for broken gzip.
   */
  readAll(call: Call): Promise<Uint8Array>;
  /** The body piece by piece as it was sent. Ending early leaves the connection fit for an answer. */
  stream(call: Call): AsyncIterable<Buffer>;
  /** What gzip made, within the bound. @throws ConnectError `resource_exhausted` or `invalid_argument` */
  decompress(bytes: Uint8Array): Promise<Buffer>;
  /** The refusal of a body that is too large, counted. */
  tooLarge(): ConnectError;
}

const gunzipBytes = promisify(gunzip);
const emptyBody = Buffer.alloc(0);
/** What the envelopes of a stream of messages may add to its length. */
const envelopesBytes = 1024;

export function createBodyReader(maxBytes: number, calls: CallLog, metrics: ApiMetrics): BodyReader {
  const tooLarge = (): ConnectError => {
    metrics.reject("body");
    return apiError("resource_exhausted", "BODY_TOO_LARGE", `the body is larger than ${maxBytes} bytes`);
  };

  const admit = (call: Call, framing: number): void => {
    if (Number(headerOf(call.headers, "content-length") ?? 0) > maxBytes + framing) throw tooLarge();
    call.continue();
  };

  const hold = (call: Call, bytes: number): void => {
    if (calls.hold(call, bytes)) return;
    metrics.reject("memory");
    throw apiError("resource_exhausted", "TOO_MANY_BODIES", "too many request bodies at a time: try again");
  };

  const collect: BodyReader["collect"] = (call, framing, taker) => {
    const { body } = call;
    let first: Buffer | undefined;
    /** What follows the first piece; most bodies come in one. */
    let rest: Buffer[] | undefined;
    let size = 0;
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      try {
        if (size > maxBytes + framing) throw tooLarge();
        hold(call, chunk.length);
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
      admit(call, framing);
    } catch (error) {
      // By then a body that came along with the header has been seen, and the connection can be kept.
      queueMicrotask(() => taker.fail(error));
      return;
    }
    body.on("data", take);
    body.on("end", end);
  };

  const decompress: BodyReader["decompress"] = async (bytes) => {
    try {
      return await gunzipBytes(bytes, { maxOutputLength: maxBytes });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge();
      throw apiError("invalid_argument", "MALFORMED_BODY", "the body is not valid gzip");
    }
  };

  return {
    maxBytes,
    collect,
    decompress,
    tooLarge,
    async readAll(call) {
      const encoding = headerOf(call.headers, "content-encoding") ?? "identity";
      if (encoding !== "identity" && encoding !== "gzip") throw unknownEncoding(encoding);
      const bytes = await new Promise<Buffer>((take, fail) => collect(call, 0, { inspect: ignore, take, fail }));
      return encoding === "identity" || bytes.length === 0 ? bytes : decompress(bytes);
    },
    async *stream(call) {
      admit(call, envelopesBytes);
      let size = 0;
      try {
        for await (const chunk of call.body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
          size += chunk.length;
          if (size > maxBytes + envelopesBytes) throw tooLarge();
          hold(call, chunk.length);
          yield chunk;
        }
      } catch (error) {
        throw error instanceof ConnectError ? error : clientGone();
      }
    },
  };
}

function ignore(): void {}

/** The refusal of a compression that is not known here. */
export function unknownEncoding(encoding: string): ConnectError {
  const message = `content encoding ${quote(encoding)} is not supported: use gzip`;
  return apiError("unimplemented", "UNKNOWN_ENCODING", message);
}
