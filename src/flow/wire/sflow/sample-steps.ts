import type { InstructionTable, Step } from "../steps/instruction-table.ts";
import type { StepList, ByteSource } from "../steps/steps.ts";
import { addAddress, type StructureSteps } from "./structure-steps.ts";
import type { StructureOutcome } from "./xdr-reader.ts";
import * as layout from "../../kernel/layout.gen.ts";
import { tcpFlagBits, tcpFlagNames } from "../../elements/mapping/convert-field.ts";
import type { PacketHeader } from "../packet/packet-header.ts";
import type { PacketSteps } from "../packet/packet-steps.ts";
import { sflowDropReasons } from "./drop-reasons.gen.ts";

/** Formats of flow records that are more than a row of fields, and that of the switch's VLANs. */
export const flowFormats = { header: 1, ethernet: 2, ipv4: 3, ipv6: 4, switch: 1001, gateway: 1003 } as const;

/** More than a number of a path takes in a line, with a segment around it. */
const maxNumber = 12;
const maxSegment = 4;
/** And a community. */
const maxCommunity = 14;

/**
 * Makes steps of extended gateway data: next hop, the router's own AS, those of the source and of the peer that it came from, segments of the
 * AS path to the destination, communities, local preference. The destination's AS is the last of the path, the next peer the first. An end that
 * is within the router's own AS is not in any path: then the source is 0, or the path is empty, and the end's AS is the router's.
 */
export class GatewaySteps implements StructureSteps {
  readonly wholes = [];
  readonly #steps: ReturnType<typeof gatewaySteps>;

  constructor(instructions: InstructionTable) {
    this.#steps = gatewaySteps(instructions);
  }

  add(list: StepList, source: ByteSource, at: number, end: number): StructureOutcome {
    const steps = this.#steps;
    const { view } = source;
    let position = addAddress(list, steps.nextHop4, steps.nextHop6, source, at, end);
    if (position < 0 || end - position < 4) return "cut";
    const ownAs = view.getUint32(position);
    list.add(steps.exporterAs, ownAs);
    if (end - position < 8) return "cut";
    const sourceAs = view.getUint32(position + 4);
    list.add(steps.sourceAs, sourceAs === 0 ? ownAs : sourceAs);
    if (end - position < 12) return "cut";
    const previousAs = view.getUint32(position + 8);
    list.add(steps.previousAs, previousAs);
    if (previousAs > 0) list.add(steps.previousLabel, previousAs);
    position = this.#addPath(list, source, ownAs, position + 12, end);
    if (position < 0 || end - position < 4) return "cut";
    const communities = view.getUint32(position);
    if (communities > (end - position - 4) >>> 2) return "cut";
    if (communities > 0) list.addLong(steps.communities, position, maxCommunity * communities);
    position += 4 + 4 * communities;
    if (end - position < 4) return "cut";
    list.add(steps.preference, view.getUint32(position));
    return position + 4 === end ? "whole" : "more";
  }

  /** Adds the path and what follows from it. @returns where it ends, -1 when that is behind `end`. */
  #addPath(list: StepList, { view }: ByteSource, ownAs: number, at: number, end: number): number {
    const steps = this.#steps;
    if (end - at < 4) return -1;
    const segments = view.getUint32(at);
    let position = at + 4;
    let first = -1;
    let last = -1;
    let numbers = 0;
    for (let i = 0; i < segments; i++) {
      if (end - position < 8) return -1;
      const count = view.getUint32(position + 4);
      position += 8;
      if (count > (end - position) >>> 2) return -1;
      numbers += count;
      if (count > 0) {
        if (first < 0) first = view.getUint32(position);
        last = view.getUint32(position + 4 * count - 4);
      }
      position += 4 * count;
    }
    if (first >= 0) {
      list.addLong(steps.path, at, maxNumber * numbers + maxSegment * segments);
      list.add(steps.nextAs, first);
      if (first > 0) list.add(steps.nextLabel, first);
      list.add(steps.destinationAs, last);
    } else if (ownAs > 0) list.add(steps.destinationAs, ownAs);
    return position;
  }
}

function gatewaySteps(instructions: InstructionTable) {
  const number = (name: string) => instructions.field(name, "number");
  return {
    nextHop4: instructions.field("flow.bgp.next_hop.ip.addr", "ipv4"),
    nextHop6: instructions.field("flow.bgp.next_hop.ip.addr", "ipv6"),
    exporterAs: number("flow.export.as.asn"),
    sourceAs: number("flow.src.as.asn"),
    previousAs: number("hop.src.as.asn"),
    previousLabel: instructions.field("hop.src.as.label", "asLabel"),
    path: instructions.field("flow.bgp.as_path", "path"),
    nextAs: number("hop.dst.as.asn"),
    nextLabel: instructions.field("hop.dst.as.label", "asLabel"),
    destinationAs: number("flow.dst.as.asn"),
    communities: instructions.field("flow.bgp.communities", "communities"),
    preference: number("flow.bgp.local_pref"),
  };
}

