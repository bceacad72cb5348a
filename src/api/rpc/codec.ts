import type { DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { apiError } from "../error/api-error.ts";
import { decodeRequest, decodeRequestInTurns } from "../json/decode-request.ts";
import type { UnknownFields } from "../json/read-message.ts";
import type { CodecName } from "./encoded.ts";
import { listInTurns, readInTurns, readWhole } from "./read-in-turns.ts";

/** From how many bytes on a request that holds a list is read in turns. */
const longRequest = 65_536;

/**
 * Reads a request message.
 *
 * @throws ConnectError `invalid_argument` for JSON, and for lists that are too long; `internal` for protobuf that is not such a message.
 */
export type ReadRequest = (codec: CodecName, desc: DescMessage, bytes: Uint8Array) => Message | Promise<Message>;

export function createRequestReader(unknownFields: UnknownFields): ReadRequest {
  return (codec, desc, bytes) => {
    const isLong = bytes.length >= longRequest && listInTurns(desc) !== undefined;
    if (codec === "json") {
      return isLong ? decodeRequestInTurns(desc, bytes, unknownFields) : decodeRequest(desc, bytes, unknownFields);
    }
    return isLong ? readLong(desc, bytes) : readShort(desc, bytes);
  };
}

function readShort<Desc extends DescMessage>(desc: Desc, bytes: Uint8Array): MessageShape<Desc> {
  try {
    return readWhole(desc, bytes);
  } catch (error) {
    throw malformed(error);
  }
}

async function readLong<Desc extends DescMessage>(desc: Desc, bytes: Uint8Array): Promise<MessageShape<Desc>> {
  try {
    return await readInTurns(desc, bytes);
  } catch (error) {
    throw malformed(error);
  }
}

function malformed(error: unknown): Error {
  if (error instanceof ConnectError) return error;
  return apiError("internal", "MALFORMED_MESSAGE", `the message cannot be read: ${(error as Error).message}`);
}
