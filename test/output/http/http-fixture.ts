import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import * as zlib from "node:zlib";
import { lz4Decompress } from "@platformatic/wasm-utils";
import { cleanUp } from "../../support/clean-up.ts";

export interface HttpCall {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  /** Decompressed. */
  readonly bytes: Buffer;
  /** The same as text. */
  readonly body: string;
}

export interface HttpServerFake {
  readonly port: number;
  readonly calls: HttpCall[];
  /** Answers a call; the default is 200 without a body. */
  answer: (call: HttpCall, response: ServerResponse) => void;
}

/** An HTTP server that remembers what it was sent. */
export async function startHttpServer(t: TestContext): Promise<HttpServerFake> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("error", () => {});
    request.on("end", () => {
      const bytes = Buffer.concat(parts);
      const body = decompress(bytes, request.headers["content-encoding"]);
      const { method = "", url: path = "", headers } = request;
      const call = { method, path, headers, bytes: body, body: body.toString() };
      fake.calls.push(call);
      fake.answer(call, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanUp(t, () => {
    server.closeAllConnections();
    server.close();
  });
  const fake: HttpServerFake = {
    port: (server.address() as AddressInfo).port,
    calls: [],
    answer: (_, response) => void response.end(),
  };
  return fake;
}

function decompress(bytes: Buffer, encoding: string | undefined): Buffer {
  if (encoding === undefined) return bytes;
  const { gunzipSync, zstdDecompressSync } = zlib as typeof zlib & { zstdDecompressSync?: typeof zlib.gunzipSync };
  const action = { gzip: gunzipSync, lz4: lz4Decompress, zstd: zstdDecompressSync }[encoding];
  if (action === undefined) throw new Error(`no such encoding: ${encoding}`);
  return action(bytes);
}
