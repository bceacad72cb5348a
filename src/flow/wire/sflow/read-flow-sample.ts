import { createSampledSteps, flowFormats, GatewaySteps, InterfaceSteps, isIndex } from "./sample-steps.ts";
import { flowRecordLayouts } from "./structures.gen.ts";
import { bytesLayer, type CounterNames } from "../../elements/mapping/element-names.ts";
import type { Part, InstructionTable } from "../steps/instruction-table.ts";
import type { ByteSource, StepList } from "../steps/steps.ts";
import type { PacketHeader } from "../packet/packet-header.ts";
import * as layout from "../../kernel/layout.gen.ts";
import { PacketSteps, listedSteps } from "../packet/packet-steps.ts";
import { createParsedPacket, flowLevelOf, isUnread, parsePacket } from "../packet/parse-packet.ts";
import type { PacketStart } from "../packet/parse-headers.ts";
import { checkRate } from "../../exporters/sampling.ts";
import { sourceKey } from "../../exporters/sequence.ts";
import {
  SampleRecords,
  sampleProblem,
  type ListedStructure,
  type SampleContext,
  type SampleLines,
  type SampleLister,
} from "./sample-records.ts";
import { StructureHex } from "./xdr-reader.ts";
import { RowSteps, type StructureSteps } from "./structure-steps.ts";

/** Numbers of groups, by format. */
const groups: ReadonlyMap<number, number> = groupByNames();

/** The number of the group of a known format. */
function groupOf(key: number): number {
  return groups.get(key) ?? 0;
}

function groupByNames(): Map<number, number> {
  const { ethernet, ipv4, ipv6, gateway } = flowFormats;
  const found = new Map<number, number>([
    [ethernet, 1],
    [ipv4, 2],
    [ipv6, 2],
    [gateway, 3],
  ]);
  let next = 4;
  const byName = new Map<string, number>();
  for (const [key, recordLayout] of flowRecordLayouts) {
    const group = recordLayout.map(([name]) => byName.get(name)).find((known) => known !== undefined) ?? next++;
    found.set(key, group);
    for (const [name] of recordLayout) byName.set(name, group);
  }
  return found;
}

/** The structures of a sample so far, by groups: those of a group have names in common, so that only the first can be fields. */
class SeenStructures {
  /** Holds for each group: the sample that had it last, its format and offset there. */
  readonly #samples: Float64Array;
  readonly #keys: Float64Array;
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;
  #sample = 0;

  constructor() {
    const size = 1 + Math.max(...groups.values());
    this.#samples = new Float64Array(size);
    this.#keys = new Float64Array(size);
    this.#starts = new Int32Array(size);
    this.#ends = new Int32Array(size);
  }

  /** Begins a sample. */
  begin(): void {
    this.#sample++;
  }

  /**
   * Notes a structure.
   *
   * @param group of {@link groupOf}.
   * @returns `first` of its group, `again` when the first was the same byte for byte, else `other`.
   */
  note(group: number, key: number, bytes: Buffer, at: number, end: number): "first" | "again" | "other" {
    if (this.#samples[group] !== this.#sample) {
      this.#samples[group] = this.#sample;
      this.#keys[group] = key;
      this.#starts[group] = at;
      this.#ends[group] = end;
      return "first";
    }
    const isSame =
      this.#keys[group] === key && bytes.compare(bytes, this.#starts[group], this.#ends[group], at, end) === 0;
    return isSame ? "again" : "other";
  }
}

