import type { UniversalHandler } from "@connectrpc/connect/protocol";
import type { Call } from "../http/call.ts";
import type { BodyReader } from "../http/read-body.ts";
import { sendChunks } from "../http/send.ts";
import { envelopeSize, longBatch, type ProtoMethod } from "../proto/proto-methods.ts";
import { serveByConnect } from "./connect-front.ts";
import { longListBody, shortListBody } from "./long-list.ts";

const contentTypes: ReadonlySet<unknown> = new Set([
  "application/proto",
  "application/grpc-web",
  "application/grpc-web+proto",
]);
/** Headers that ask for what only the complete way knows. */
const unusual = ["content-encoding", "grpc-encoding", "connect-timeout-ms", "grpc-timeout", "expect"] as const;

/** Whether this call of a batch method may be a long one in protobuf, by Connect or gRPC-Web, without anything unusual. */
export function mayBeLongBatch({ request: { headers } }: Call): boolean {
  const length = headers["content-length"];
  const version = headers["connect-protocol-version"];
  return (
    contentTypes.has(headers["content-type"]) &&
    unusual.every((name) => headers[name] === undefined) &&
    (version === undefined || version === "1") &&
    (length === undefined || Number(length) >= longBatch)
  );
}

export interface BatchFrontParts {
  readonly handler: UniversalHandler;
  readonly bodies: BodyReader;
  readonly maxBodyBytes: number;
  readonly maxMessageBytes: number;
}

/**
 * Serves a call that {@link mayBeLongBatch}: connect-es would read all of its message in one go. What turns out not to be
 * one plain message goes to connect-es nevertheless.
 */
export async function serveLongBatch(run: ProtoMethod, call: Call, parts: BatchFrontParts): Promise<void> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of parts.bodies.stream(call)) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const isWeb = call.wire === "grpc-web";
  const message = isWeb ? messageOf(bytes) : bytes;
  const fits = message !== undefined && message.length <= parts.maxBodyBytes;
  const answer = fits ? await run(message, call) : undefined;
  if (answer === undefined) {
    const replay: BodyReader = { ...parts.bodies, stream: () => replayOf(bytes) };
    return serveByConnect(parts.handler, call, replay, parts.maxMessageBytes);
  }
  const contentType = isWeb ? "application/grpc-web+proto" : "application/proto";
  const pieces = Buffer.isBuffer(answer)
    ? shortListBody(call, answer)
    : await longListBody(call, answer, contentType, parts.maxMessageBytes);
  if (pieces === undefined) return;
  call.code = "ok";
  await sendChunks(call, { "content-type": contentType }, pieces);
}

/** What is in the only envelope; undefined where there is not just one, without flags. */
function messageOf(bytes: Buffer): Buffer | undefined {
  if (bytes.length < envelopeSize || bytes[0] !== 0) return undefined;
  return bytes.readUInt32BE(1) === bytes.length - envelopeSize ? bytes.subarray(envelopeSize) : undefined;
}

async function* replayOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
