import type { ColumnMap, FixedValues } from "../exchange/map/column-map.ts";
import type { CsvOptions } from "../exchange/rows/csv-rows.ts";
import type { ExchangeFormat } from "../exchange/export-entries.ts";

/** The reasons of failed runs, each with a text that shows nothing of the answer. */
export const sourceFaults = {
  unreachable: "it cannot be reached",
  too_slow: "it takes too long",
  refused: "it refuses",
  rate_limited: "it asks to come back later",
  too_large: "its answer is too long",
  content: "its answer cannot be used",
  partial: "its answer is not whole",
  configuration: "its configuration cannot be used",
  no_room: "its entries have no room",
  other: "a fault of the collector",
} as const;
export type RunFaultCode = keyof typeof sourceFaults;
type SourceFaultCode = Exclude<RunFaultCode, "no_room" | "other">;

/**
 * The error of a failed run. The entries of the previous run stay. The message is a sentence for operators, without secrets.
 * It may have parts of the answer, so only users who may see entries may see it.
 */
export class SourceFault extends Error {
  readonly code: SourceFaultCode;
  /** The time in milliseconds that the server asks the collector to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(code: SourceFaultCode, message: string, retryAfterMs?: number) {
    super(message);
    this.name = "SourceFault";
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The place of a secret. The secret is read at each run, so that it can change without a restart. */
export type SecretSource = { readonly file: string } | { readonly env: string };

/** Limits that keep a broken answer from replacing a good one. */
export interface SourceGuard {
  /** The share of the entries that a run may remove, 0 to 1. */
  readonly maxShrink: number;
  /** The share of the entries that a run may change or remove, 0 to 1. */
  readonly maxChange: number;
  readonly maxEntries: number;
}

/** The configuration of one source, as plain data. */
export interface SourceConfig {
  /** A name of letters, digits, `-` and `_`. It is also the name of the layer. */
  readonly name: string;
  readonly kind: string;
  /** The priority. Lower numbers come first; equal ones keep the order of the file. */
  readonly priority: number;
  readonly url: string | undefined;
  readonly path: string | undefined;
  readonly intervalMs: number;
  /** The longest time without data, in milliseconds. */
  readonly timeoutMs: number;
  /** The longest total time of a run, in milliseconds. */
  readonly maxTimeMs: number;
  /** The names of further hosts to which the server may redirect; `*` allows any. */
  readonly redirectHosts: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly token: SecretSource | undefined;
  readonly username: string | undefined;
  readonly password: SecretSource | undefined;
  readonly caPath: string | undefined;
  readonly certPath: string | undefined;
  readonly keyPath: string | undefined;
  readonly format: ExchangeFormat | undefined;
  readonly select: string | undefined;
  readonly csv: CsvOptions;
  /** The column map; undefined selects that of the kind. */
  readonly map: ColumnMap | undefined;
  readonly defaults: FixedValues;
  readonly guard: SourceGuard;
  readonly maxBytes: number;
  /** The fields that only this kind has. */
  readonly options: Readonly<Record<string, readonly string[]>>;
  /** A text that differs for different configurations. It has no secrets. */
  readonly fingerprint: string;
}
