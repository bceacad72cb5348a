import { formatAddressBytes } from "../../../ip/index.ts";
import type { FieldValues, RecordFields } from "../../../record/index.ts";
import { createStepBook } from "../steps/step-book.ts";
import { createStepList } from "../steps/step-list.ts";
import type { ByteSource } from "../steps/step-value.ts";
import { createPacketSteps } from "./packet-steps.ts";
import { createParsedPacket, flowLevelOf, parsePacket } from "./parse-packet.ts";
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
  const book = createStepBook(undefined);
  const list = createStepList(book, undefined);
  const steps = createPacketSteps(book);
  const packet = createParsedPacket();

  const levelOf = ({ bytes }: ByteSource, of: FieldValues): number => {
    const source = of.get("flow.src.ip.addr");
    const destination = of.get("flow.dst.ip.addr");
    const last = flowLevelOf(packet);
    if (last === 0 || source === undefined || destination === undefined) return last;
    const found = packet.levels.findIndex(
      (header, i) =>
        i <= last &&
        header.ipVersion >= 0 &&
        formatAddressBytes(bytes, header.source, header.ipVersion === 4 ? 4 : 6) === source &&
        formatAddressBytes(bytes, header.destination, header.ipVersion === 4 ? 4 : 6) === destination,
    );
    return found < 0 ? last : found;
  };

  return {
    get ipLength() {
      const outermost = packet.levels.find(({ ipVersion }, i) => i < packet.count && ipVersion >= 0);
      return outermost?.ipLength ?? -1;
    },
    read(source, at, end, start, of) {
      parsePacket(source.bytes, at, end, start, packet);
      list.clear();
      steps.add(list, packet, -1, levelOf(source, of));
      const fields: RecordFields = new Map();
      list.putInto(fields, 0, list.end, source);
      return fields;
    },
  };
}
