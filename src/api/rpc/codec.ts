import type { DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { apiError } from "../error/api-error.ts";
import { decodeRequest, decodeRequestInTurns } from "../json/decode-request.ts";
import type { ReadingTurn } from "../json/parse-json.ts";
import type { UnknownFields } from "../json/read-message.ts";
import type { CodecName } from "./encoded.ts";
import { listInTurns, readInTurns, readWhole } from "./read-in-turns.ts";

/** From how many bytes on a request is read in turns; of protobuf one that holds a list. */
const longRequest = 65_536;

/** How a long request is read. */
export interface Pace {
  turn: ReadingTurn;
}

/**
 * Reads a request message.
 *
 * @throws ConnectError `invalid_argument` for JSON, and for lists that are too long; `internal` for protobuf that is not such a message.
 */
export type ReadRequest = (
  codec: CodecName,
  desc: DescMessage,
  bytes: Uint8Array,
  pace: Pace,
) => Message | Promise<Message>;

export function createRequestReader(unknownFields: UnknownFields): ReadRequest {
  return (codec, desc, bytes, pace) => {
    const isLong = bytes.length >= longRequest && (codec === "json" || listInTurns(desc) !== undefined);
    if (!isLong) return codec === "json" ? decodeRequest(desc, bytes, unknownFields) : readShort(desc, bytes);
    const turn: ReadingTurn = (made) => pace.turn(made);
    return codec === "json" ? decodeRequestInTurns(desc, bytes, unknownFields, turn) : readLong(desc, bytes, turn);
  };
}

function readShort<Desc extends DescMessage>(desc: Desc, bytes: Uint8Array): MessageShape<Desc> {
  try {
    return readWhole(desc, bytes);
  } catch (error) {
    throw malformed(error);
  }
}

async function readLong<Desc extends DescMessage>(
  desc: Desc,
  bytes: Uint8Array,
  turn: ReadingTurn,
): Promise<MessageShape<Desc>> {
  try {
    return await readInTurns(desc, bytes, turn);
  } catch (error) {
    throw error instanceof ConnectError ? error : malformed(error);
  }
}

function malformed(error: unknown): Error {
  if (error instanceof ConnectError) return error;
  return apiError("internal", "MALFORMED_MESSAGE", `the message cannot be read: ${(error as Error).message}`);
}
