import type { Http2ServerResponse } from "node:http2";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import type { ApiMetrics } from "../api-metrics.ts";
import { quote } from "../../text/index.ts";
import { apiError } from "../rpc/api-error.ts";
import type { CallLog } from "./call-log.ts";
import type { Call } from "./call.ts";
import { headerOf } from "./http-message.ts";

/** Reads request bodies within the bounds of one and of all. */
export interface BodyReader {
  /**
   * The whole body, decompressed as `Content-Encoding` (`identity` or `gzip`) says.
   *
   * @throws ConnectError `resource_exhausted` when too large before or after decompression, `unimplemented` for another
   *   encoding, `invalid_argument` for broken gzip, `canceled` when the client went away.
   */
  readAll(call: Call): Promise<Uint8Array>;
  /**
   * The whole body, of a request that says nothing of its encoding and does not wait for `100 Continue`, without a promise.
   * One of the two is called, later.
   */
  collect(call: Call, done: (bytes: Uint8Array) => void, fail: (error: unknown) => void): void;
  /** The body piece by piece as it was sent. Ending early leaves the connection fit for an answer. */
  stream(call: Call): AsyncIterable<Uint8Array>;
}

const gunzipBytes = promisify(gunzip);

export function createBodyReader(maxBodyBytes: number, calls: CallLog, metrics: ApiMetrics): BodyReader {
  const tooLarge = (): ConnectError => {
    metrics.reject("body");
    return apiError("resource_exhausted", "BODY_TOO_LARGE", `the body is larger than ${maxBodyBytes} bytes`);
  };

  const admit = (call: Call): void => {
    if (Number(headerOf(call.request, "content-length") ?? 0) > maxBodyBytes) throw tooLarge();
    if (!call.expectsContinue) return;
    call.expectsContinue = false;
    (call.response as Http2ServerResponse).writeContinue();
  };

  const hold = (call: Call, bytes: number): void => {
    if (calls.hold(call, bytes)) return;
    metrics.reject("memory");
    throw apiError("resource_exhausted", "TOO_MANY_BODIES", "too many request bodies at a time: try again");
  };

  const collect = (call: Call, done: (bytes: Uint8Array) => void, fail: (error: unknown) => void): void => {
    const { request, response } = call;
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (): void => {
      request.off("data", take);
      request.off("end", end);
      response.off("close", gone);
    };
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      try {
        if (size > maxBodyBytes) throw tooLarge();
        hold(call, chunk.length);
      } catch (error) {
        request.pause();
        settle();
        fail(error);
        return;
      }
      chunks.push(chunk);
    };
    const end = (): void => {
      settle();
      done(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
    };
    const gone = (): void => {
      settle();
      fail(clientGone());
    };
    request.on("data", take);
    request.on("end", end);
    response.on("close", gone);
  };

  return {
    async readAll(call) {
      admit(call);
      const encoding = headerOf(call.request, "content-encoding") ?? "identity";
      if (encoding !== "identity" && encoding !== "gzip") {
        throw apiError(
          "unimplemented",
          "UNKNOWN_ENCODING",
          `content encoding ${quote(encoding)} is not supported: use gzip`,
        );
      }
      const bytes = await new Promise<Uint8Array>((resolve, reject) => collect(call, resolve, reject));
      if (encoding === "identity" || bytes.length === 0) return bytes;
      try {
        return await gunzipBytes(bytes, { maxOutputLength: maxBodyBytes });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge();
        throw apiError("invalid_argument", "MALFORMED_BODY", "the body is not valid gzip");
      }
    },

    collect(call, done, fail) {
      try {
        admit(call);
      } catch (error) {
        queueMicrotask(() => fail(error));
        return;
      }
      collect(call, done, fail);
    },

    async *stream(call) {
      admit(call);
      let size = 0;
      try {
        for await (const chunk of call.request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
          size += chunk.length;
          // An envelope of five bytes is not part of the message; a stream has several messages.
          if (size > maxBodyBytes + 1024) throw tooLarge();
          hold(call, chunk.length);
          yield chunk;
        }
      } catch (error) {
        if (error instanceof ConnectError) throw error;
        throw clientGone();
      }
    },
  };
}

function clientGone(): ConnectError {
  return new ConnectError("the client has gone", Code.Canceled);
}