/** The steps of the fixed part of samples, and of what holds for each sample. */
function createFlowSampleSteps(
  instructions: InstructionTable,
  counters: CounterNames,
  indexes: InterfaceSteps["indexes"],
) {
  const number = (name: string) => instructions.field(name, "number");
  const sequence = number("flow.sample.sequence");
  const sourceType = number("flow.sample.source.type.id");
  const sourceIndex = number("flow.sample.source.index");
  const pool = number("flow.sample.pool");
  const drops = number("flow.sample.drops");
  const compact: readonly Part[] = [
    [sequence, 0, "uint32"],
    [sourceType, 4, "uint8"],
    [sourceIndex, 5, "uint24"],
    [pool, 12, "uint32"],
    [drops, 16, "uint32"],
  ];
  const expanded: readonly Part[] = [
    [sequence, 0, "uint32"],
    [sourceType, 4, "uint32"],
    [sourceIndex, 8, "uint32"],
    [pool, 16, "uint32"],
    [drops, 20, "uint32"],
  ];
  return {
    compact: instructions.block(compact),
    expanded: instructions.block(expanded),
    /** With both interfaces, where these are indexes. */
    compactWhole: instructions.block([...compact, [indexes.in, 20, "uint32"], [indexes.out, 24, "uint32"]]),
    expandedWhole: instructions.block([...expanded, [indexes.in, 28, "uint32"], [indexes.out, 36, "uint32"]]),
    discarded: instructions.block([
      [instructions.fixed([["flow.record.type", "discard"]]), 0, "place"],
      [sequence, 0, "uint32"],
      [sourceType, 4, "uint32"],
      [sourceIndex, 8, "uint32"],
      [drops, 12, "uint32"],
    ]),
    packets: number(counters.packets.exported),
    frame: instructions.field(counters.bytes.exported, "number", [[bytesLayer, "l2"]]),
    packet: instructions.field(counters.bytes.exported, "number", [[bytesLayer, "l3"]]),
    headerProtocol: number("flow.sample.header.protocol.id"),
  };
}

/** Header protocols whose packets are parsed; of others the bytes are given, as of packets without a header that can be read. */
const packetStarts: Readonly<Record<number, PacketStart>> = {
  1: "ethernet",
  7: "ppp",
  11: "ipv4",
  12: "ipv6",
  13: "mpls",
  14: "ppp",
  15: "wireless",
  17: "ethernet",
};

/** Kinds of samples of a data source: each has numbers of its own. */
const sourceKinds = { flow: 0, discard: 2 } as const;

/** All ones: the agent does not know the value. */
const unknown = 0xffff_ffff;

/** Bytes before the sampled header: its protocol, the length of the frame, what was stripped off it, its own length. */
const headerHead = 16;

/** Frames that are segmented later may be so long. */
const longestUnsegmented = 0x10_0000;

/** Tells whether a frame can be so long. @param ipLength of the IP packet in it; 0 or less: not known. */
function isPossible(frameLength: number, ipLength: number): boolean {
  return ipLength > 0
    ? frameLength >= ipLength && frameLength <= layout.longestFrame
    : frameLength <= longestUnsegmented;
}

const switchBytes = 16;
const lastVlan = 4095;

/** Tells whether extended switch data that are too short are not even numbers of four bytes: what seems to be the VLAN is none. */
function isOtherSwitch(view: DataView, at: number, end: number): boolean {
  if (end - at >= switchBytes || end - at < 4) return false;
  const vlan = view.getUint32(at);
  return vlan > lastVlan && vlan !== unknown;
}

/** Returns where the source address is in the header of IP. */
const sourceOffset = ({ ipVersion }: PacketHeader): number => (ipVersion === 4 ? 12 : 8);

/** The length of an IP packet by its header; 0 where that is still to be segmented. */
function ipLengthIn(view: DataView, { ipVersion, ipLength, source }: PacketHeader): number {
  if (ipVersion === 4) return ipLength;
  return view.getUint16(source - 4) === 0 ? 0 : ipLength;
}

/** Reads samples that are flows of one packet; they leave with the next flush of the lines. */
export class FlowSampleReader implements SampleLister {
  readonly #lines: SampleLines;
  readonly #keepsHeaders: boolean;
  readonly #list: StepList;
  readonly #interfaces: InterfaceSteps;
  readonly #own: ReturnType<typeof createFlowSampleSteps>;
  readonly #packetSteps: PacketSteps;
  /** Structures of known formats, with the number of their group. */
  readonly #structures: ReadonlyMap<number, readonly [group: number, steps: StructureSteps]>;
  readonly #records = new SampleRecords();
  readonly #packet = createParsedPacket();
  readonly #seen = new SeenStructures();
  readonly #hex = new StructureHex();
  /** The context of the datagram at hand. */
  #context: SampleContext | undefined;
  /** True if the sample that is read has a packet that could be parsed; and its innermost header. */
  #hasPacket = false;
  #flowHeader = this.#packet.levels[0] as PacketHeader;
  #agentVlan = -1;
  /** The lengths of the frame and of the IP packet, by what the agent read in it; -1 when it does not say. */
  #frameLength = -1;
  #packetLength = -1;

