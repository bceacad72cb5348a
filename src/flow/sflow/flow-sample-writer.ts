import { lineObjects, type LineBuffer, type LineEnricher } from "../../record/index.ts";
import { createExporterAdditions } from "../compiled/exporter-additions.ts";
import { lineText, nameText, putText } from "../compiled/line-text.ts";
import { createNumberWriter } from "../compiled/number-writer.ts";
import { writeEstimates } from "../compiled/write-estimates.ts";
import { copyText, writeUint32 } from "../compiled/write-values.ts";
import type { DecodeOutput } from "../decoder.ts";
import type { Domain } from "../exporter/domain.ts";
import type { Exporter } from "../exporter/exporter.ts";
import { sourceKey } from "../exporter/sample-sources.ts";
import { communityIdLength, type WriteCommunityId } from "../kernel/community-id-writer.ts";
import { innerNames, outerNames } from "../packet/put-packet.ts";
import { innerTexts, maxPacketLength, outerTexts, writePacket } from "../packet/write-packet.ts";
import { flowFormats } from "./flow-record-layouts.ts";
import { createGatheredAddresses } from "./gathered-addresses.ts";
import { createParsedFlowSample, parseFlowSample, type ParsedFlowSample } from "./parse-flow-sample.ts";
import { createSflowHead } from "./sflow-head.ts";
import { interfaceNames, writeInterfaces } from "./write-interfaces.ts";
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

const texts = {
  sequence: nameText("flow.sample.sequence"),
  sourceType: nameText("flow.sample.source.type.id"),
  sourceIndex: nameText("flow.sample.source.index"),
  pool: nameText("flow.sample.pool"),
  drops: nameText("flow.sample.drops"),
  packets: nameText("flow.packets", "1"),
  bytes: nameText("flow.bytes"),
  lineEnd: lineText("}\n"),
} as const;

/** Names in lines beside those of packets and structures. */
const ownNames = [
  "@timestamp",
  "flow.start.timestamp",
  "flow.end.timestamp",
  "flow.packets",
  "flow.bytes",
  "flow.sample_rate",
  "flow.scaled.bytes",
  "flow.scaled.packets",
  "flow.community.id",
  ...["ip.addr", "type", "version.ver", "sequence", "domain.id", "uptime", "agent.ip.addr"].map(
    (name) => `flow.export.${name}`,
  ),
  ...["sequence", "source.type.id", "source.index", "pool", "drops"].map((name) => `flow.sample.${name}`),
  ...interfaceNames,
];

/** Numbers that an enricher may add something to; the first two are {@link interfaceNumbers}. */
const numberNames = [
  "flow.in.netif.index",
  "flow.out.netif.index",
  "ip.dscp.id",
  "l4.proto.id",
  "flow.src.l4.port.id",
  "flow.dst.l4.port.id",
] as const;

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
  const gathered = createGatheredAddresses(maxAhead);
  let view: DataView = new DataView(new ArrayBuffer(0));
  let datagram: SampleDatagram | undefined;

  const writeStructures = (out: DataView, at: number, { countAt, end, packet }: ParsedFlowSample): number => {
    structures.begin(packet.outer.outerTag);
    let p = at;
    let position = countAt + 4;
    while (position < end) {
      const key = view.getUint32(position);
      const length = view.getUint32(position + 4);
      position += 8;
      if (key !== flowFormats.header) {
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
        p = ofAddress.append(lineObjects.src, view, source, length, hasSourceVlan, out, p, told.sourceSystem);
        if (p < 0) return -1;
        p = ofAddress.append(
          lineObjects.dst,
          view,
          destination,
          length,
          told.destinationVlan >= 0,
          out,
          p,
          told.destinationSystem,
        );
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
    p = writeUint32(out, putText(out, p, texts.sequence), sample.sequence);
    p = writeUint32(out, putText(out, p, texts.sourceType), sample.sourceType);
    p = writeUint32(out, putText(out, p, texts.sourceIndex), sample.sourceIndex);
    p = writeUint32(out, putText(out, p, texts.pool), view.getUint32(ratesAt + 4));
    p = writeUint32(out, putText(out, p, texts.drops), view.getUint32(ratesAt + 8));
    p = writeInterfaces(out, p, view, sample, values);
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
      gathered.add(view, sample.packet.outer);
      return true;
    },
    touch: () => gathered.touch(addresses),
    write(position) {
      if (datagram === undefined) return false;
      const sample = samples[position] as ParsedFlowSample;
      const { sourceType, sourceIndex, ratesAt, structureLength } = sample;
      const { exporter, domain, output } = datagram;
      const line = lines.open(head.length + additions.length() + room + structureLength * structures.maxLengthPerByte);
      const lineEnd = writeLine(lines.view, line, sample, exporter.manualRate);
      if (lineEnd < 0) return false;
      lines.close(lineEnd);
      numbers.commit();
      output.set("flow_sample");
      output.sample(
        domain.samples.account(
          sourceKey(0, sourceType, sourceIndex),
          sample.sequence,
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
