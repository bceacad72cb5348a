import { isUtf8 } from "node:buffer";
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import {
  JsonNumber,
  type JsonNode,
  JsonSyntaxError,
  parseJson,
  parseJsonInTurns,
  type ReadingTurn,
} from "./parse-json.ts";
import { JsonFieldError, MessageReader, type UnknownFields } from "./read-message.ts";
import { maxViolations } from "../../metadata/index.ts";
import { apiError, violationsError } from "../api-error.ts";

/** A JSON value as `JSON.parse` gives it. */
export function plainJson(node: JsonNode): unknown {
  if (node instanceof JsonNumber) return Number(node.text);
  if (node instanceof Map) return Object.fromEntries(Array.from(node, ([name, value]) => [name, plainJson(value)]));
  return Array.isArray(node) ? node.map((each) => plainJson(each as JsonNode)) : node;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

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
    return new MessageReader(desc, unknownFields, maxViolations).read(node);
  } catch (error) {
    throw fieldFault(error);
  }
}

/** The same for a long text, with other things happening in between. */
export async function decodeRequestInTurns<Desc extends DescMessage>(
  desc: Desc,
  bytes: Uint8Array,
  unknownFields: UnknownFields,
  turn: ReadingTurn,
): Promise<MessageShape<Desc>> {
  const reader = new MessageReader(desc, unknownFields, maxViolations);
  const node = await parseJsonInTurns(piecesOf(bytes), turn, (name) => reader.takerOf(name)).catch((error: unknown) => {
    throw syntaxFault(error);
  });
  try {
    return reader.read(node);
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
  try {
    return utf8.decode(bytes);
  } catch {
    throw notUtf8();
  }
}

/** Bytes of a piece of a text. */
const pieceLength = 4_194_304;

/** The text of long bytes in pieces. */
function* piecesOf(bytes: Uint8Array): Generator<string, void> {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = all.subarray(0, 3).equals(byteOrderMark) ? 3 : 0; at < all.length;) {
    let end = Math.min(all.length, at + pieceLength);
    // Not within a character, of which three bytes at most follow the first.
    for (let back = 0; back < 3 && isContinuation(all[end]); back++) end--;
    const piece = all.subarray(at, end);
    if (!isUtf8(piece)) throw notUtf8();
    yield piece.toString();
    at = end;
  }
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

function isContinuation(byte = 0): boolean {
  return (byte & 0xc0) === 0x80;
}

function notUtf8(): Error {
  return apiError("invalid_argument", "MALFORMED_JSON", "the body is not valid UTF-8");
}

function syntaxFault(error: unknown): unknown {
  return error instanceof JsonSyntaxError ? apiError("invalid_argument", "MALFORMED_JSON", error.message) : error;
}

function fieldFault(error: unknown): unknown {
  if (!(error instanceof JsonFieldError)) return error;
  return violationsError("invalid_argument", "MALFORMED_JSON", error.faults, (field) => field !== "");
}
