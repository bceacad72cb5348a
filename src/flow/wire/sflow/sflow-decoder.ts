import type { RecordFields, Scalar } from "../../../record/index.ts";
import {
  type CounterType,
  type XdrLayout,
  padded,
  readLayout,
  StructureHex,
  type StructureOutcome,
  XdrReader,
} from "./xdr-reader.ts";
import { type RecordHead, createHeadField, createRecordHeads } from "../records/decoder.ts";
import { counterLayouts } from "./structures.gen.ts";
import { maxDatagram, SampleRecords, sampleProblem, type SampleContext, type SampleLines } from "./sample-records.ts";
import { hexOf } from "../steps/steps.ts";
import { formatAddressBytes } from "../../../base/ip/index.ts";
import { u32 } from "../packet/packet-header.ts";
import type { Datagram, DecodeOutput, Decoder } from "../records/decoder.ts";
import { noteHeader, noteUptime, type Domain } from "../../exporters/domain.ts";
import type { Exporter } from "../../exporters/exporter.ts";
import { accountSequence, possibleGap, sourceKey } from "../../exporters/sequence.ts";
import type { TimeFormat } from "../../elements/mapping/convert-type.ts";
import { FlowSampleReader } from "./read-flow-sample.ts";
import { canonicalAddress } from "../records/record-reader.ts";

/** A counter record that ends with a list of entries, which become arrays side by side. */
interface CounterTable {
  /** The fields that come before the entries. */
  readonly once: XdrLayout<CounterType>;
  /** Names of the arrays. */
  readonly columns: readonly string[];
  /** Reads one entry into rows; what would lie behind the end is refused by the reader. Returns whether a row has all of it. */
  readonly read: (reader: XdrReader, add: (row: readonly Scalar[]) => void) => boolean;
}

const lane = [
  "ids",
  "tx.bias.microamperes",
  "tx.power.microwatts",
  "tx.power_min.microwatts",
  "tx.power_max.microwatts",
  "tx.wavelength.nanometers",
  "rx.power.microwatts",
  "rx.power_min.microwatts",
  "rx.power_max.microwatts",
  "rx.wavelength.nanometers",
];

/** By format: optical modules ("sFlow Optical Interface Structures"), a host's adapters ("sFlow Host Structures"). */
export const counterTables: ReadonlyMap<number, CounterTable> = new Map([
  [
    10,
    {
      once: (
        [
          ["module.id", "uint32"],
          ["lanes.total", "uint32"],
          ["supply_voltage.millivolts", "uint32"],
          ["temperature.millicelsius", "int32"],
        ] satisfies [string, CounterType][]
      ).map(([name, type]) => [`optical.${name}`, type] as const),
      columns: lane.map((name) => `optical.lane.${name}`),
      read(reader, add) {
        add(lane.map(() => reader.uint32()));
        return true;
      },
    },
  ],
  [
    2001,
    {
      once: [],
      columns: ["host.adapter.netif.indexes", "host.adapter.mac.addrs"],
      /** An adapter has one address as a rule. Each makes a row; one that has none can make no row. */
      read(reader, add) {
        const index = reader.uint32();
        const addresses = reader.uint32();
        for (let i = 0; i < addresses && !reader.isCut; i++) {
          const mac = reader.value("mac");
          if (typeof mac === "string") add([index, mac]);
        }
        return addresses > 0;
      },
    },
  ],
]);

/** Puts a table into a record, unless it is cut. Each entry takes bytes, so that a claimed count means nothing. */
function readTable(reader: XdrReader, { once, columns, read }: CounterTable, record: RecordFields): StructureOutcome {
  const before = readLayout(reader, once, record);
  const count = reader.uint32();
  const rows: (readonly Scalar[])[] = [];
  let isWhole = columns.every((name) => !record.has(name));
  for (let i = 0; i < count && !reader.isCut; i++) isWhole = read(reader, (row) => void rows.push(row)) && isWhole;
  if (before === "cut" || reader.isCut) return "cut";
  if (isWhole && rows.length > 0) {
    columns.forEach((name, column) =>
      record.set(
        name,
        rows.map((row) => row[column] as Scalar),
      ),
    );
  }
  return isWhole && reader.left === 0 ? "whole" : "more";
}