  /** @param keepsHeaders whether flows keep the bytes of their sampled header. */
  constructor(lines: SampleLines, keepsHeaders: boolean) {
    const { instructions } = lines;
    this.#lines = lines;
    this.#keepsHeaders = keepsHeaders;
    this.#list = lines.steps;
    this.#interfaces = new InterfaceSteps(instructions);
    this.#own = createFlowSampleSteps(instructions, lines.counters, this.#interfaces.indexes);
    this.#packetSteps = new PacketSteps(instructions);
    this.#structures = this.#makeStructures(instructions);
    // The structures that the kernel lists by itself have no bytes in hex.
    if (!keepsHeaders) this.#leaveToKernel();
  }

  /** @param isExpanded whether data source and interfaces have words of their own. */
  readFlow(of: SampleContext, at: number, end: number, isExpanded: boolean): void {
    const { source, domain, output, rates } = of;
    const { view } = source;
    if (end - at < (isExpanded ? 44 : 32)) {
      sampleProblem(of, "cut_sample", { bytes: end - at });
      return;
    }
    this.#context = of;
    const first = view.getUint32(at + 4);
    const type = isExpanded ? first : first >>> 24;
    const index = isExpanded ? view.getUint32(at + 8) : first & 0xff_ffff;
    const rateAt = at + (isExpanded ? 12 : 8);
    const rate = view.getUint32(rateAt);
    const { manualRate, fallbackRate } = rates;
    const said = checkRate(rate > 0 ? rate : undefined, manualRate === undefined ? output.doubt : undefined);
    const key = sourceKey(sourceKinds.flow, type, index);
    output.sample(domain.samples.account(key, view.getUint32(at), view.getUint32(rateAt + 8), said ?? 0));
    const known = manualRate ?? said ?? fallbackRate;
    this.#lines.add(isExpanded ? layout.formExpanded : layout.formCompact, at, end, known, this);
  }

  /** A discarded packet (sflow.org/sflow_drops.txt). Each is reported, as far as the agent's limit allows: there is no rate. */
  readDiscard(of: SampleContext, at: number, end: number): void {
    const { source, domain, output } = of;
    const { view } = source;
    if (end - at < 32) {
      sampleProblem(of, "cut_sample", { bytes: end - at });
      return;
    }
    this.#context = of;
    const key = sourceKey(sourceKinds.discard, view.getUint32(at + 4), view.getUint32(at + 8));
    output.sample(domain.samples.account(key, view.getUint32(at), view.getUint32(at + 12), 0));
    this.#lines.add(layout.formOther, at, end, undefined, this);
  }

  list(form: number, at: number, end: number): void {
    const context = this.#context;
    if (context === undefined) throw new TypeError("samples are listed while their datagram is read");
    if (form === layout.formOther) this.#addDiscard(context.source, at);
    else this.#addFlow(context.source, at, form === layout.formExpanded);
    this.#addRecords(context, at + (form === layout.formExpanded ? 40 : 28), end);
  }

