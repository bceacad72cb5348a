import type { Value } from "../../../record/index.ts";
import type { TimeFormat } from "./time-format.ts";

/** What a header says of time. Fields that give uptimes or distances are reckoned from it. */
export interface ExportClock {
  /** When the datagram left the exporter, milliseconds since the epoch. */
  readonly exportTime: number;
  /** The exporter's uptime at that time in milliseconds modulo 2^32; undefined where the header has none (IPFIX). */
  readonly uptime: number | undefined;
}

/** The bytes that fields are read from, and what reading them takes. */
export interface FieldSource {
  readonly bytes: Buffer;
  /** The same bytes. */
  readonly view: DataView;
  readonly clock: ExportClock;
  readonly times: TimeFormat;
  /** When the exporter started, milliseconds since the epoch, where it says so (element 160) and the header does not. */
  readonly bootTime: number | undefined;
}

/**
 * Makes a field's value of its bytes. The caller has checked that `length` bytes, at least one, are there at `at`.
 *
 * @returns undefined when the bytes are no value of this kind, an unusual width for instance. Never throws.
 */
export type Convert = (source: FieldSource, at: number, length: number) => Value | undefined;
