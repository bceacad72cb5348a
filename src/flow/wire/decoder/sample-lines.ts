import type { DecodeOutput } from "./decoder.ts";
import type { RecordHead } from "./record-head.ts";
import type { CounterNames } from "../../elements/mapping/counter-names.ts";
import type { Step, StepBook } from "../steps/step-book.ts";
import type { StepList } from "../steps/step-list.ts";
import type { ByteSource } from "../steps/step-value.ts";

/** Longer datagrams there are none. */
export const maxDatagram = 65_535;

/** Lists the steps of a sample. */
export interface SampleLister {
  /** Adds the steps of the sample from one place to another, of a form, and says where its addresses are. */
  list(form: number, at: number, end: number): void;
}

/** What the kernel lists by itself, by the numbers that its layout has. */
export interface ListedSteps {
  readonly ofSample: readonly (readonly [number: number, step: Step])[];
  readonly ofPacket: readonly (readonly [number: number, step: Step])[];
  readonly structures: readonly ListedStructure[];
}

/** A structure whose fields have fixed places. */
export interface ListedStructure {
  readonly format: number;
  readonly length: number;
  readonly step: Step;
  /** All but its first field. */
  readonly rest: Step | undefined;
  /** What its first 32 bits have to be; undefined: anything. */
  readonly start: number | undefined;
  /** Of one group a sample has one structure. */
  readonly group: number;
}

/**
 * Passes samples on: as lines that the kernel writes, or as fields. Samples of several datagrams of one exporter are passed on together, so that the
 * memory of their addresses is waited for at once.
 */
export interface SampleLines {
  readonly book: StepBook;
  /** What the counters are called. */
  readonly counters: CounterNames;
  /** Where the steps of the next sample are to be added. */
  readonly steps: StepList;
  /**
   * Begins a datagram.
   *
   * @param head the first fields of each of its records.
   * @param exporter its address as records have it. Samples of others have been passed on.
   * @returns where the bytes are that places of steps are in; they are there until its samples have been passed on.
   */
  begin(datagram: Buffer, head: RecordHead, exporter: string, output: DecodeOutput): ByteSource;
  /** The place of the first byte of the datagram. */
  readonly base: number;
  /** Ends it: its samples wait for those of the next datagrams, or have been passed on when the call returns. */
  end(): void;
  /** Says what the kernel may list. Until then it lists nothing. */
  useListed(steps: ListedSteps): void;
  /**
   * Adds a sample. It has been passed on after {@link SampleLines.flush}.
   *
   * @param form which of its forms the kernel's layout has (`formOther` and so on).
   * @param rate one of how many packets was sampled; undefined when that is not known.
   * @param lister is asked for the steps where the kernel does not list them, before the flush returns.
   */
  add(form: number, at: number, end: number, rate: number | undefined, lister: SampleLister): void;
  /**
   * Says of the sample that is listed where the addresses of both ends are, so that what they add can be fetched ahead.
   *
   * @param length of each of them; 0: nowhere.
   */
  setAddresses(source: number, destination: number, length: number): void;
  /** Passes on the samples that wait. */
  flush(): void;
}
