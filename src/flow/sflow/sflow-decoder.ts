import { formatAddressBytes } from "../../ip/index.ts";
import type { RecordFields } from "../../record/index.ts";
import { completeFlow } from "../complete-flow.ts";
import type { PathCounts } from "../compiled/flow-reader.ts";
import type { Datagram, DecodeOutput, Decoder, Detail, SetKind } from "../decoder.ts";
import { noteUptime, type Domain } from "../exporter/domain.ts";
import type { Exporter } from "../exporter/exporter.ts";
import { sourceKey } from "../exporter/sample-sources.ts";
import { accountSequence } from "../exporter/sequence.ts";
import type { TimeFormat } from "../mapping/time-format.ts";
import { recordHead, type RecordHead } from "../record-head.ts";
import { counterLayouts } from "./counter-layouts.ts";
import { counterTables, readTable } from "./counter-tables.ts";
import { maxAhead, type FlowSampleWriter } from "./flow-sample-writer.ts";
import { putHex } from "./put-hex.ts";
import { putDirection, putDropReason, putInterface } from "./put-interface.ts";
import { createFlowRecordReader } from "./read-flow-records.ts";
import { createXdrReader, padded, readLayout, type LayoutResult, type XdrSource } from "./xdr-layout.ts";

/** Formats of samples, with the enterprise number 0. */
const sampleFormats = { flow: 1, counters: 2, expandedFlow: 3, expandedCounters: 4, discard: 5 } as const;

const oneDatagram = { counted: 1, flows: 1 } as const;

export interface SflowDecoderParts {
  readonly times: TimeFormat;
  /** Writes the lines of everyday samples; undefined: all become fields. */
  readonly samples: FlowSampleWriter | undefined;
  readonly counts: PathCounts;
}

/** What the samples of one datagram have in common. */
interface SampleContext {
  readonly source: XdrSource;
  readonly exporter: Exporter;
  readonly domain: Domain;
  readonly output: DecodeOutput;
  /** Fields of every record, and more of those of flows. */
  readonly head: RecordHead;
  readonly flowHead: RecordHead;
}

/**
 * sFlow version 5 (sflow.org/sflow_version_5.txt; XDR, RFC 4506): an agent's address, sub-agent, sequence number of datagrams and
 * uptime, then samples. Each flow sample is a flow of one packet, each counter sample one record with all its counters, each
 * discarded packet (sflow.org/sflow_drops.txt) a flow with the reason. Formats that are not known come out in hex.
 */
