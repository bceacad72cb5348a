import { setImmediate } from "node:timers/promises";
import { createContextKey } from "@connectrpc/connect";
import { isGone, type Call } from "../http/call.ts";
import { listJsonPieces, listPieces, listSize, type ListMessage } from "../proto/list-message.ts";
import { envelopeSize } from "../proto/proto-methods.ts";
import { apiError } from "./api-error.ts";

/** Where a handler leaves a list that is too long to be made at once. */
export interface LongList {
  list: ListMessage | undefined;
}

/** Undefined where nobody would take a long list. */
export const longListKey = createContextKey<LongList | undefined>(undefined, { description: "a long list" });

/**
 * The body of an answer that is a long list, in pieces made when they are asked for, as the content type of the answer has it: a
 * message in an envelope for gRPC and gRPC-Web, bare for Connect. Its length has been counted before, in turns.
 *
 * @returns undefined when the client went away meanwhile.
 * @throws ConnectError `resource_exhausted` when it is longer than `maxMessageBytes`.
 */
export async function longListBody(
  call: Call,
  list: ListMessage,
  contentType: string,
  maxMessageBytes: number,
): Promise<Generator<Uint8Array> | undefined> {
  const pieces = (): Iterable<Uint8Array> => (contentType.endsWith("+json") ? listJsonPieces(list) : listPieces(list));
  if (call.wire === "connect") return bare(pieces());
  const size = await sizeOf(call, list, contentType, pieces);
  if (size === undefined) return undefined;
  if (size > maxMessageBytes) throw listTooLarge(size);
  return enveloped(pieces(), size, call.wire === "grpc-web");
}

/** The same for a message that is at hand, behind {@link envelopeSize} bytes. */
export function shortListBody({ wire }: Call, message: Buffer): Generator<Uint8Array> {
  const bytes = message.subarray(envelopeSize);
  return wire === "connect" ? bare([bytes]) : enveloped([bytes], bytes.length, wire === "grpc-web");
}

/** The refusal of a list whose message has so many bytes. */
export function listTooLarge(size: number): Error {
  const message = `the list takes ${size} bytes, more than one message can hold: list a part by key, or all by JSON`;
  return apiError("resource_exhausted", "LIST_TOO_LARGE", message, { metadata: { bytes: String(size) } });
}

async function sizeOf(
  call: Call,
  list: ListMessage,
  contentType: string,
  pieces: () => Iterable<Uint8Array>,
): Promise<number | undefined> {
  if (!contentType.endsWith("+json")) return listSize(list, () => !isGone(call));
  let size = 0;
  for (const piece of pieces()) {
    size += piece.length;
    await setImmediate();
    if (isGone(call)) return undefined;
  }
  return size;
}

function* bare(pieces: Iterable<Uint8Array>): Generator<Uint8Array> {
  yield* pieces;
}

function* enveloped(pieces: Iterable<Uint8Array>, size: number, isWeb: boolean): Generator<Uint8Array> {
  const head = Buffer.alloc(envelopeSize);
  head.writeUInt32BE(size, 1);
  yield head;
  yield* pieces;
  if (isWeb) yield webTrailer;
}

const webTrailerText = "grpc-status: 0\r\n";
/** gRPC-Web has its trailers in the body, in an envelope with the highest bit set. */
const webTrailer = Buffer.concat([Buffer.from([0x80, 0, 0, 0, webTrailerText.length]), Buffer.from(webTrailerText)]);
