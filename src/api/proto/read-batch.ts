import { setImmediate } from "node:timers/promises";
import { fromBinary, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";

/** How many elements are read before other requests get a turn. */
const elementsPerTurn = 100;

/**
 * Reads a message whose field 1 is a long list of messages, some elements at a time, as the protobuf library reads it at once.
 *
 * @returns the elements, and the message without them.
 * @throws Error for bytes that are not such a message.
 */
export async function readBatchInTurns<Batch extends DescMessage, Element extends DescMessage>(
  batch: Batch,
  element: Element,
  bytes: Uint8Array,
): Promise<{ elements: MessageShape<Element>[]; rest: MessageShape<Batch> }> {
  const reader = new BinaryReader(bytes);
  const known = new Set(batch.fields.map((field) => field.number));
  const elements: MessageShape<Element>[] = [];
  const others: Uint8Array[] = [];
  for (let fields = 1; reader.pos < reader.len; fields++) {
    const start = reader.pos;
    const [number, type] = reader.tag();
    // Like the library, whatever the wire type of a known field says: all of them are messages.
    if (number === 1) elements.push(fromBinary(element, reader.bytes()));
    else {
      if (known.has(number)) reader.bytes();
      else reader.skip(type, number);
      others.push(bytes.subarray(start, reader.pos));
    }
    if (fields % elementsPerTurn === 0) await setImmediate();
  }
  return { elements, rest: fromBinary(batch, Buffer.concat(others)) };
}
