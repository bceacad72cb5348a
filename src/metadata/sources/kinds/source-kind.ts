import { type ColumnMap, type ColumnRule, type Target, readyMap } from "../../exchange/map/column-map.ts";
import type { ImportResult } from "../../exchange/export-entries.ts";
import type { Select } from "../../exchange/rows/selection.ts";
import type { CheckScope } from "../../exchange/map/make-entries.ts";
import type { SourceConfig } from "../source-config.ts";
import type { SourceReader } from "../source-reader.ts";

/** Holds what a kind is given to read. */
export interface KindContext {
  readonly config: Omit<SourceConfig, "fingerprint">;
  readonly reader: SourceReader;
  readonly select: Select;
  /** Says why rows of a scope are not taken. */
  readonly checkScope: CheckScope;
  /** Is aborted when the answer is of no use any more. */
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch, for leases. */
  readonly now: number;
  /** Secrets of the configuration, read when they are asked for. */
  readonly secret: (which: "token" | "password") => Promise<string>;
  /** Holds what the kind wants to know at its next run; empty after a start, and after a run that was not used. */
  readonly memory: Map<string, unknown>;
}

/** The result that a kind has read: entries of its own making, or rows for the column map; undefined: the same as at the last run. */
export type KindAnswer = { readonly rows: readonly unknown[] } | { readonly result: ImportResult } | undefined;

/** A kind of sources. */
export interface SourceKind {
  readonly place: "url" | "path" | "either";
  /** The URL when the source has none. */
  readonly url?: string;
  /** Fields of a source that this kind alone has; each is a text or a list of texts. */
  readonly options: readonly string[];
  /** Tells whether it has format, select and csv. */
  readonly isRows?: boolean;
  readonly intervalMs: number;
  /** Tells whether it asks again and again in a run: for pages, or for each subnet. */
  readonly isPaged?: boolean;
  /** {@link SourceGuard.maxShrink} when nothing is said. */
  readonly maxShrink: number;
  /** The scheme that a token is sent with; "" when the kind does that. */
  readonly tokenScheme?: string;
  /** The column map of its rows when nothing is said. */
  readonly map: ColumnMap;
  /** @returns what is wrong with a configuration. */
  check?(config: Omit<SourceConfig, "fingerprint">): string | undefined;
  /** @throws SourceFault, ExchangeError when not all could be read. */
  read(context: KindContext): Promise<KindAnswer>;
}

export const aThird = 1 / 3;
export const minutes = 60_000;

/** A column map of pairs; columns may be missing. */
export function mapOf(
  columns: readonly (readonly [from: string, to: Target, more?: Partial<ColumnRule>])[],
  more: Partial<ColumnMap> = {},
): ColumnMap {
  const rules = columns.map(([from, to, rest]): ColumnRule => ({ from: [from], to, isOptional: true, ...rest }));
  return { ...readyMap("sheet"), rest: "ignore", duplicates: "first", ...more, rules };
}

/** The texts of an option; `absent` when it is not set. */
export function optionOf(
  config: Pick<SourceConfig, "options">,
  name: string,
  absent: readonly string[] = [],
): readonly string[] {
  return config.options[name] ?? absent;
}

/** A property of something that may be an object. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[name];
  }
  return found;
}

/** A property that is a text or a number, as a text; "" for all else. */
export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === "string" || typeof found === "number" ? String(found) : "";
}

/** A list of objects; anything else is none. */
export function listAt(
  value: unknown,
  ...path: readonly string[]
): readonly Readonly<Record<string, unknown>>[] | undefined {
  const found = at(value, ...path);
  return Array.isArray(found) ? (found as Readonly<Record<string, unknown>>[]) : undefined;
}
