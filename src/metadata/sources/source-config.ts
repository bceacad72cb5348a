import type { ColumnMap, FixedValues } from "../exchange/map/column-map.ts";
import type { CsvOptions } from "../exchange/rows/csv-rows.ts";
import type { ExchangeFormat } from "../exchange/export-entries.ts";

/** Why a run came to nothing, with what is said of it where nothing of the answer may be shown. */
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
 * A run that failed; the entries of the run before stay. The message is a sentence for operators, without secrets;
 * it may have parts of what was read, which only those may see who may see entries.
 */
export class SourceFault extends Error {
  readonly code: SourceFaultCode;
  /** The time that the server asks to be left alone, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(code: SourceFaultCode, message: string, retryAfterMs?: number) {
    super(message);
    this.name = "SourceFault";
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Names where a secret is: it is read at each run, so that it can be changed without a restart. */
export type SecretSource = { readonly file: string } | { readonly env: string };

/** Keeps a broken answer from replacing a good one. */
export interface SourceGuard {
  /** The part of the entries that may be missing afterwards, 0 to 1. */
  readonly maxShrink: number;
  /** The part of the entries that may be changed or missing afterwards, 0 to 1. */
  readonly maxChange: number;
  readonly maxEntries: number;
}

/** One source as its file says; plain data. */
export interface SourceConfig {
  /** A name of letters, digits, `-` and `_`; also the name of its layer. */
  readonly name: string;
  readonly kind: string;
  /** Lower comes first. Of equal ones the order of the file decides. */
  readonly priority: number;
  readonly url: string | undefined;
  readonly path: string | undefined;
  readonly intervalMs: number;
  /** The longest silence, milliseconds. */
  readonly timeoutMs: number;
  /** The longest time of a run in all, milliseconds. */
  readonly maxTimeMs: number;
  /** Names of hosts to which it may be redirected besides its own; `*` is any. */
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
  /** Undefined: that of the kind. */
  readonly map: ColumnMap | undefined;
  readonly defaults: FixedValues;
  readonly guard: SourceGuard;
  readonly maxBytes: number;
  /** Fields that this kind has of its own. */
  readonly options: Readonly<Record<string, readonly string[]>>;
  /** Another text for another configuration; has no secrets. */
  readonly fingerprint: string;
}
