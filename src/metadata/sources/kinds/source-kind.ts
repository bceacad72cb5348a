import { type ColumnMap, type ColumnRule, type Target, readyMap } from "../../exchange/map/column-map.ts";
import type { ImportResult } from "../../exchange/export-entries.ts";
import type { Select } from "../../exchange/rows/selection.ts";
import type { CheckScope } from "../../exchange/map/make-entries.ts";
import type { SourceConfig } from "../source-config.ts";
import type { SourceReader } from "../source-reader.ts";

/** The inputs of a kind for one run. */
export interface KindContext {
  readonly config: Omit<SourceConfig, "fingerprint">;
  readonly reader: SourceReader;
  readonly select: Select;
  /** Returns the reason to refuse rows of a scope. */
  readonly checkScope: CheckScope;
  /** A signal that aborts when the answer is no longer needed. */
  readonly signal: AbortSignal;
  /** The time in milliseconds since the Unix epoch, for leases. */
  readonly now: number;
  /** Reads a secret of the configuration. */
  readonly secret: (which: "token" | "password") => Promise<string>;
  /** Values that the kind keeps for its next run. It is empty after a start, and after a run whose answer was not used. */
  readonly memory: Map<string, unknown>;
}

/** The answer of a kind: entries that it made itself, or rows for the column map. Undefined where nothing has changed since the last run. */
export type KindAnswer = { readonly rows: readonly unknown[] } | { readonly result: ImportResult } | undefined;

/** A kind of sources. */
export interface SourceKind {
  readonly place: "url" | "path" | "either";
  /** The default URL. */
  readonly url?: string;
  /** The names of fields that only this kind has. Each is a text or a list of texts. */
  readonly options: readonly string[];
  /** True where it has format, select and csv. */
  readonly isRows?: boolean;
  readonly intervalMs: number;
  /** True where it asks again and again in a run: for pages, or for each subnet. */
  readonly isPaged?: boolean;
  /** The default of {@link SourceGuard.maxShrink}. */
  readonly maxShrink: number;
  /** The scheme with which a token is sent; "" where the kind sends it itself. */
  readonly tokenScheme?: string;
  /** The default column map of its rows. */
  readonly map: ColumnMap;
  /** Checks a configuration. @returns its fault, if any. */
  check?(config: Omit<SourceConfig, "fingerprint">): string | undefined;
  /** Reads the source. @throws SourceFault, ExchangeError when it could not read everything. */
  read(context: KindContext): Promise<KindAnswer>;
}

export const aThird = 1 / 3;
export const minutes = 60_000;

/** Returns a column map of pairs. Rows may lack columns. */
export function mapOf(
  columns: readonly (readonly [from: string, to: Target, more?: Partial<ColumnRule>])[],
  more: Partial<ColumnMap> = {},
): ColumnMap {
  const rules = columns.map(([from, to, rest]): ColumnRule => ({ from: [from], to, isOptional: true, ...rest }));
  return { ...readyMap("sheet"), rest: "ignore", duplicates: "first", ...more, rules };
}

/** Returns the texts of an option; `absent` where it is not set. */
export function optionOf(
  config: Pick<SourceConfig, "options">,
  name: string,
  absent: readonly string[] = [],
): readonly string[] {
  return config.options[name] ?? absent;
}

/** Returns the property at a path of a value that may be an object. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[name];
  }
  return found;
}

/** Returns a text or numeric property as a text; "" for anything else. */
export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === "string" || typeof found === "number" ? String(found) : "";
}

/** Returns a list of objects; an empty list for anything else. */
export function listAt(
  value: unknown,
  ...path: readonly string[]
): readonly Readonly<Record<string, unknown>>[] | undefined {
  const found = at(value, ...path);
  return Array.isArray(found) ? (found as Readonly<Record<string, unknown>>[]) : undefined;
}
