import { formatAddress, type Address } from "../base/ip/index.ts";
import { type Column, columnOf, findField, recordFields } from "../record/index.ts";

export { columnOf } from "../record/index.ts";
export type { Column, ColumnType } from "../record/index.ts";

/**
 * Returns an address as columns keep it: 8 hexadecimal digits for IPv4, 32 for IPv6. Texts of one length sort like their addresses. They take little
 * space, because each occurs often.
 */
export function addressText({ family, value }: Address): string {
  return value.toString(16).padStart(family === 4 ? 8 : 32, "0");
}

/** Returns the usual notation of such an address. */
export function shownAddress(text: string): string {
  return formatAddress({ family: text.length === 8 ? 4 : 6, value: BigInt(`0x${text}`) });
}

/** Reasons why Explore has no answer to a query. The codes are those of the API. */
export type ExploreErrorCode =
  | "invalid_argument"
  | "not_found"
  | "resource_exhausted"
  | "unavailable"
  | "deadline_exceeded"
  | "canceled";

/** Thrown where a query has no answer. The message is for the caller. It crosses threads by {@link asPlain} and {@link fromPlain}. */
export class ExploreError extends Error {
  readonly code: ExploreErrorCode;
  /** The field of the query that is at fault. */
  readonly field: string | undefined;

  constructor(code: ExploreErrorCode, message: string, field?: string) {
    super(message);
    this.name = "ExploreError";
    this.code = code;
    this.field = field;
  }
}

/** The time at which a record was received. Every column store has it. */
export const timeField = "@timestamp";

/** The fields that are always kept, in the order in which people choose among them. */
const defaultFields: readonly string[] = recordFields
  .filter(({ exploreRank }) => exploreRank !== undefined)
  .toSorted((a, b) => Number(a.exploreRank) - Number(b.exploreRank))
  .map(({ name }) => name);

/**
 * Returns the columns of the default fields and of further fields.
 *
 * @param further names of fields.
 * @throws TypeError for a name that records cannot have.
 */
export function exploreColumns(further: readonly string[]): readonly Column[] {
  const columns = [...new Set([...defaultFields, ...further])].map((field) => {
    const column = columnOf(field);
    if (column === undefined) throw new TypeError(`records have no field ${field}`);
    return column;
  });
  return withoutTwins(columns);
}

/** Removes columns whose names differ only in case, because names in SQL ignore case. The first one stays. */
export function withoutTwins(columns: readonly Column[]): readonly Column[] {
  const byName = new Map<string, Column>();
  for (const column of columns) {
    const name = column.field.toLowerCase();
    if (!byName.has(name)) byName.set(name, column);
  }
  return [...byName.values()];
}

const ends: readonly string[] = ["flow.src.", "flow.dst.", "flow.export."];
const inTable: ReadonlySet<string> = new Set(recordFields.map(({ name }) => name));

/** Reports whether a name is a key of the operator's metadata below an end of a flow or the exporter, such as `flow.src.site.name`. */
export function isMetadataName(name: string): boolean {
  if (inTable.has(name) || !ends.some((end) => name.startsWith(end))) return false;
  const found = findField(name);
  return found !== undefined && "pattern" in found && found.type === "keyword";
}

/** Returns a function that reports whether rollups keep a field of records. They keep keys of metadata. */
export function createRollupFields(further: readonly string[]): (field: string) => boolean {
  const named = new Set(further);
  return (field) => rolledUp.has(field) || named.has(field) || isMetadataName(field);
}

/** Fields with few values. They include no address of a flow's end and no client port, or a minute would have nearly as many rows as records. */
const rolledUp: ReadonlySet<string> = new Set(
  recordFields.filter(({ isRolledUp }) => isRolledUp).map(({ name }) => name),
);

const beginnings: readonly (readonly [string, string])[] = [
  ["flow.src.", "source"],
  ["flow.dst.", "destination"],
  ["flow.client.", "client"],
  ["flow.server.", "server"],
  ["flow.export.", "exporter"],
  ["flow.in.", "input"],
  ["flow.out.", "output"],
  ["flow.", ""],
];

const labels: ReadonlyMap<string, string> = new Map(recordFields.map(({ name, label }) => [name, label]));

/** Returns the label of a field: `flow.src.ip.subnet.name` is `Source name`, `flow.src.site.name` is `Source site name`. */
export function fieldLabel(field: string): string {
  const [beginning = "", word = ""] = beginnings.find(([each]) => field.startsWith(each)) ?? [];
  const rest = labels.get(field) || field.slice(beginning.length).replaceAll(/[._]/g, " ");
  const text = `${word} ${rest}`.trim();
  return text.charAt(0).toUpperCase() + text.slice(1);
}
