import type { IcmpOrder, Exporter } from "../../exporters/exporter.ts";
import type { DomainOptions } from "../../exporters/options.ts";
import type { RateSources, RecordSampling, DoubtRate } from "../../exporters/sampling.ts";
import type { ListSource } from "./structured-data.ts";
import type { RecordContext, Plan } from "../../exporters/plan.ts";
import type { Value, RecordFields } from "../../../record/index.ts";
import type { TimeFormat } from "../../elements/mapping/convert-type.ts";
import type { SampleStep, SequenceStep } from "../../exporters/sequence.ts";

/** Part of a datagram. */
export interface ByteRange {
  readonly bytes: Buffer;
  readonly start: number;
  /** Exclusive, not behind the end of `bytes`. */
  readonly end: number;
}

export interface ReadResult {
  /** Records that were read whole. */
  readonly count: number;
  /** True if a record's variable lengths ran past the end of the set; it and what is behind it cannot be read. */
  readonly isCut: boolean;
}

/** Holds what was said before of the exporter and the domain that records are of. */
export interface FlowSources {
  /** The operator's sampling rate, or that of a header which speaks for its datagram. */
  readonly manualRate: number | undefined;
  /** The operator's for an exporter that says none. */
  readonly fallbackRate: number | undefined;
  readonly own: DomainOptions | undefined;
  readonly whole: DomainOptions | undefined;
  /** True if records of the domain name samplers. Left out: none does. */
  readonly hasSamplers?: boolean;
  /** Is called with an impossible rate of a record. */
  readonly doubt?: DoubtRate | undefined;
  /** Undefined: it is not learned. */
  readonly icmp: IcmpOrder | undefined;
  /** For plans with lists. */
  readonly lists: ListSource | undefined;
}

/** Flow samples of sFlow: written by the kernel alone, or completed by enrichers, which is slower. */
export interface PathCounts {
  compiled: number;
  interpreted: number;
}

/** Reads flow records and passes them on, enriched, as lines. */
export interface FlowReader {
  /** As {@link RecordReader.read}. */
  read(plan: Plan, range: ByteRange, context: RecordContext, sources: FlowSources, output: DecodeOutput): ReadResult;
}

export function rateSources(sources: FlowSources): RateSources {
  const { manualRate, fallbackRate, own, whole, hasSamplers = false, doubt } = sources;
  return { manualRate, fallbackRate, own: own?.sampling, whole: whole?.sampling, hasSamplers, doubt };
}

/** Returns what is known of the records of a plan. */
export function recordSampling({ namesSampling, template }: Plan): RecordSampling {
  return { namesSampling, templateId: template.id };
}

/** When the exporter started, where its options say so. */
export function bootTimeOf({ own, whole }: FlowSources): number | undefined {
  return own?.bootTime ?? whole?.bootTime;
}

/** The fields that the header of a datagram gives to each of its records. */
interface HeaderFields {
  readonly type: "netflow" | "ipfix" | "sflow";
  readonly version: number;
  /** RFC 3339; undefined when the header's time cannot be written so. */
  readonly timestamp: string | undefined;
  /** Undefined where the protocol has none. */
  readonly sequence: number | undefined;
  /** Source ID, observation domain or sub-agent, where the protocol has it. */
  readonly domain?: number;
  /** Milliseconds, where the protocol has it. */
  readonly uptime?: number;
}

/** A field of the head. Two heads may have the same object: who finds it in both need not compare. */
type HeadField = readonly [name: string, value: Value];

/** The first fields of every record of a datagram, in order. */
export type RecordHead = HeadField[];

/** Makes the first fields of every record of a datagram. */
type RecordHeads = (datagram: Datagram, exporter: Exporter, header: HeaderFields) => RecordHead;

/** A field whose value is mostly that of the datagram before: its object is then the same. */
export function createHeadField(name: string): (value: Value) => HeadField {
  let last: HeadField = [name, ""];
  return (value) => (last[1] === value ? last : (last = [name, value]));
}

export function createRecordHeads(times: TimeFormat): RecordHeads {
  const received = createHeadField("@timestamp");
  const address = createHeadField("flow.export.ip.addr");
  const protocol = createHeadField("flow.export.type");
  const version = createHeadField("flow.export.version.ver");
  const versionName = createHeadField("flow.export.version.name");
  const timestamp = createHeadField("flow.export.timestamp");
  const domain = createHeadField("flow.export.domain.id");
  const uptime = createHeadField("flow.export.uptime");
  return (datagram, exporter, header) => {
    const head: RecordHead = [
      received(times.milliseconds(Math.trunc(datagram.receivedAt)) ?? ""),
      address(exporter.address),
      protocol(header.type),
      version(header.version),
      versionName(versionNames[header.type][header.version] ?? ""),
    ];
    if (header.timestamp !== undefined) head.push(timestamp(header.timestamp));
    if (header.sequence !== undefined) head.push(["flow.export.sequence", header.sequence]);
    if (header.domain !== undefined) head.push(domain(header.domain));
    if (header.uptime !== undefined) head.push(uptime(header.uptime));
    return head;
  };
}