const sourceKind = 1;

/** Reads samples that are no flows; each is a record of its own, which leaves at once. */
class CounterSampleReader {
  readonly #reader = new XdrReader();
  readonly #records = new SampleRecords();
  readonly #hex = new StructureHex();

  /** Makes one record of all counters of a sample. @param isExpanded whether the data source has two words. */
  readCounters(context: SampleContext, head: RecordHead, at: number, end: number, isExpanded: boolean): void {
    const { source, domain, output } = context;
    const { view } = source;
    const fixed = isExpanded ? 16 : 12;
    if (end - at < fixed) {
      sampleProblem(context, "cut_sample", { bytes: end - at });
      return;
    }
    const record: RecordFields = new Map(head);
    const sequence = view.getUint32(at);
    const first = view.getUint32(at + 4);
    const sourceType = isExpanded ? first : first >>> 24;
    const sourceIndex = isExpanded ? view.getUint32(at + 8) : first & 0xff_ffff;
    record.set("flow.record.type", "counters");
    record.set("flow.sample.sequence", sequence);
    record.set("flow.sample.source.type.id", sourceType);
    record.set("flow.sample.source.index", sourceIndex);
    output.sample(domain.samples.account(sourceKey(sourceKind, sourceType, sourceIndex), sequence, undefined, 0));
    const records = this.#records;
    records.locate(view, at + fixed - 4, end);
    let isCut = false;
    for (let i = 0; i < records.found; i++) {
      const key = records.keys[i] as number;
      const from = records.starts[i] as number;
      const to = records.ends[i] as number;
      this.#reader.reset(source, from, to);
      const outcome = this.#readStructure(key, record);
      if (outcome !== "whole") this.#hex.add("counters", key, from, to);
      if (outcome === "cut") isCut = true;
    }
    this.#hex.take((name, spans) => record.set(name, hexOf(spans, source)));
    records.check(context, isCut);
    output.counters(record);
  }

  /** Makes a record of a sample of a format that is not known, in hex. */
  readOther({ source, output }: SampleContext, head: RecordHead, key: number, at: number, end: number): void {
    const record: RecordFields = new Map(head);
    record.set("flow.record.type", "sample");
    this.#hex.add("sample", key, at, end);
    this.#hex.take((name, spans) => record.set(name, hexOf(spans, source)));
    output.counters(record);
  }

  /** @returns undefined for a format that is not known. */
  #readStructure(key: number, record: RecordFields): StructureOutcome | undefined {
    const table = counterTables.get(key);
    if (table !== undefined) return readTable(this.#reader, table, record);
    const layout = counterLayouts.get(key);
    return layout && readLayout(this.#reader, layout, record);
  }
}

/** Addresses come from the network: texts of this many are kept. */
const maxAgents = 1024;

/** Formats of samples, with the enterprise number 0. */
const sampleFormats = { flow: 1, counters: 2, expandedFlow: 3, expandedCounters: 4, discard: 5 } as const;

const oneDatagram = { counted: 1, flows: 1 } as const;
/** Samples that a datagram has at most where it is not a jumbo frame; for guessing how many may be missing. */
const samplesInDatagram = 16;

/** Says which samples become records. */
export interface SflowSamples {
  /** Sampled packets, discarded ones included. */
  readonly flows: boolean;
  readonly counters: boolean;
  /** True if flows keep the bytes of their sampled header. Default false. */
  readonly keepsHeaders?: boolean;
}

const bothKinds: SflowSamples = { flows: true, counters: true };

export interface SflowDecoderParts {
  readonly times: TimeFormat;
  /** Passes flow samples on. */
  readonly samples: SampleLines;
  /** Default: both. */
  readonly sflowSamples?: SflowSamples;
}

/** The header of a datagram. Offsets are in the datagram. */
interface Header {
  readonly agent: string | undefined;
  readonly subAgent: number;
  readonly sequence: number;
  readonly uptime: number;
  /** The number of samples that it claims. */
  readonly count: number;
  /** The offset at which the samples begin. */
  readonly end: number;
}

/** The number of fields at the end of the head of flows that other records do not have. */
const flowTimes = 2;

/**
 * sFlow version 5 (sflow.org/sflow_version_5.txt; XDR, RFC 4506): an agent's address, sub-agent, sequence number of datagrams and
 * uptime, then samples. Each flow sample is a flow of one packet, each counter sample one record with all its counters, each
 * discarded packet (sflow.org/sflow_drops.txt) a flow with the reason. Formats that are not known come out in hex.
 */
export class SflowDecoder implements Decoder {
  readonly #lines: SampleLines;
  readonly #keeps: SflowSamples;
  /** Made with the first sample, because its steps take time and memory, and most collectors receive no sFlow. */
  #flows: FlowSampleReader | undefined;
  readonly #counters = new CounterSampleReader();
  /** Texts of agents of IPv4. One has the same object each time: comparing it with that of the datagram before costs nothing then. */
  readonly #agents = new Map<number, string>();
  readonly #recordHead: ReturnType<typeof createRecordHeads>;
  readonly #agentField = createHeadField("flow.export.agent.ip.addr");
  readonly #startField = createHeadField("flow.start.timestamp");
  readonly #endField = createHeadField("flow.end.timestamp");
  /** The domain of the datagram before: samples of another domain do not wait together with its. */
  #lastDomain: Domain | undefined;

