import type { DecodeOutput } from "./decoder.ts";
import type { RecordHead } from "./record-head.ts";
import type { CounterNames } from "../../elements/mapping/counter-names.ts";
import type { StepBook } from "../steps/step-book.ts";
import type { StepList } from "../steps/step-list.ts";
import type { ByteSource } from "../steps/step-value.ts";

/** Longer datagrams there are none. */
export const maxDatagram = 65_535;

/** Passes samples on: as lines that the kernel writes, or as fields. */
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
   * @param exporter its address as records have it.
   * @returns where the bytes are that places of steps are in; they are there until the next call.
   */
  begin(datagram: Buffer, head: RecordHead, exporter: string, output: DecodeOutput): ByteSource;
  /** The place of the first byte of the datagram. */
  readonly base: number;
  /** Makes room for the steps of a sample of so many bytes. */
  reserve(bytes: number): void;
  /**
   * Ends a sample whose steps were added. Its line is there after {@link SampleLines.flush}.
   *
   * @param rate one of how many packets was sampled; undefined when that is not known.
   * @param source, destination where the addresses of both ends are, so that what they add can be fetched ahead.
   * @param addressLength of each of them; 0: nowhere.
   */
  end(rate: number | undefined, source: number, destination: number, addressLength: number): void;
  flush(): void;
}
