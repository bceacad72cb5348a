import type { FieldValues, RecordFields } from "../../../record/index.ts";
import { createStepBook } from "../steps/step-book.ts";
import { createStepList } from "../steps/step-list.ts";
import type { ByteSource } from "../steps/step-value.ts";
import { createPacketSteps } from "./packet-steps.ts";
import { ipLengthOf, levelWithin } from "./flow-level.ts";
import { createParsedPacket, parsePacket } from "./parse-packet.ts";
import type { PacketStart } from "./parse-start.ts";

/** Reads the beginning of a packet into fields. */
export interface PacketFields {
  /**
   * @param of what is known of the flow: where its addresses are those of one of the packets, that one is the flow's and what is
   *   within it has names with `flow.inner.`; else the innermost is.
   */
  read(source: ByteSource, at: number, end: number, start: PacketStart, of: FieldValues): RecordFields;
  /** The length of the IP packet that was read last, by the outermost IP header; -1 when there was none. */
  readonly ipLength: number;
}

export function createPacketFields(): PacketFields {
  const packet = createParsedPacket();
  /** Made with the first packet: thousands of entries, and most exporters send none. */
  let made: ReturnType<typeof createFieldSteps> | undefined;

  return {
    get ipLength() {
      return ipLengthOf(packet);
    },
    read(source, at, end, start, of) {
      parsePacket(source.bytes, at, end, start, packet);
      const { list, steps } = (made ??= createFieldSteps());
      list.clear();
      steps.add(list, packet, -1, levelWithin(packet, source, of));
      const fields: RecordFields = new Map();
      list.putInto(fields, 0, list.end, source);
      return fields;
    },
  };
}

/** Steps that only make fields. */
function createFieldSteps() {
  const book = createStepBook(undefined);
  return { list: createStepList(book, undefined), steps: createPacketSteps(book) };
}