export function createSflowDecoder({ times, samples, counts }: SflowDecoderParts): Decoder {
  const reader = createXdrReader();
  const flowRecords = createFlowRecordReader(reader);

  const problem = (context: SampleContext, reason: "cut_sample" | "bad_count", detail: Detail): void =>
    context.output.problem(reason, {
      exporter: context.exporter.address,
      agent: context.domain.agent ?? "",
      ...detail,
    });

  /** Goes through the records of a sample: a count, then format, length and content of each. */
  const eachRecord = (
    context: SampleContext,
    at: number,
    end: number,
    read: (key: number, from: number, to: number) => boolean,
  ): void => {
    const { view } = context.source;
    let position = at + 4;
    let isCut = position > end;
    const count = isCut ? 0 : view.getUint32(at);
    let found = 0;
    for (; found < count && end - position >= 8; found++) {
      const key = view.getUint32(position);
      const length = view.getUint32(position + 4);
      position += 8;
      const isShort = length > end - position;
      const to = isShort ? end : position + length;
      if (read(key, position, to) || isShort) isCut = true;
      position = isShort ? end : Math.min(end, position + padded(length));
    }
    if (isCut || found < count) problem(context, "cut_sample", { records: count, found });
    else if (position < end) problem(context, "bad_count", { records: count, bytes: end - position });
  };

  const readFlow = (context: SampleContext, at: number, end: number, isExpanded: boolean): void => {
    const { source, exporter, domain, output } = context;
    const { view } = source;
    const fixed = isExpanded ? 44 : 32;
    if (end - at < fixed) {
      problem(context, "cut_sample", { bytes: end - at });
      return;
    }
    const record: RecordFields = newRecord(context.flowHead);
    const sequence = view.getUint32(at);
    // The compact form has the type of a data source in eight bits, the kind of an interface in two.
    let position = at + 4;
    let sourceType = view.getUint32(position);
    let sourceIndex = sourceType & 0xffffff;
    if (isExpanded) sourceIndex = view.getUint32((position += 4));
    else sourceType >>>= 24;
    const rate = view.getUint32(position + 4);
    const pool = view.getUint32(position + 8);
    const drops = view.getUint32(position + 12);
    position += 16;
    putSample(record, sequence, sourceType, sourceIndex);
    record.set("flow.sample.pool", pool);
    record.set("flow.sample.drops", drops);
    const step = isExpanded ? 8 : 4;
    const input = putSide(record, view, position, "in", isExpanded);
    const sink = putSide(record, view, position + step, "out", isExpanded);
    position += 2 * step;
    putDirection(record, sourceType, sourceIndex, input, sink);
    output.sample(domain.samples.account(sourceKey(0, sourceType, sourceIndex), sequence, drops, rate));
    readFlowRecords(context, record, position, end);
    completeFlow(record, exporter.manualRate ?? (rate > 0 ? rate : undefined));
    counts.interpreted++;
    output.flow(record);
  };

  const readFlowRecords = (context: SampleContext, record: RecordFields, at: number, end: number): void => {
    record.set("flow.packets", 1);
    flowRecords.begin(context.source);
    eachRecord(context, at, end, (key, from, to) => flowRecords.read(record, key, from, to));
    flowRecords.finish(record);
  };

  /** Every discarded packet is told, as far as the agent's limit allows: there is no rate. */
  const readDiscard = (context: SampleContext, at: number, end: number): void => {
    const { source, domain, output } = context;
    const { view } = source;
    if (end - at < 32) {
      problem(context, "cut_sample", { bytes: end - at });
      return;
    }
    const record: RecordFields = newRecord(context.flowHead);
    record.set("flow.record.type", "discard");
    const sequence = view.getUint32(at);
    const sourceType = view.getUint32(at + 4);
    const sourceIndex = view.getUint32(at + 8);
    const drops = view.getUint32(at + 12);
    putSample(record, sequence, sourceType, sourceIndex);
    record.set("flow.sample.drops", drops);
    const input = putInterface(record, "in", 0, view.getUint32(at + 16));
    const sink = putInterface(record, "out", 0, view.getUint32(at + 20));
    putDropReason(record, view.getUint32(at + 24));
    putDirection(record, sourceType, sourceIndex, input, sink);
    output.sample(domain.samples.account(sourceKey(2, sourceType, sourceIndex), sequence, drops, 0));
    readFlowRecords(context, record, at + 28, end);
    completeFlow(record, undefined);
    counts.interpreted++;
    output.flow(record);
  };

  /** Undefined for a format that is not known. */
  const readStructure = (key: number, record: RecordFields): LayoutResult | undefined => {
    const table = counterTables.get(key);
    if (table !== undefined) return readTable(reader, table, record);
    const layout = counterLayouts.get(key);
    return layout && readLayout(reader, layout, record);
  };

  const readCounters = (context: SampleContext, at: number, end: number, isExpanded: boolean): void => {
    const { source, domain, output } = context;
    const { view } = source;
    const fixed = isExpanded ? 16 : 12;
    if (end - at < fixed) {
      problem(context, "cut_sample", { bytes: end - at });
      return;
    }
    const record: RecordFields = newRecord(context.head);
    record.set("flow.record.type", "counters");
    const sequence = view.getUint32(at);
    const first = view.getUint32(at + 4);
    const sourceType = isExpanded ? first : first >>> 24;
    const sourceIndex = isExpanded ? view.getUint32(at + 8) : first & 0xffffff;
    putSample(record, sequence, sourceType, sourceIndex);
    output.sample(domain.samples.account(sourceKey(1, sourceType, sourceIndex), sequence, undefined, 0));
    eachRecord(context, at + fixed - 4, end, (key, from, to) => {
      reader.reset(source, from, to);
      const result = readStructure(key, record);
      if (result?.isWhole !== true) putHex(record, "counters", key, source.bytes, from, to);
      return result?.isCut === true;
    });
    output.counters(record);
  };

  const readSample = (context: SampleContext, key: number, at: number, end: number): void => {
    const { output, source } = context;
    const kind = sampleKinds.get(key);
    output.set(kind ?? "other_sample");
    if (kind === "flow_sample") readFlow(context, at, end, key === sampleFormats.expandedFlow);
    else if (kind === "counter_sample") readCounters(context, at, end, key === sampleFormats.expandedCounters);
    else if (kind === "discard_sample") readDiscard(context, at, end);
    else {
      const record: RecordFields = newRecord(context.head);
      record.set("flow.record.type", "sample");
      putHex(record, "sample", key, source.bytes, at, end);
      output.counters(record);
    }
  };

  /** Samples that wait until some more are known, so that what their addresses add is looked for together. */
  const waiting = {
    keys: new Uint32Array(maxAhead),
    starts: new Uint32Array(maxAhead),
    ends: new Uint32Array(maxAhead),
    /** 1: can be written. */
    isParsed: new Uint8Array(maxAhead),
    count: 0,
  };

  const readWaiting = (datagram: SampledDatagram): void => {
    const { keys, starts, ends, isParsed, count } = waiting;
    waiting.count = 0;
    const writer = datagram.canWrite ? samples : undefined;
    for (let i = 0; i < count; i++) {
      const key = keys[i] as number;
      const isFlow = key === sampleFormats.flow || key === sampleFormats.expandedFlow;
      isParsed[i] =
        isFlow && writer?.parse(i, starts[i] as number, ends[i] as number, key === sampleFormats.expandedFlow) === true
          ? 1
          : 0;
    }
    writer?.touch();
    for (let i = 0; i < count; i++) {
      if (isParsed[i] === 1) {
        if (writer?.write(i) === true) {
          counts.compiled++;
          continue;
        }
        counts.careful++;
      }
      readSample(datagram.context(), keys[i] as number, starts[i] as number, ends[i] as number);
    }
  };

  return {
    decode(datagram, exporter, output) {
      const { bytes } = datagram;
      const { length } = bytes;
      const view = new DataView(bytes.buffer, bytes.byteOffset, length);
      const family = length < 8 ? 0 : view.getUint32(4);
      const addressLength = family === 0 ? 0 : family === 1 ? 4 : 16;
      const start = 8 + addressLength;
      if (length < start + 16) {
        output.problem("short_header", { exporter: exporter.address, bytes: length });
        return;
      }
      if (family > 2) {
        output.problem("bad_agent", { exporter: exporter.address, family });
        return;
      }
      const agent = family === 0 ? undefined : formatAddressBytes(bytes, 8, family === 1 ? 4 : 6);
      const subAgent = view.getUint32(start);
      const sequence = view.getUint32(start + 4);
      const uptime = view.getUint32(start + 8);
      const count = view.getUint32(start + 12);
      const domain = exporter.domain("sflow", subAgent, undefined, agent);
      const hasRestarted = noteUptime(domain, uptime);
      if (hasRestarted) domain.samples.restart();
      output.sequence(accountSequence(domain.sequence, sequence, oneDatagram, hasRestarted, datagram.receivedAt));

      const source = { bytes, view };
      let context: SampleContext | undefined;
      const { receivedAt } = datagram;
      const sampled: SampledDatagram = {
        canWrite: samples?.begin({ source, receivedAt, exporter, domain, sequence, uptime, output }) === true,
        context: () =>
          (context ??= createContext(times, datagram, { source, exporter, domain, output, sequence, uptime })),
      };
      let at = start + 16;
      let found = 0;
      waiting.count = 0;
      for (; found < count && length - at >= 8; found++) {
        const key = view.getUint32(at);
        const claimed = view.getUint32(at + 4);
        at += 8;
        if (claimed > length - at) {
          readWaiting(sampled);
          output.problem("bad_length", { exporter: exporter.address, claimed, bytes: length - at });
          readSample(sampled.context(), key, at, length);
          at = length;
        } else {
          const place = waiting.count++;
          waiting.keys[place] = key;
          waiting.starts[place] = at;
          waiting.ends[place] = at + claimed;
          if (waiting.count === maxAhead) readWaiting(sampled);
          at = Math.min(length, at + padded(claimed));
        }
      }
      readWaiting(sampled);
      samples?.end();
      if (found < count || at < length) {
        output.problem("bad_count", { exporter: exporter.address, samples: count, found, bytes: length - at });
      }
    },
  };
}