  #makeStructures(instructions: InstructionTable): Map<number, readonly [group: number, steps: StructureSteps]> {
    const isKnown = (part: (header: PacketHeader) => number): boolean =>
      this.#hasPacket && (part(this.#flowHeader) >= 0 || part(this.#packet.levels[0] as PacketHeader) >= 0);
    const sampled = createSampledSteps(instructions, this.#packetSteps, isKnown, (of, length) => {
      if (of === "frame") this.#frameLength = length;
      else this.#packetLength = length;
    });
    const rows = Array.from(flowRecordLayouts, ([key, fields]) => {
      return [key, new RowSteps(instructions, fields, key === flowFormats.switch)] as const;
    });
    const all = [...sampled, [flowFormats.gateway, new GatewaySteps(instructions)] as const, ...rows];
    return new Map(all.map(([key, steps]) => [key, [groupOf(key), steps]]));
  }

  /** Says what the kernel may list by itself. */
  #leaveToKernel(): void {
    const own = this.#own;
    this.#lines.useListed({
      ofSample: [
        [layout.compactStep, own.compact],
        [layout.expandedStep, own.expanded],
        [layout.compactWholeStep, own.compactWhole],
        [layout.expandedWholeStep, own.expandedWhole],
        ...this.#interfaces.listed,
        [layout.packetsStep, own.packets],
        [layout.frameLengthStep, own.frame],
      ],
      ofPacket: listedSteps(this.#packetSteps),
      structures: [...this.#structures].flatMap(([format, [group, { wholes }]]) =>
        wholes.map((whole): ListedStructure => ({ format, group, ...whole })),
      ),
    });
  }

  /** Parses the first sampled header. @returns its position in the records, -1 when there is none. */
  #parseHeader({ bytes, view }: ByteSource): number {
    const records = this.#records;
    this.#hasPacket = false;
    for (let i = 0; i < records.found; i++) {
      const at = records.starts[i] as number;
      const end = records.ends[i] as number;
      if (records.keys[i] !== flowFormats.header || end - at < headerHead) continue;
      const start = packetStarts[view.getUint32(at)];
      const from = at + headerHead;
      const length = Math.min(view.getUint32(at + 12), end - from);
      if (start !== undefined && length > 0) {
        parsePacket(bytes, from, from + length, start, this.#packet);
        this.#flowHeader = this.#packet.levels[flowLevelOf(this.#packet)] as PacketHeader;
        this.#hasPacket = !isUnread(this.#packet);
      }
      return i;
    }
    return -1;
  }

  /** Adds what stands before the header that was parsed. @returns whether it is cut. */
  #addHeader({ bytes, view }: ByteSource, at: number, end: number): boolean {
    const protocol = view.getUint32(at);
    const length = view.getUint32(at + 12);
    const from = at + headerHead;
    const isCut = length > end - from;
    const to = isCut ? end : from + length;
    if (this.#keepsHeaders || packetStarts[protocol] === undefined || (!this.#hasPacket && to > from)) {
      this.#list.add(this.#own.headerProtocol, protocol);
      this.#list.give("flow.ie.dataLinkFrameSection", `0x${bytes.toString("hex", from, to)}`);
    }
    return isCut;
  }

  /** @returns how many numbers of extended switch data are left out: a VLAN 0 of the source gives way to that of the packet's tag. */
  #skippedOf({ view }: ByteSource, at: number, end: number): number {
    if (end - at < 4) return 0;
    const vlan = view.getUint32(at);
    if (vlan === 0 && this.#hasPacket && this.#flowHeader.outerTag >= 0) return 1;
    if (vlan !== unknown) this.#agentVlan = vlan;
    return 0;
  }

  /**
   * The length of the frame. Where that cannot be, it is that of the IP packet with the headers before it; -1 where that is not known.
   *
   * @param from where the sampled header begins, -1 where there is none.
   */
  #possibleLength({ view }: ByteSource, from: number): number {
    const outermost = this.#packet.levels[0] as PacketHeader;
    const frameLength = this.#frameLength;
    const hasIp = this.#hasPacket && outermost.ipVersion >= 0;
    const said = hasIp ? ipLengthIn(view, outermost) : this.#packetLength;
    const ipLength = said > layout.longestFrame ? 0 : said;
    if (frameLength < 0 || isPossible(frameLength, ipLength)) return frameLength;
    if (ipLength <= 0) return -1;
    return ipLength + (hasIp && from >= 0 ? outermost.source - sourceOffset(outermost) - from : 0);
  }

  /** Adds a structure that is not the sampled header. @returns whether it is cut. */
  #addStructure(source: ByteSource, key: number, at: number, end: number): boolean {
    const known = this.#structures.get(key);
    const occurrence = known === undefined ? "other" : this.#seen.note(known[0], key, source.bytes, at, end);
    if (occurrence === "again") return false;
    if (known === undefined || occurrence === "other") {
      this.#hex.add("flow", key, at, end);
      return false;
    }
    if (key === flowFormats.switch && isOtherSwitch(source.view, at, end)) {
      this.#hex.add("flow", key, at, end);
      return true;
    }
    const skipped = key === flowFormats.switch ? this.#skippedOf(source, at, end) : 0;
    const outcome = known[1].add(this.#list, source, at, end, skipped);
    if (outcome !== "whole") this.#hex.add("flow", key, at, end);
    return outcome === "cut";
  }

  /** Adds everything behind the fixed part of a sample, and ends it. */
  #addRecords(of: SampleContext, at: number, end: number): void {
    const { source } = of;
    const records = this.#records;
    const list = this.#list;
    records.locate(source.view, at, end);
    const headerIndex = this.#parseHeader(source);
    let isCut = false;
    this.#agentVlan = this.#frameLength = this.#packetLength = -1;
    this.#seen.begin();
    list.add(this.#own.packets, 1);
    for (let i = 0; i < records.found; i++) {
      const key = records.keys[i] as number;
      const from = records.starts[i] as number;
      const to = records.ends[i] as number;
      if (i === headerIndex) isCut = this.#addHeader(source, from, to) || isCut;
      else if (key === flowFormats.header) {
        this.#hex.add("flow", key, from, to);
        isCut ||= to - from < headerHead;
      } else isCut = this.#addStructure(source, key, from, to) || isCut;
    }
    this.#addLength(source, headerIndex < 0 ? -1 : (records.starts[headerIndex] as number));
    if (this.#hasPacket) this.#packetSteps.add(list, this.#packet, this.#agentVlan);
    if (!this.#hex.isEmpty()) this.#hex.take((name, spans) => list.giveHex(name, spans));
    records.check(of, isCut);
    const { ipVersion, source: from, destination } = this.#flowHeader;
    if (this.#hasPacket && ipVersion >= 0) this.#lines.setAddresses(from, destination, ipVersion === 4 ? 4 : 16);
  }

  /** @param headerAt where the record of the sampled header begins, -1 where there is none. */
  #addLength(source: ByteSource, headerAt: number): void {
    if (headerAt >= 0) this.#frameLength = source.view.getUint32(headerAt + 4);
    const frameLength = this.#possibleLength(source, headerAt < 0 ? -1 : headerAt + headerHead);
    if (frameLength >= 0) this.#list.add(this.#own.frame, frameLength);
    else if (this.#packetLength >= 0) this.#list.add(this.#own.packet, this.#packetLength);
  }

  /** Adds the fixed part of a flow sample. The compact form has the type of a data source in eight bits, the format of an interface in two. */
  #addFlow({ view }: ByteSource, at: number, isExpanded: boolean): void {
    const list = this.#list;
    const own = this.#own;
    const interfaces = this.#interfaces;
    const first = view.getUint32(at + 4);
    const type = isExpanded ? first : first >>> 24;
    const index = isExpanded ? view.getUint32(at + 8) : first & 0xff_ffff;
    const interfacesAt = at + (isExpanded ? 24 : 20);
    const one = view.getUint32(interfacesAt);
    const two = view.getUint32(interfacesAt + (isExpanded ? 8 : 4));
    const inFormat = isExpanded ? one : one >>> 30;
    const outFormat = isExpanded ? two : two >>> 30;
    let input = isExpanded ? view.getUint32(interfacesAt + 4) : one & 0x3fff_ffff;
    let sink = isExpanded ? view.getUint32(interfacesAt + 12) : two & 0x3fff_ffff;
    if (isIndex(inFormat, input) && isIndex(outFormat, sink)) {
      list.add(isExpanded ? own.expandedWhole : own.compactWhole, at);
    } else {
      list.add(isExpanded ? own.expanded : own.compact, at);
      input = interfaces.add(list, "in", inFormat, input);
      sink = interfaces.add(list, "out", outFormat, sink);
    }
    interfaces.addDirection(list, type, index, input, sink);
  }

  #addDiscard({ view }: ByteSource, at: number): void {
    const list = this.#list;
    const interfaces = this.#interfaces;
    list.add(this.#own.discarded, at);
    const input = interfaces.add(list, "in", 0, view.getUint32(at + 16));
    const sink = interfaces.add(list, "out", 0, view.getUint32(at + 20));
    interfaces.addReason(list, view.getUint32(at + 24));
    interfaces.addDirection(list, view.getUint32(at + 4), view.getUint32(at + 8), input, sink);
  }
}