/** As people write them: IPFIX has no version but one. The same texts each time, so that those of two datagrams are compared at once. */
const versionNames: Readonly<Record<HeaderFields["type"], Readonly<Record<number, string>>>> = {
  netflow: { 1: "NetFlow v1", 5: "NetFlow v5", 7: "NetFlow v7", 9: "NetFlow v9" },
  ipfix: { 10: "IPFIX" },
  sflow: { 5: "sFlow v5" },
};

/** A datagram as it was received. */
export interface Datagram {
  readonly bytes: Buffer;
  /** The sender's port, with its session where it has one (`sessionPort`). */
  readonly port: number;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
}

/** Why something of a datagram was not decoded, and what the log says of it. */
export const dropReasons = {
  unknown_protocol: "flow datagram dropped: its first bytes are of no known protocol",
  unsupported: "flow datagram dropped: its protocol is not supported",
  disabled: "flow datagram dropped: its protocol is turned off",
  short_header: "flow datagram dropped: shorter than its header",
  bad_length: "flow datagram: a length does not match what is there",
  bad_count: "flow datagram: its record count does not match what is there",
  reserved_set: "flow set skipped: its id is reserved",
  bad_template: "flow template refused: malformed",
  template_limit: "flow template refused: too many fields",
  cut_record: "rest of a flow set dropped: a record runs past its end",
  wrong_template: "flow set kept back: it does not fit its template, so another one is to come",
  no_template: "flow set dropped: its template is not known and no room is left to wait for it",
  list_template: "flow list kept as bytes: its template is not known",
  bad_list: "flow list kept as bytes: malformed",
  bad_agent: "sFlow datagram dropped: the address of its agent is of no known family",
  cut_sample: "sFlow sample dropped or cut: it ends within a field",
  internal: "flow datagram dropped: internal error",
} as const;
export type DropReason = keyof typeof dropReasons;

export const templateChanges = ["added", "refreshed", "changed", "withdrawn"] as const;
export type TemplateChange = (typeof templateChanges)[number];

export const setKinds = [
  "template",
  "options_template",
  "data",
  "flow_sample",
  "counter_sample",
  "discard_sample",
  "other_sample",
] as const;
export type SetKind = (typeof setKinds)[number];

/** Values for a log line. */
export type Detail = Readonly<Record<string, string | number>>;

/** Takes what a decoder finds in a datagram, in the order in which it is there. */
export interface DecodeOutput {
  /** Says that what follows is of this exporter: the sender, or one that a relay names. */
  from(exporter: Exporter): void;
  /** Records name another exporter, and their sender is no relay. */
  claimed(records: number): void;
  /** This many flows have become lines. */
  wrote(flows: number): void;
  /** A record of options data. The record is the taker's. */
  options(record: RecordFields): void;
  /** Counters of an interface, a host or an application (sFlow). The record is the taker's. */
  counters(record: RecordFields): void;
  /** A sampling rate cannot be. Needs no `this`. */
  readonly doubt: DoubtRate;
  /** A set or sample that is being decoded. */
  set(kind: SetKind): void;
  template(change: TemplateChange): void;
  /** Something cannot be decoded. What came before it was passed on. */
  problem(reason: DropReason, detail: Detail): void;
  /** A data set is kept until its template comes. */
  waiting(detail: Detail): void;
  /** A data set is kept until other collectors were asked about its exporter. */
  held(): void;
  /** Sets that waited for their template have been decoded. */
  replayed(sets: number): void;
  /** Takes what the sequence numbers of a sample show. */
  sample(step: Readonly<SampleStep>): void;
  /** Takes what the sequence number of a datagram shows. */
  sequence(step: SequenceStep): void;
}

/**
 * Decodes datagrams of one protocol. What one datagram says for later ones (templates, options, sequence) is kept in the
 * exporter and nowhere else. Whatever the bytes are, a decoder does not throw, reads nothing outside them, and allocates
 * by what is there, never by a length that they claim.
 */
export interface Decoder {
  decode(datagram: Datagram, exporter: Exporter, output: DecodeOutput): void;
  /**
   * Passes on what of the datagrams of one exporter waits for more, to the output that it came with. To be called before another exporter's,
   * and before another decoder has one. Left out: nothing waits.
   */
  flush?(): void;
  /** Decodes the data sets of an exporter that wait and whose templates are known by now, milliseconds since the epoch. */
  replay?(exporter: Exporter, output: DecodeOutput, now: number): void;
}
