import type { RenderedFields } from "../../record/index.ts";

/** What the compiled code needs of the datagram that a record is in. One object for a thread, changed for each. */
export interface RecordState {
  /** `{` and the fields of the head. */
  head: DataView;
  headLength: number;
  /** Milliseconds since the epoch. */
  exportTime: number;
  /** The exporter's uptime in milliseconds when the datagram left; NaN when it is not known. */
  uptime: number;
  /** Whether that is from the header, which no field of a record changes. */
  isHeaderUptime: boolean;
  /** One of how many packets was looked at; -1 when that is not known. */
  rate: number;
  /** Whether instead each record has its own. */
  isRateOfRecord: boolean;
  /** Whether options gave names to numbers in the records. */
  hasNames: boolean;
  /** What each list of address additions adds for the exporter. */
  readonly exporterTexts: { readonly text: DataView; length: number }[];
  /** For each of the number additions: its table for the exporter, and how many records got something of it. */
  readonly numberTables: (ReadonlyMap<number, RenderedFields> | undefined)[];
  readonly numbersAdded: number[];
}

/**
 * Writes the line of one record.
 *
 * @param from where the record begins in `input`.
 * @returns where the line ends; -1 when the interpreter must do this record, because something in it is rare.
 */
export type WriteRecord = (out: DataView, at: number, input: DataView, from: number, state: RecordState) => number;
