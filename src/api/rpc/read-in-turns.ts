import { apiError } from "../error/api-error.ts";
import { fromBinary, type DescField, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import type { ReadingTurn } from "../json/parse-json.ts";

/** How many elements are read before other requests get a turn. */
const elementsPerTurn = 100;
const bytesPerTurn = 65_536;
/** What an element takes in memory, bytes, about, beside so many for each of its bytes. */
const madeOfElement = 240;
const madeOfByte = 6;
/** The longest element, and all of the message that is none. */
const longestElement = 1_048_576;

/** The field by which {@link readInTurns} reads a message: its first, when that is a list of messages. */
export function listInTurns(desc: DescMessage): (DescField & { readonly message: DescMessage }) | undefined {
  const field = desc.field[desc.fields[0]?.localName ?? ""];
  return field?.fieldKind === "list" && field.message !== undefined && field.number === 1 ? field : undefined;
}

/**
 * Reads a message whose field 1 is a long list of messages, some elements at a time, as the protobuf library reads it at once.
 *
 * @throws Error for bytes that are not such a message.
 */
export async function readInTurns<Desc extends DescMessage>(
  desc: Desc,
  bytes: Uint8Array,
  turn: ReadingTurn,
): Promise<MessageShape<Desc>> {
  const list = listInTurns(desc);
  if (list === undefined) throw new Error(`${desc.typeName} has no list of messages as its field 1`);
  const reader = new BinaryReader(bytes);
  const messages = new Set(desc.fields.filter((field) => field.message !== undefined).map((field) => field.number));
  const elements: unknown[] = [];
  const others: Uint8Array[] = [];
  let othersLength = 0;
  let turnStart = 0;
  for (let fields = 1; reader.pos < reader.len; fields++) {
    const start = reader.pos;
    const [number, type] = reader.tag();
    // Like the library, whatever the wire type of a message says.
    if (number === 1) elements.push(fromBinary(list.message, withinLength(reader.bytes())));
    else {
      if (messages.has(number)) reader.bytes();
      else reader.skip(type, number);
      others.push(bytes.subarray(start, reader.pos));
      othersLength += reader.pos - start;
      if (othersLength > longestElement) throw tooLong();
    }
    const length = reader.pos - turnStart;
    if (fields % elementsPerTurn !== 0 && length < bytesPerTurn) continue;
    await turn(Math.min(fields, elementsPerTurn) * madeOfElement + length * madeOfByte);
    turnStart = reader.pos;
  }
  return Object.assign(fromBinary(desc, Buffer.concat(others)), { [list.localName]: elements });
}

function withinLength(element: Uint8Array): Uint8Array {
  if (element.length > longestElement) throw tooLong();
  return element;
}

function tooLong(): Error {
  return apiError("invalid_argument", "MALFORMED_MESSAGE", `an element is longer than ${longestElement} bytes`);
}
