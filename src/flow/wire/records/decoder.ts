import type { RecordFields, Scalar, Value } from "../../../record/index.ts";
import { toHex, type FieldSource, type TimeFormat } from "../../elements/mapping/convert-type.ts";
import {
  type Output,
  type Plan,
  type Presence,
  type Step,
  variableLength,
  type RecordContext,
} from "../../exporters/plan.ts";
import type { IcmpOrder, Exporter } from "../../exporters/exporter.ts";
import type { DomainOptions } from "../../exporters/options.ts";
import type { RateSources, RecordSampling, DoubtRate } from "../../exporters/sampling.ts";
import type { ListSource } from "./structured-data.ts";
import type { SampleStep, SequenceStep } from "../../exporters/sequence.ts";

/** The offsets of the fields of one record, by their position in the template. */
export interface FieldPlaces {
  readonly offsets: Int32Array;
  readonly lengths: Int32Array;
}

export function createFieldPlaces(fields: number): FieldPlaces {
  return { offsets: new Int32Array(fields), lengths: new Int32Array(fields) };
}

/**
 * Finds the fields of the record at `at`.
 *
 * @returns where the next record begins, -1 when this one does not fit.
 */
export function locateFields(plan: Plan, bytes: Uint8Array, at: number, end: number, places: FieldPlaces): number {
  const { offsets, lengths } = places;
  const count = plan.lengths.length;
  let position = at;
  for (let i = 0; i < count; i++) {
    let length = plan.lengths[i] as number;
    if (length === variableLength) {
      // RFC 7011 section 7: one byte, or 255 and two bytes.
      if (position >= end) return -1;
      length = bytes[position++] as number;
      if (length === 255) {
        if (position + 2 > end) return -1;
        length = ((bytes[position] as number) << 8) | (bytes[position + 1] as number);
        position += 2;
      }
    }
    offsets[i] = position;
    lengths[i] = length;
    position += length;
  }
  return position <= end ? position : -1;
}

/** Puts what one step of a plan makes of a record's bytes into the record. Whatever the bytes are, it does not throw. */
export function readStep(
  record: RecordFields,
  source: FieldSource,
  { kind, outputs, when }: Step,
  places: FieldPlaces,
): void {
  if (when !== undefined && !holds(source.bytes, when, places)) return;
  if (kind === "field") put(record, source, outputs[0], places);
  else if (kind === "list") putList(record, source, outputs, places);
  else putContest(record, source, outputs, places);
}

/** Tells whether all of these hold for the record whose fields have been located. */
function holds(bytes: Uint8Array, when: readonly Presence[], { offsets, lengths }: FieldPlaces): boolean {
  return when.every(({ fields, isSet: wanted }) => {
    const isPresent = fields.some((field) => {
      const at = offsets[field] as number;
      return !isZeroRange(bytes, at, at + (lengths[field] as number));
    });
    return isPresent === wanted;
  });
}

function isZeroRange(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (bytes[i] !== 0) return false;
  return true;
}

function put(record: RecordFields, source: FieldSource, output: Output, places: FieldPlaces): void {
  const at = places.offsets[output.field] as number;
  const length = places.lengths[output.field] as number;
  if (length === 0 && !output.takesEmpty) return;
  const value = output.convert(source, at, length);
  if (value !== undefined) record.set(output.name, value);
  else putFallback(record, source, output, places);
}

function putFallback(
  record: RecordFields,
  source: FieldSource,
  { field, fallback }: Output,
  { offsets, lengths }: FieldPlaces,
): void {
  const length = lengths[field] as number;
  if (fallback === undefined || length === 0) return;
  const at = offsets[field] as number;
  const value = fallback.convert(source, at, length);
  if (value !== undefined) record.set(fallback.name, value);
  else record.set(fallback.hexName, toHex(source, at, length) as string);
}

function putList(
  record: RecordFields,
  source: FieldSource,
  outputs: readonly Output[],
  { offsets, lengths }: FieldPlaces,
): void {
  const present = outputs.filter((output) => lengths[output.field] !== 0 || output.takesEmpty);
  const convertAll = (convert: (output: Output) => Output["convert"]): Scalar[] | undefined => {
    const values = present.map((output) =>
      convert(output)(source, offsets[output.field] as number, lengths[output.field] as number),
    );
    return values.every((value) => value !== undefined) ? (values as Scalar[]) : undefined;
  };
  const [first] = present;
  if (first === undefined) return;
  const values = convertAll((output) => output.convert);
  if (values !== undefined) {
    record.set(first.name, values);
    return;
  }
  const { fallback } = first;
  if (fallback === undefined) return;
  const plain = convertAll(() => fallback.convert);
  if (plain !== undefined) record.set(fallback.name, plain);
  else record.set(fallback.hexName, convertAll(() => toHex) ?? []);
}

