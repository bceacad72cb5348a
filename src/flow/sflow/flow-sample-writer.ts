import { lineObjects, type LineBuffer, type LineEnricher } from "../../record/index.ts";
import { communityIdLength, type WriteCommunityId } from "../compiled/community-id-code.ts";
import { createExporterAdditions } from "../compiled/exporter-additions.ts";
import { lineText, nameText, putText } from "../compiled/line-text.ts";
import { createNumberWriter } from "../compiled/number-writer.ts";
import { writeEstimates } from "../compiled/write-estimates.ts";
import { copyText, writeAscii, writeUint32 } from "../compiled/write-values.ts";
import type { DecodeOutput } from "../decoder.ts";
import type { Domain } from "../exporter/domain.ts";
import type { Exporter } from "../exporter/exporter.ts";
import { sourceKey } from "../exporter/sample-sources.ts";
import { innerNames, outerNames } from "../packet/put-packet.ts";
import { innerTexts, maxPacketLength, outerTexts, writePacket } from "../packet/write-packet.ts";
import { dropReasonName } from "./drop-reason-names.ts";
import { createParsedFlowSample, parseFlowSample, type ParsedFlowSample } from "./parse-flow-sample.ts";
import { createSflowHead } from "./sflow-head.ts";
import { createStructureWriter, structureRoom } from "./write-structure.ts";
import { padded, type XdrSource } from "./xdr-layout.ts";

export interface FlowSampleWriterOptions {
  readonly lines: LineBuffer;
  readonly enricher: LineEnricher;
  /** Undefined: records get no Community ID. */
  readonly writeCommunityId: WriteCommunityId | undefined;
}

/** The datagram that samples are of. */
export interface SampleDatagram {
  readonly source: XdrSource;
  readonly receivedAt: number;
  readonly exporter: Exporter;
  readonly domain: Domain;
  readonly sequence: number;
  readonly uptime: number;
  readonly output: DecodeOutput;
}

/**
 * Writes the lines of everyday flow samples straight from their bytes: those that have one packet, and structures
 * of the kinds that {@link createStructureWriter} knows, each once. The lines are those of the records that all others become.
 */
export interface FlowSampleWriter {
  /** Begins a datagram. @returns whether its samples can be written. */
  begin(datagram: SampleDatagram): boolean;
  /** Looks at the next sample before any is written, at most {@link maxAhead}. @returns whether it can be written. */
  parse(position: number, at: number, end: number, isExpanded: boolean): boolean;
  /** Brings near what is known of the addresses of the samples that were parsed; then parsing begins anew. */
  touch(): void;
  /**
   * Writes the line of a sample that could be parsed, and accounts for it.
   *
   * @returns false when the sample must become fields; then nothing has happened.
   */
  write(position: number): boolean;
  /** Ends a datagram. */
  end(): void;
}

export const maxAhead = 32;

const group = (side: string) => ({
  index: nameText(`flow.${side}.netif.index`),
  isInternal: nameText(`flow.${side}.netif.isInternal`, "true"),
  count: nameText(`flow.${side}.netif.count`),
  format: nameText(`flow.${side}.netif.format.id`),
  value: nameText(`flow.${side}.netif.value`),
});
const texts = {
  sequence: nameText("flow.sample.sequence"),
  sourceType: nameText("flow.sample.source.type.id"),
  sourceIndex: nameText("flow.sample.source.index"),
  pool: nameText("flow.sample.pool"),
  drops: nameText("flow.sample.drops"),
  in: group("in"),
  out: group("out"),
  dropReason: nameText("flow.drop.reason.id"),
  dropReasonName: nameText("flow.drop.reason.name", `"`),
  ingress: nameText("flow.direction.name", `"ingress"`),
  egress: nameText("flow.direction.name", `"egress"`),
  packets: nameText("flow.packets", "1"),
  bytes: nameText("flow.bytes"),
  lineEnd: lineText("}\n"),
} as const;