  constructor({ times, samples, sflowSamples = bothKinds }: SflowDecoderParts) {
    this.#lines = samples;
    this.#keeps = sflowSamples;
    this.#recordHead = createRecordHeads(times);
  }

  flush(): void {
    this.#lines.flush();
  }

  decode(datagram: Datagram, sender: Exporter, output: DecodeOutput): void {
    const header = this.#readHeader(datagram.bytes, sender, output);
    if (header === undefined) return;
    const exporter = sender.isRelay ? namedExporter(sender, header.agent, datagram.receivedAt) : sender;
    if (exporter === sender) {
      this.#decodeFrom(datagram, exporter, sender, header, output);
      return;
    }
    this.flush();
    output.from(exporter);
    this.#decodeFrom(datagram, exporter, sender, header, output);
    this.flush();
    output.from(sender);
  }

  #decodeFrom(datagram: Datagram, exporter: Exporter, sender: Exporter, header: Header, output: DecodeOutput): void {
    const lines = this.#lines;
    const domain = this.#account(datagram, exporter, header, output);
    const head = this.#headOf(datagram, exporter, domain, header);
    if (exporter !== sender) nameRelay(head, sender);
    const source = lines.begin(datagram.bytes, head, exporter.address, output);
    const context: SampleContext = { source, exporter, domain, output, rates: exporter.rates() };
    const { view } = source;
    const { count } = header;
    const length = lines.base + Math.min(maxDatagram, datagram.bytes.length);
    let at = lines.base + header.end;
    let found = 0;
    for (; found < count && length - at >= 8; found++) {
      const key = view.getUint32(at);
      const claimed = view.getUint32(at + 4);
      at += 8;
      if (claimed > length - at) {
        output.problem("bad_length", { exporter: exporter.address, claimed, bytes: length - at });
        this.#readSample(context, head, key, at, length);
        at = length;
      } else {
        this.#readSample(context, head, key, at, at + claimed);
        at = Math.min(length, at + padded(claimed));
      }
    }
    if (found < count || at < length) {
      this.flush();
      output.problem("bad_count", { exporter: exporter.address, samples: count, found, bytes: length - at });
    }
  }

  /** Notes what the header says. @returns the domain of the sub-agent. */
  #account(datagram: Datagram, exporter: Exporter, header: Header, output: DecodeOutput): Domain {
    const { receivedAt } = datagram;
    const { sequence, uptime, subAgent, agent } = header;
    const domain = exporter.domain("sflow", subAgent, undefined, agent);
    if (domain !== this.#lastDomain) this.flush();
    this.#lastDomain = domain;
    noteHeader(domain, datagram, undefined, uptime);
    const hasRestarted = noteUptime(domain, uptime);
    domain.samples.limit(samplesInDatagram * possibleGap(domain.sequence, receivedAt));
    const step = accountSequence(domain.sequence, sequence, oneDatagram, hasRestarted, receivedAt);
    if (step.event === "reset") domain.samples.restart();
    output.sequence(step);
    return domain;
  }