/** Codes from here on have no name. */
const dropReasonCount = Math.max(...sflowDropReasons.keys()) + 1;

/** The formats in which the interface of a packet is given. */
const interfaceFormats = { index: 0, discarded: 1, multiple: 2 } as const;

/** Instead of an index: the packet came from the device itself, or was for it. */
const internal = 0x3fff_ffff;
/** Tells whether a value of the format `index` is one. */
export function isIndex(format: number, value: number): boolean {
  return format === interfaceFormats.index && value !== internal;
}

/** The value that {@link InterfaceSteps.add} returns instead of an index. */
const none = -1;
const several = -2;

const reasonId = "flow.drop.reason.id";
const direction = "flow.direction.name";

/** Makes steps of where a packet came in and went out. */
export class InterfaceSteps {
  readonly #sides: Readonly<Record<"in" | "out", ReturnType<typeof sideSteps>>>;
  readonly #reason: Step;
  readonly #reasonNumber: Step;
  readonly #ingress: Step;
  readonly #egress: Step;

  constructor(instructions: InstructionTable) {
    this.#sides = { in: sideSteps(instructions, "flow.in.netif"), out: sideSteps(instructions, "flow.out.netif") };
    this.#reasonNumber = instructions.field(reasonId, "number");
    this.#reason = instructions.entry(dropReasonCount, (code) => [
      [reasonId, code],
      ["flow.drop.reason.name", sflowDropReasons.get(code)],
    ]);
    this.#ingress = instructions.fixed([[direction, "ingress"]], direction);
    this.#egress = instructions.fixed([[direction, "egress"]], direction);
  }

  /** The steps of an index, for who knows that there is one: {@link isIndex}. */
  get indexes(): Readonly<Record<"in" | "out", Step>> {
    return { in: this.#sides.in.index, out: this.#sides.out.index };
  }

  /** The steps that the kernel lists by itself, by the numbers that its layout has. */
  get listed(): readonly (readonly [number: number, step: Step])[] {
    const { in: input, out: output } = this.#sides;
    return [
      [layout.inIndexStep, input.index],
      [layout.inInternalStep, input.isInternal],
      [layout.outIndexStep, output.index],
      [layout.outInternalStep, output.isInternal],
      [layout.outCountStep, output.count],
      [layout.ingressStep, this.#ingress],
      [layout.egressStep, this.#egress],
    ];
  }

  /**
   * Adds the interface at which a packet came in or went out: its index, or why the packet was discarded, or to how many interfaces it
   * went (0: to several, it is not known how many).
   *
   * @returns the index; a negative number where there is none.
   */
  add(list: StepList, side: "in" | "out", format: number, value: number): number {
    const steps = this.#sides[side];
    if (format === interfaceFormats.index) {
      list.add(value === internal ? steps.isInternal : steps.index, value);
      return value === internal ? none : value;
    }
    if (side === "out" && format === interfaceFormats.discarded) this.addReason(list, value);
    else if (side === "out" && format === interfaceFormats.multiple) {
      list.add(steps.count, value);
      return several;
    } else {
      list.add(steps.format, format);
      list.add(steps.value, value);
    }
    return none;
  }

  /** Adds why a packet was discarded: the code, and the name that it has. */
  addReason(list: StepList, code: number): void {
    list.add(code < dropReasonCount ? this.#reason : this.#reasonNumber, code);
  }

  /**
   * The interface at which the packet was sampled says the direction, where it is one of the two and not both. Where the packet went to
   * several, the data source is one of them when it is not the interface at which it came in.
   *
   * @param input, output as {@link InterfaceSteps.add} returned them.
   */
  addDirection(list: StepList, sourceType: number, sourceIndex: number, input: number, output: number): void {
    const isIn = input === sourceIndex;
    const isOut = output === sourceIndex || (output === several && !isIn);
    if (sourceType === 0 && isIn !== isOut) list.add(isIn ? this.#ingress : this.#egress, isIn ? 0 : 1);
  }
}

function sideSteps(
  instructions: InstructionTable,
  group: string,
): Readonly<Record<"index" | "isInternal" | "count" | "format" | "value", Step>> {
  return {
    index: instructions.field(`${group}.index`, "number"),
    isInternal: instructions.fixed([[`${group}.isInternal`, true]]),
    count: instructions.field(`${group}.count`, "number"),
    format: instructions.field(`${group}.format.id`, "number"),
    value: instructions.field(`${group}.value`, "number"),
  };
}

type IsKnown = (part: (header: PacketHeader) => number) => boolean;

interface Field {
  readonly width: 4 | 6 | 8 | 16;
  /** True if the step takes the offset of the value. */
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
  instructions: InstructionTable,
  { flow }: PacketSteps,
  isKnown: IsKnown,
  noteLength: (of: "frame" | "packet", length: number) => void,
): readonly (readonly [key: number, StructureSteps])[] {
  const wideProtocol = instructions.field("l4.proto.id", "number");
  const wideFlags = instructions.field("tcp.flags.bits", "number");
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