/** Names in lines beside those of packets and structures. */
const ownNames = [
  "@timestamp",
  "flow.start.timestamp",
  "flow.end.timestamp",
  "flow.direction.name",
  "flow.packets",
  "flow.bytes",
  "flow.drop.reason.id",
  "flow.drop.reason.name",
  "flow.sample_rate",
  "flow.scaled.bytes",
  "flow.scaled.packets",
  "flow.community.id",
  ...["ip.addr", "type", "version.ver", "sequence", "domain.id", "uptime", "agent.ip.addr"].map(
    (name) => `flow.export.${name}`,
  ),
  ...["sequence", "source.type.id", "source.index", "pool", "drops"].map((name) => `flow.sample.${name}`),
  ...["in", "out"].flatMap((side) =>
    ["index", "isInternal", "count", "format.id", "value"].map((name) => `flow.${side}.netif.${name}`),
  ),
];

/** Numbers that an enricher may add something to, and their positions. */
const numberNames = [
  "flow.in.netif.index",
  "flow.out.netif.index",
  "ip.dscp.id",
  "l4.proto.id",
  "flow.src.l4.port.id",
  "flow.dst.l4.port.id",
] as const;
const inputNumber = 0;
const outputNumber = 1;

/** How an interface is told, and values that mean none. */
const interfaceFormats = { index: 0, discarded: 1, multiple: 2 } as const;
const internal = 0x3fff_ffff;
const noInterface = -1;
const several = -2;

/** What a line has in any case, with all that follows from it. */
const fixedRoom = 1536 + 2 * maxPacketLength + structureRoom + communityIdLength;
/** What both ends of a flow add together. */
const maxFinish = 64;

