import { formatAddress, type Address } from "../base/ip/index.ts";
import { type Column, columnOf, findField, recordFields } from "../record/index.ts";

export { columnOf } from "../record/index.ts";
export type { Column, ColumnType } from "../record/index.ts";

/**
 * An address as it is kept in columns: 8 hexadecimal digits of IPv4, 32 of IPv6. Texts of one length are in the order of their
 * addresses, and take little room, because each of them occurs often.
 */
export function addressText({ family, value }: Address): string {
  return value.toString(16).padStart(family === 4 ? 8 : 32, "0");
}

/** The address of such a text, as people write it. */
export function shownAddress(text: string): string {
  return formatAddress({ family: text.length === 8 ? 4 : 6, value: BigInt(`0x${text}`) });
}

/** Why a question to Explore has no answer. The codes are those of the API. */
export type ExploreErrorCode =
  | "invalid_argument"
  | "not_found"
  | "resource_exhausted"
  | "unavailable"
  | "deadline_exceeded"
  | "canceled";

/** Its message is for the one who asked. It goes from one thread to another by {@link asPlain} and {@link fromPlain}. */
export class ExploreError extends Error {
  readonly code: ExploreErrorCode;
  /** The field of the question that is at fault. */
  readonly field: string | undefined;

  constructor(code: ExploreErrorCode, message: string, field?: string) {
    super(message);
    this.name = "ExploreError";
    this.code = code;
    this.field = field;
  }
}

/** When a record was received. Every column store has it. */
export const timeField = "@timestamp";

/** The fields that are kept in any case, in the order in which people choose among them. */
const defaultFields: readonly string[] = recordFields
  .filter(({ exploreRank }) => exploreRank !== undefined)
  .toSorted((a, b) => Number(a.exploreRank) - Number(b.exploreRank))
  .map(({ name }) => name);

/**
 * The columns: the default ones and further fields.
 *
 * @param further names of fields. @throws TypeError for a name that records cannot have.
 */
export function exploreColumns(further: readonly string[]): readonly Column[] {
  const columns = [...new Set([...defaultFields, ...further])].map((field) => {
    const column = columnOf(field);
    if (column === undefined) throw new TypeError(`records have no field ${field}`);
    return column;
  });
  return withoutTwins(columns);
}

/** Names of columns in SQL are the same in any case: of fields that differ in nothing else the first one is kept. */
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

/** Tells whether a name is a key of the operator's metadata below an end of a flow or the exporter, such as `flow.src.site.name`. */
export function isMetadataName(name: string): boolean {
  if (inTable.has(name) || !ends.some((end) => name.startsWith(end))) return false;
  const found = findField(name);
  return found !== undefined && "pattern" in found && found.type === "keyword";
}

/** Tells whether rollups keep a field that records have. Keys of metadata are kept. */
export function createRollupFields(further: readonly string[]): (field: string) => boolean {
  const named = new Set(further);
  return (field) => rolledUp.has(field) || named.has(field) || isMetadataName(field);
}

/**
 * Fields that have few values. No address of an end of a flow and no port of a client is among them, for then a minute would have nearly as
 * many rows as records.
 */
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

/** A name of a field for people: `flow.src.ip.subnet.name` is `Source name`, `flow.src.site.name` is `Source site name`. */
export function fieldLabel(field: string): string {
  const [beginning = "", word = ""] = beginnings.find(([each]) => field.startsWith(each)) ?? [];
  const rest = labels.get(field) || field.slice(beginning.length).replaceAll(/[._]/g, " ");
  const text = `${word} ${rest}`.trim();
  return text.charAt(0).toUpperCase() + text.slice(1);
}