function putContest(record: RecordFields, source: FieldSource, outputs: Step["outputs"], places: FieldPlaces): void {
  const winner = outputs.find((output) => isSet(source, output, places)) ?? outputs[0];
  for (const output of outputs) {
    if (output === winner) put(record, source, output, places);
    else putFallback(record, source, output, places);
  }
}

/** Tells whether the field has a value that is not all zero bytes. */
function isSet(source: FieldSource, { field, convert }: Output, { offsets, lengths }: FieldPlaces): boolean {
  const at = offsets[field] as number;
  const length = lengths[field] as number;
  return !isZeroRange(source.bytes, at, at + length) && convert(source, at, length) !== undefined;
}

/** One set (a FlowSet in NetFlow v9): its id and where its content lies. */
export interface SetRange {
  readonly id: number;
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  /** True if it claims more than is there. */
  readonly isCut: boolean;
}

interface SetsRead {
  readonly sets: readonly SetRange[];
  /** The end of the last of them. */
  readonly end: number;
  /** The length that cannot be, and where the walk met it; undefined when all was in order. */
  readonly problem: { readonly at: number; readonly length: number } | undefined;
}

const setHeader = 4;

/**
 * Finds the sets of a message (RFC 3954 section 5, RFC 7011 section 3.3). A set that claims more than is there ends with
 * the datagram: its whole records can be read. One that claims less than its own header ends the walk. Zeros to the end
 * are padding of the datagram.
 *
 * @param view the whole datagram.
 * @param end where the message ends by its header. Exporters that forget the padding of the last set in it are known, so
 *   that set may end behind it.
 */
export function readSets(view: DataView, start: number, end: number): SetsRead {
  const sets: SetRange[] = [];
  let at = start;
  while (at < end) {
    const hasHeader = end - at >= setHeader;
    const length = hasHeader ? view.getUint16(at + 2) : 0;
    if (length < setHeader) {
      return { sets, end: at, problem: isZero(view, at, end) ? undefined : { at, length } };
    }
    const isCut = at + length > view.byteLength;
    const next = isCut ? view.byteLength : at + length;
    sets.push({ id: view.getUint16(at), start: at + setHeader, end: next, isCut });
    if (isCut) return { sets, end: next, problem: { at, length } };
    at = next;
  }
  return { sets, end: at, problem: undefined };
}

/** Tells whether there are only zeros in a range. */
export function isZero(view: DataView, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (view.getUint8(i) !== 0) return false;
  return true;
}

const wordBytes = 4;

/**
 * Tells whether what is behind the last whole record of a set is no padding (RFC 3954 section 5.3, RFC 7011 section 3.3.1: zeros). Then the
 * records have another layout than the template that is known. What fills up a set to words is padding, whatever is in it: some exporters
 * leave in it what was there.
 */
export function isForeignRest(bytes: Uint8Array, start: number, end: number, length: number): boolean {
  const rest = (end - start) % length;
  if (rest < wordBytes && (end - start) % wordBytes === 0) return false;
  return !isZeroBytes(bytes, end - rest, end);
}

/**
 * Returns how many records at the end of a set are zeros, but for the first of the set. NX-OS fills up sets of NetFlow v9 with so many
 * zeros that these are whole records; as far as the header counts fewer records than there seem to be, they are none.
 */
export function zeroRecords(bytes: Uint8Array, start: number, end: number, length: number): number {
  if (length < wordBytes) return 0;
  let at = end - ((end - start) % length);
  let zeros = 0;
  while (at - length > start && isZeroBytes(bytes, at - length, at)) {
    zeros++;
    at -= length;
  }
  return zeros;
}

function isZeroBytes(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = end - 1; i >= start; i--) if (bytes[i] !== 0) return false;
  return true;
}

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
  /** Milliseconds that the exporter's clock is ahead; 0: it agrees, or nobody knows. */
  readonly clockOffset?: number;
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
  const clockOffset = createHeadField("flow.export.clock.offset");
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
    if ((header.clockOffset ?? 0) !== 0) head.push(clockOffset(header.clockOffset ?? 0));
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