/** @returns undefined where the enricher adds something that this does not do. */
export function createFlowSampleWriter(options: FlowSampleWriterOptions): FlowSampleWriter | undefined {
  const { lines, enricher, writeCommunityId } = options;
  const { addresses } = enricher;
  const additions = createExporterAdditions(enricher);
  const written = new Set<string>([...ownNames, ...Object.values(outerNames), ...Object.values(innerNames)]);
  const structures = createStructureWriter(written);
  const numbers = createNumberWriter(enricher, additions, numberNames, new Set([...written, ...structures.names]));
  if (numbers === undefined) return undefined;
  const { values } = numbers;
  const { told } = structures;
  const room =
    fixedRoom + numbers.maxLength + addresses.reduce((sum, { maxLength }) => sum + 2 * maxLength + maxFinish, 0);

  const head = createSflowHead();
  const samples = Array.from({ length: maxAhead }, createParsedFlowSample);
  const sources4 = createGathered(4);
  const destinations4 = createGathered(4);
  const sources6 = createGathered(16);
  const destinations6 = createGathered(16);
  const gathered = [
    [lineObjects.src, sources4],
    [lineObjects.dst, destinations4],
    [lineObjects.src, sources6],
    [lineObjects.dst, destinations6],
  ] as const;
  let view: DataView = new DataView(new ArrayBuffer(0));
  let datagram: SampleDatagram | undefined;

  /** Writes one interface, and keeps its index. Returns where it ends. */
  const writeSide = (out: DataView, at: number, isInput: boolean, format: number, value: number): number => {
    const own = isInput ? texts.in : texts.out;
    const number = isInput ? inputNumber : outputNumber;
    values[number] = noInterface;
    if (format === interfaceFormats.index && value !== internal) {
      values[number] = value;
      return writeUint32(out, putText(out, at, own.index), value);
    }
    if (format === interfaceFormats.index) return putText(out, at, own.isInternal);
    if (format === interfaceFormats.discarded && !isInput) {
      const p = writeUint32(out, putText(out, at, texts.dropReason), value);
      const name = dropReasonName(value);
      if (name === undefined) return p;
      return writeAscii(out, writeAscii(out, putText(out, p, texts.dropReasonName), name), `"`);
    }
    if (format === interfaceFormats.multiple && !isInput) {
      values[number] = several;
      return writeUint32(out, putText(out, at, own.count), value);
    }
    const p = writeUint32(out, putText(out, at, own.format), format);
    return writeUint32(out, putText(out, p, own.value), value);
  };

  const writeSides = (out: DataView, at: number, sample: ParsedFlowSample): number => {
    const { ratesAt, countAt, sourceType, sourceIndex } = sample;
    const input = view.getUint32(ratesAt + 12);
    const isExpanded = countAt - ratesAt > 20;
    let p = at;
    if (isExpanded) {
      p = writeSide(out, p, true, input, view.getUint32(ratesAt + 16));
      p = writeSide(out, p, false, view.getUint32(ratesAt + 20), view.getUint32(ratesAt + 24));
    } else {
      const output = view.getUint32(ratesAt + 16);
      p = writeSide(out, p, true, input >>> 30, input & 0x3fff_ffff);
      p = writeSide(out, p, false, output >>> 30, output & 0x3fff_ffff);
    }
    const isIn = values[inputNumber] === sourceIndex;
    const isOut = values[outputNumber] === sourceIndex || (values[outputNumber] === several && !isIn);
    return sourceType === 0 && isIn !== isOut ? putText(out, p, isIn ? texts.ingress : texts.egress) : p;
  };

  const writeStructures = (out: DataView, at: number, { countAt, end, packet }: ParsedFlowSample): number => {
    structures.begin(packet.outer.outerTag);
    let p = at;
    let position = countAt + 4;
    while (position < end) {
      const key = view.getUint32(position);
      const length = view.getUint32(position + 4);
      position += 8;
      if (key !== 1) {
        p = structures.write(out, p, view, key, position, position + length);
        if (p < 0) return -1;
      }
      position += padded(length);
    }
    return p;
  };

  /** Writes what enrichment adds. */
  const writeAdditions = (out: DataView, at: number, { packet: { outer } }: ParsedFlowSample): number => {
    values[2] = outer.trafficClass < 0 ? -1 : outer.trafficClass >> 2;
    values[3] = outer.protocol;
    values[4] = outer.sourcePort;
    values[5] = outer.destinationPort;
    let p = numbers.write(out, at);
    if (p < 0) return -1;
    const { source, destination } = outer;
    const length = outer.ipVersion === 4 ? 4 : 16;
    const hasSourceVlan = told.sourceVlan >= 0 || outer.outerTag >= 0;
    for (let i = 0; i < addresses.length; i++) {
      const ofAddress = addresses[i] as (typeof addresses)[number];
      if (source >= 0) {
        p = ofAddress.append(0, view, source, length, hasSourceVlan, out, p, told.sourceSystem);
        if (p < 0) return -1;
        p = ofAddress.append(1, view, destination, length, told.destinationVlan >= 0, out, p, told.destinationSystem);
        if (p < 0) return -1;
      }
      const { text, length: textLength } = additions.texts[i] as (typeof additions.texts)[number];
      p = copyText(out, p, text, 0, textLength);
      if (ofAddress.finish !== undefined) p = ofAddress.finish(out, p);
    }
    return p;
  };

  const writeLine = (out: DataView, at: number, sample: ParsedFlowSample, manualRate: number | undefined): number => {
    const { ratesAt, frameLength } = sample;
    const { outer } = sample.packet;
    let p = copyText(out, at, head.view, 0, head.length);
    const rate = view.getUint32(ratesAt);
    p = writeUint32(out, putText(out, p, texts.sequence), sequenceOf(view, sample));
    p = writeUint32(out, putText(out, p, texts.sourceType), sample.sourceType);
    p = writeUint32(out, putText(out, p, texts.sourceIndex), sample.sourceIndex);
    p = writeUint32(out, putText(out, p, texts.pool), view.getUint32(ratesAt + 4));
    p = writeUint32(out, putText(out, p, texts.drops), view.getUint32(ratesAt + 8));
    p = writeSides(out, p, sample);
    p = putText(out, p, texts.packets);
    p = writeStructures(out, p, sample);
    if (p < 0) return -1;
    p = writeUint32(out, putText(out, p, texts.bytes), frameLength);
    p = writePacket(out, p, view, outer, told.sourceVlan, outerTexts);
    if (sample.hasInner) p = writePacket(out, p, view, sample.packet.inner, -1, innerTexts);
    if (manualRate !== undefined || rate > 0) {
      p = writeEstimates(out, p, manualRate ?? rate, frameLength, 1);
      if (p < 0) return -1;
    }
    if (writeCommunityId !== undefined && outer.source >= 0) {
      p = writeCommunityId(
        out,
        p,
        view,
        outer.source,
        outer.destination,
        outer.ipVersion === 4 ? 4 : 16,
        outer.protocol,
        outer.sourcePort,
        outer.destinationPort,
        outer.icmpType,
        outer.icmpCode,
      );
    }
    p = writeAdditions(out, p, sample);
    return p < 0 ? -1 : putText(out, p, texts.lineEnd);
  };

  return {
    begin(of) {
      const { source, receivedAt, exporter, domain, sequence, uptime } = of;
      view = source.view;
      datagram = of;
      const { address } = exporter;
      return additions.use(address) && head.write(receivedAt, address, sequence, domain.id, uptime, domain.agent);
    },
    parse(position, at, end, isExpanded) {
      if (datagram === undefined) return false;
      const sample = samples[position] as ParsedFlowSample;
      if (!parseFlowSample(datagram.source.bytes, view, at, end, isExpanded, sample)) return false;
      const { ipVersion, source, destination } = sample.packet.outer;
      if (ipVersion === 4) {
        gather(sources4, view, source);
        gather(destinations4, view, destination);
      } else if (ipVersion === 6) {
        gather(sources6, view, source);
        gather(destinations6, view, destination);
      }
      return true;
    },
    touch() {
      for (let i = 0; i < gathered.length; i++) {
        const [object, of] = gathered[i] as (typeof gathered)[number];
        if (of.count > 1) {
          for (let j = 0; j < addresses.length; j++) {
            addresses[j]?.touch?.(object, of.view, 0, of.length, of.length, of.count);
          }
        }
        of.count = 0;
      }
    },
    write(position) {
      if (datagram === undefined) return false;
      const sample = samples[position] as ParsedFlowSample;
      const { sourceType, sourceIndex, ratesAt } = sample;
      const bytes = sample.end - ratesAt;
      const { exporter, domain, output } = datagram;
      const line = lines.open(head.length + additions.length() + room + bytes * structures.maxLengthPerByte);
      const lineEnd = writeLine(lines.view, line, sample, exporter.manualRate);
      if (lineEnd < 0) return false;
      lines.close(lineEnd);
      numbers.commit();
      output.set("flow_sample");
      output.sample(
        domain.samples.account(
          sourceKey(0, sourceType, sourceIndex),
          sequenceOf(view, sample),
          view.getUint32(ratesAt + 8),
          view.getUint32(ratesAt),
        ),
      );
      output.wrote(1);
      return true;
    },
    end() {
      additions.done();
      datagram = undefined;
    },
  };
}

/** The sequence number of a sample is its first field. */
function sequenceOf(view: DataView, { ratesAt, countAt }: ParsedFlowSample): number {
  return view.getUint32(ratesAt - (countAt - ratesAt > 20 ? 12 : 8));
}

/** Addresses of one family and end, one behind the other. */
interface Gathered {
  readonly view: DataView;
  readonly length: 4 | 16;
  count: number;
}

function createGathered(length: 4 | 16): Gathered {
  return { view: new DataView(new ArrayBuffer(maxAhead * length)), length, count: 0 };
}

function gather(into: Gathered, from: DataView, at: number): void {
  const { view, length } = into;
  const to = into.count++ * length;
  for (let i = 0; i < length; i += 4) view.setInt32(to + i, from.getInt32(at + i));
}