  #readSample(context: SampleContext, head: RecordHead, key: number, at: number, end: number): void {
    const { output } = context;
    switch (key) {
      case sampleFormats.flow:
      case sampleFormats.expandedFlow:
        output.set("flow_sample");
        if (this.#keeps.flows) this.#flowReader().readFlow(context, at, end, key === sampleFormats.expandedFlow);
        return;
      case sampleFormats.discard:
        output.set("discard_sample");
        if (this.#keeps.flows) this.#flowReader().readDiscard(context, at, end);
        return;
      case sampleFormats.counters:
      case sampleFormats.expandedCounters: {
        output.set("counter_sample");
        if (!this.#keeps.counters) return;
        // Records leave in the order in which they came.
        this.flush();
        const isExpanded = key === sampleFormats.expandedCounters;
        this.#counters.readCounters(context, head.slice(0, -flowTimes), at, end, isExpanded);
        return;
      }
      default:
        this.flush();
        output.set("other_sample");
        this.#counters.readOther(context, head.slice(0, -flowTimes), key, at, end);
    }
  }

  #flowReader(): FlowSampleReader {
    return (this.#flows ??= new FlowSampleReader(this.#lines, this.#keeps.keepsHeaders ?? false));
  }

  /** @returns undefined when there is none that can be used. */
  #readHeader(bytes: Buffer, exporter: Exporter, output: DecodeOutput): Header | undefined {
    const { length } = bytes;
    const family = length < 8 ? 0 : u32(bytes, 4);
    const start = 8 + (family === 0 ? 0 : family === 1 ? 4 : 16);
    if (length < start + 16) {
      output.problem("short_header", { exporter: exporter.address, bytes: length });
      return undefined;
    }
    if (family > 2) {
      output.problem("bad_agent", { exporter: exporter.address, family });
      return undefined;
    }
    return {
      agent: family === 0 ? undefined : family === 1 ? this.#agentText(bytes, 8) : formatAddressBytes(bytes, 8, 6),
      subAgent: u32(bytes, start),
      sequence: u32(bytes, start + 4),
      uptime: u32(bytes, start + 8),
      count: u32(bytes, start + 12),
      end: start + 16,
    };
  }

  #agentText(bytes: Buffer, at: number): string {
    const address = u32(bytes, at);
    const before = this.#agents.get(address);
    if (before !== undefined) return before;
    if (this.#agents.size >= maxAgents) this.#agents.clear();
    const text = formatAddressBytes(bytes, at, 4);
    this.#agents.set(address, text);
    return text;
  }

  /** Makes the head of flows. A packet is sampled when it passes, and sent soon after: its time is that of receipt. */
  #headOf(datagram: Datagram, exporter: Exporter, domain: Domain, { sequence, uptime }: Header): RecordHead {
    const head = this.#recordHead(datagram, exporter, {
      type: "sflow",
      version: 5,
      timestamp: undefined,
      sequence,
      domain: domain.id,
      uptime,
    });
    if (domain.agent !== undefined) head.push(this.#agentField(domain.agent));
    const time = head[0]?.[1] ?? "";
    head.push(this.#startField(time), this.#endField(time));
    return head;
  }
}

/** The agent, where its datagrams come by a relay. An address of zeros names nobody. */
function namedExporter(relay: Exporter, agent: string | undefined, now: number): Exporter {
  if (agent === undefined || agent === "0.0.0.0" || agent === "::") return relay;
  return relay.named(canonicalAddress(agent), now);
}

/** Puts the relay behind the exporter that it passes on. */
function nameRelay(head: RecordHead, { address }: Exporter): void {
  const at = head.findIndex(([name]) => name === "flow.export.ip.addr");
  head.splice(at + 1, 0, ["flow.export.relay.ip.addr", address]);
}
