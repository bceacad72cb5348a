import type { DecodeOutput, Detail, RecordHead } from "../records/decoder.ts";
import type { Domain } from "../../exporters/domain.ts";
import type { Exporter } from "../../exporters/exporter.ts";
import type { ManualRate } from "../../exporters/sampling.ts";
import type { ByteSource, StepList } from "../steps/steps.ts";
import type { CounterNames } from "../../elements/mapping/element-names.ts";
import type { Step, InstructionTable } from "../steps/instruction-table.ts";
import { padded } from "./xdr-reader.ts";

/** The context that the samples of one datagram have in common. */
export interface SampleContext {
  readonly source: ByteSource;
  readonly exporter: Exporter;
  readonly domain: Domain;
  readonly output: DecodeOutput;
  /** The operator's rates for the exporter's sampling. */
  readonly rates: ManualRate;
}

/** Reports a problem with a sample. */
export function sampleProblem(
  { output, exporter, domain }: SampleContext,
  reason: "cut_sample" | "bad_count",
  detail: Detail,
): void {
  output.problem(reason, { exporter: exporter.address, agent: domain.agent ?? "", ...detail });
}

/** Longer datagrams there are none. */
export const maxDatagram = 65_535;

/** Lists the steps of a sample. */
export interface SampleLister {
  /** Adds the steps of the sample from one offset to another, of a form, and says where its addresses are. */
  list(form: number, at: number, end: number): void;
}

/** The steps that the kernel lists by itself, by the numbers that its layout has. */
export interface ListedSteps {
  readonly ofSample: readonly (readonly [number: number, step: Step])[];
  readonly ofPacket: readonly (readonly [number: number, step: Step])[];
  readonly structures: readonly ListedStructure[];
}

/** A structure whose fields have fixed offsets. */
export interface ListedStructure {
  readonly format: number;
  readonly length: number;
  readonly step: Step;
  /** All but its first field. */
  readonly rest: Step | undefined;
  /** The value that its first 32 bits must have; undefined: anything. */
  readonly start: number | undefined;
  /** A sample has one structure of a group. */
  readonly group: number;
}

/**
 * Writes the lines of samples. Those of several datagrams of one exporter are written together, so that the memory of their addresses is
 * waited for at once.
 */
export interface SampleLines {
  readonly instructions: InstructionTable;
  /** The names of the counters. */
  readonly counters: CounterNames;
  /** The list to which the steps of the next sample are to be added. */
  readonly steps: StepList;
  /**
   * Begins a datagram.
   *
   * @param head the first fields of each of its records.
   * @param exporter its address as records have it. Samples of others have been passed on.
   * @returns where the bytes are that offsets of steps are in; they are there until its samples have been passed on.
   */
  begin(datagram: Buffer, head: RecordHead, exporter: string, output: DecodeOutput): ByteSource;
  /** The offset of the first byte of the datagram. */
  readonly base: number;
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

const maxRecords = 8192;

/** The records of a sample, located. Filled again and again. */
export class SampleRecords {
  /** The number of records that are there, and the number that the sample claims. */
  found = 0;
  claimed = 0;
  /** True if the last one is shorter than it says, or there is no room for the count. */
  isCut = false;
  /** Bytes behind them. */
  left = 0;
  readonly keys = new Uint32Array(maxRecords);
  readonly starts = new Uint32Array(maxRecords);
  readonly ends = new Uint32Array(maxRecords);

  /** Finds the records of a sample: a count, then format, length and content of each, up to `end`. */
  locate(view: DataView, at: number, end: number): void {
    const { keys, starts, ends } = this;
    let position = at + 4;
    let isCut = position > end;
    const count = isCut ? 0 : view.getUint32(at);
    let found = 0;
    for (; found < count && end - position >= 8 && found < maxRecords; found++) {
      const length = view.getUint32(position + 4);
      keys[found] = view.getUint32(position);
      position += 8;
      starts[found] = position;
      if (length > end - position) {
        isCut = true;
        position = end;
        ends[found] = end;
      } else {
        ends[found] = position + length;
        position = Math.min(end, position + padded(length));
      }
    }
    this.found = found;
    this.claimed = count;
    this.isCut = isCut;
    this.left = Math.max(0, end - position);
  }

  /** Reports what is wrong with them, if anything is. @param isCut whether one of them ends within a field. */
  check(context: SampleContext, isCut: boolean): void {
    const { claimed, found, left } = this;
    if (isCut || this.isCut || found < claimed) sampleProblem(context, "cut_sample", { records: claimed, found });
    else if (left > 0) sampleProblem(context, "bad_count", { records: claimed, bytes: left });
  }
}