const sampleKinds: ReadonlyMap<number, SetKind> = new Map([
  [sampleFormats.flow, "flow_sample"],
  [sampleFormats.expandedFlow, "flow_sample"],
  [sampleFormats.counters, "counter_sample"],
  [sampleFormats.expandedCounters, "counter_sample"],
  [sampleFormats.discard, "discard_sample"],
]);

interface SampledDatagram {
  /** Whether its samples can be written without fields. */
  readonly canWrite: boolean;
  /** Made when the first sample needs it. */
  context(): SampleContext;
}

interface ContextParts {
  readonly source: XdrSource;
  readonly exporter: Exporter;
  readonly domain: Domain;
  readonly output: DecodeOutput;
  readonly sequence: number;
  readonly uptime: number;
}

/** A packet is sampled when it passes, and sent soon after: its time is that of receipt. */
function createContext(times: TimeFormat, datagram: Datagram, parts: ContextParts): SampleContext {
  const { source, exporter, domain, output, sequence, uptime } = parts;
  const head = recordHead(times, datagram, exporter, {
    type: "sflow",
    version: 5,
    timestamp: undefined,
    sequence,
    domain: domain.id,
    uptime,
  });
  if (domain.agent !== undefined) head.push(["flow.export.agent.ip.addr", domain.agent]);
  const time = head[0]?.[1] ?? "";
  const flowHead: RecordHead = [...head, ["flow.start.timestamp", time], ["flow.end.timestamp", time]];
  return { source, exporter, domain, output, head, flowHead };
}

function newRecord(head: RecordHead): RecordFields {
  const record: RecordFields = new Map();
  for (let i = 0; i < head.length; i++) {
    const field = head[i] as RecordHead[number];
    record.set(field[0], field[1]);
  }
  return record;
}

/** Puts one interface of a flow sample: the kind in the upper two bits, or in a word of its own. */
function putSide(record: RecordFields, view: DataView, at: number, side: "in" | "out", isExpanded: boolean): number {
  const first = view.getUint32(at);
  return isExpanded
    ? putInterface(record, side, first, view.getUint32(at + 4))
    : putInterface(record, side, first >>> 30, first & 0x3fff_ffff);
}

function putSample(record: RecordFields, sequence: number, sourceType: number, sourceIndex: number): void {
  record.set("flow.sample.sequence", sequence);
  record.set("flow.sample.source.type.id", sourceType);
  record.set("flow.sample.source.index", sourceIndex);
}
