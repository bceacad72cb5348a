import { tcpFlagBits, tcpFlagNames } from "../../elements/mapping/convert-field.ts";
import type { PacketHeader } from "../packet/packet-header.ts";
import type { PacketSteps } from "../packet/packet-steps.ts";
import type { Step, StepBook } from "../steps/step-book.ts";
import type { StepList } from "../steps/step-list.ts";
import { flowFormats } from "./flow-record-layouts.ts";
import type { StructureSteps } from "./structure-steps.ts";

export type IsKnown = (part: (header: PacketHeader) => number) => boolean;

interface Field {
  readonly width: 4 | 6 | 8 | 16;
  /** Whether the step takes the place of the value. */
  readonly isPlace: boolean;
  readonly part: (header: PacketHeader) => number;
  readonly add: (list: StepList, value: number) => void;
  /** Called with the value also where the packet has it. */
  readonly note?: (value: number) => void;
}

/**
 * For what an agent read in the sampled packet itself, sampled Ethernet, IPv4 and IPv6, by format: the fields that the sampled header
 * does not have.
 *
 * @param isKnown whether the packet by its header has something.
 * @param noteLength takes the length of the frame or of the IP packet.
 */
export function createSampledSteps(
  book: StepBook,
  { flow }: PacketSteps,
  isKnown: IsKnown,
  noteLength: (of: "frame" | "packet", length: number) => void,
): readonly (readonly [key: number, StructureSteps])[] {
  const wideProtocol = book.field("l4.proto.id", "number");
  const wideFlags = book.field("tcp.flags.bits", "number");
  const added =
    (step: Step) =>
    (list: StepList, value: number): void =>
      list.add(step, value);

  const ethernet = (macWidth: 6 | 8): readonly Field[] => [
    { width: 4, isPlace: false, part: () => 0, add: () => {}, note: (length) => noteLength("frame", length) },
    { width: macWidth, isPlace: true, part: (header) => header.sourceMac, add: added(flow.sourceMac) },
    { width: macWidth, isPlace: true, part: (header) => header.destinationMac, add: added(flow.destinationMac) },
    { width: 4, isPlace: false, part: (header) => header.etherType, add: added(flow.etherType) },
  ];
  // Some agents do not fill up MAC addresses to words: the length of the structure shows it.
  const padded = stepsOf(ethernet(8), isKnown);
  const short = stepsOf(ethernet(6), isKnown);
  const ip = (width: 4 | 16, source: Step, destination: Step): readonly Field[] => [
    {
      width: 4,
      isPlace: false,
      part: (header) => header.ipVersion,
      add: added(flow.length),
      note: (length) => noteLength("packet", length),
    },
    {
      width: 4,
      isPlace: false,
      part: (header) => header.protocol,
      add: (list, value) => list.add(value < 256 ? flow.protocol : wideProtocol, value),
    },
    { width, isPlace: true, part: (header) => header.ipVersion, add: added(source) },
    { width, isPlace: true, part: (header) => header.ipVersion, add: added(destination) },
    { width: 4, isPlace: false, part: (header) => header.sourcePort, add: added(flow.sourcePort) },
    { width: 4, isPlace: false, part: (header) => header.destinationPort, add: added(flow.destinationPort) },
    {
      width: 4,
      isPlace: false,
      part: (header) => header.tcpFlags,
      add(list, value) {
        const bits = value & tcpFlagBits;
        if (bits < 512) {
          list.add(flow.tcpFlags, bits);
          return;
        }
        list.add(wideFlags, bits);
        const tags = tcpFlagNames(bits);
        if (tags !== undefined) list.give("tcp.flags.tags", tags);
      },
    },
    // Type of service, the priority of IPv6: both are the byte of DSCP and ECN.
    {
      width: 4,
      isPlace: false,
      part: (header) => header.trafficClass,
      add: (list, value) => list.add(flow.trafficClass, value & 0xff),
    },
  ];
  return [
    [
      flowFormats.ethernet,
      {
        wholes: [],
        add: (list, source, at, end, skipped) =>
          (end - at === shortEthernet ? short : padded).add(list, source, at, end, skipped),
      },
    ],
    [flowFormats.ipv4, stepsOf(ip(4, flow.source4, flow.destination4), isKnown)],
    [flowFormats.ipv6, stepsOf(ip(16, flow.source6, flow.destination6), isKnown)],
  ];
}

/** Bytes of sampled Ethernet whose MAC addresses have six. */
const shortEthernet = 20;

function stepsOf(fields: readonly Field[], isKnown: IsKnown): StructureSteps {
  return {
    wholes: [],
    add(list, { view }, at, end) {
      let position = at;
      for (let i = 0; i < fields.length; i++) {
        const { width, isPlace, part, add, note } = fields[i] as Field;
        if (position === end && i > 0) return "whole";
        if (width > end - position) return "cut";
        note?.(view.getUint32(position));
        if (!isKnown(part)) add(list, isPlace ? position : view.getUint32(position));
        position += width;
      }
      return position === end ? "whole" : "more";
    },
  };
}
