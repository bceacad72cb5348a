import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { JsonFieldError } from "./json-field-error.ts";
import { JsonSyntaxError } from "./json-syntax-error.ts";
import { parseJson, parseJsonInTurns } from "./parse-json.ts";
import type { JsonNode } from "./json-node.ts";
import { createMessageReader, readMessage, type UnknownFields } from "./read-message.ts";
import { maxViolations } from "../../udm/index.ts";
import { apiError, violationsError } from "../error/api-error.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });
/** How much of a long text is decoded in a turn. */
const bytesPerTurn = 1_048_576;

/**
 * Reads a request message from the bytes of a JSON text.
 *
 * @throws ConnectError `invalid_argument`, naming the line and column or the field.
 */
export function decodeRequest<Desc extends DescMessage>(
  desc: Desc,
  bytes: Uint8Array,
  unknownFields: UnknownFields,
): MessageShape<Desc> {
  const node = decodeJson(bytes);
  try {
    return readMessage(desc, node, unknownFields, maxViolations);
  } catch (error) {
    throw fieldFault(error);
  }
}

/** The same for a long text, with other things happening in between. */
export async function decodeRequestInTurns<Desc extends DescMessage>(
  desc: Desc,
  bytes: Uint8Array,
  unknownFields: UnknownFields,
  turn: () => Promise<void>,
): Promise<MessageShape<Desc>> {
  // Putting the body together took a while, and so does this.
  await turn();
  const text = await decodeTextInTurns(bytes, turn);
  await turn();
  const reader = createMessageReader(desc, unknownFields, maxViolations);
  const node = await parseJsonInTurns(text, turn, (name) => reader.takerOf(name)).catch((error: unknown) => {
    throw syntaxFault(error);
  });
  try {
    return reader.finish(node);
  } catch (error) {
    throw fieldFault(error);
  }
}

/**
 * Reads any JSON text.
 *
 * @throws ConnectError `invalid_argument`
 */
export function decodeJson(bytes: Uint8Array): JsonNode {
  const text = decodeText(bytes);
  try {
    return parseJson(text);
  } catch (error) {
    throw syntaxFault(error);
  }
}

function decodeText(bytes: Uint8Array): string {
  return decodePiece(utf8, bytes, false);
}

function decodePiece(decoder: typeof utf8, bytes: Uint8Array, stream: boolean): string {
  try {
    return decoder.decode(bytes, { stream });
  } catch {
    throw apiError("invalid_argument", "MALFORMED_JSON", "the body is not valid UTF-8");
  }
}

async function decodeTextInTurns(bytes: Uint8Array, turn: () => Promise<void>): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += bytesPerTurn) {
    pieces.push(decodePiece(decoder, bytes.subarray(at, at + bytesPerTurn), at + bytesPerTurn < bytes.length));
    await turn();
  }
  return pieces.join("");
}

function syntaxFault(error: unknown): unknown {
  return error instanceof JsonSyntaxError ? apiError("invalid_argument", "MALFORMED_JSON", error.message) : error;
}

function fieldFault(error: unknown): unknown {
  if (!(error instanceof JsonFieldError)) return error;
  return violationsError("invalid_argument", "MALFORMED_JSON", error.faults, (field) => field !== "");
}
