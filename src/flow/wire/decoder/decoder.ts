import type { RecordFields } from "../../../record/index.ts";
import type { Exporter } from "../../exporters/exporter.ts";
import type { DoubtRate } from "../../exporters/sampling/record-rate.ts";
import type { SampleStep } from "../../exporters/sequence/sample-sources.ts";
import type { SequenceStep } from "../../exporters/sequence/sequence.ts";

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

/** What the plan of a record says of who began the flow. */
export interface Began {
  /** The record counts what initiator and responder sent: the source of the whole flow is the initiator. */
  readonly hasInitiator: boolean;
  /** The record is of the other direction. */
  readonly isReverse: boolean;
  /** The kernel decided already which end is the client: the same is not to be learnt and counted again. */
  readonly isDecided?: boolean;
}

/** What a decoder finds in a datagram, in the order in which it is there. */
export interface DecodeOutput {
  /** A flow, complete but for what enrichment adds and what is said of both ends. The record is the taker's. */
  flow(record: RecordFields, began?: Began): void;
  /** What follows is of this exporter: the sender, or one that a relay names. */
  from(exporter: Exporter): void;
  /** Records name another exporter, and their sender is no relay. */
  claimed(records: number): void;
  /** This many flows have become lines already, without being records. */
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
  /** What the sequence numbers of a sample show. */
  sample(step: Readonly<SampleStep>): void;
  /** What the sequence number of a datagram shows. */
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
