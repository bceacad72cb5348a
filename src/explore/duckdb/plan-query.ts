import type { DuckDBConnection } from "@duckdb/node-api";
import { isMetadataName, timeField, type Column } from "../column.ts";
import { sqlType, quoted } from "./duckdb-table.ts";
import type { Filter } from "../../record/index.ts";
import type { AnswerPart, Coverage } from "../query/answer.ts";
import { flowedBounds } from "../booking.ts";
import { countedFields, rangeBefore, type ExploreQuery, type TimeRange, type When } from "../query/explore-query.ts";
import type { Partition } from "./partition.ts";

/** A file of rows of which rollups were made. */
export interface RolledUp {
  /** The id of its rows in the file of rollups. */
  readonly id: number;
  /** The id of the file of rows. */
  readonly name: string;
  /** The start of the records, milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
  /** When the oldest bytes flowed. */
  readonly flowedFrom: number;
  readonly maxWeight: number;
}

/** A file with the rollups of a day, or of a part of it. */
export interface RollupFile {
  readonly name: string;
  readonly columns: Set<string>;
  readonly sources: RolledUp[];
}

/** The columns besides the time and the fields: which file of rows a row comes from, and the sums. A sum has 128 bits in two columns, because DuckDB does not compress numbers of 128 bits. */
export const sourceColumn = "explore.source";
export const sumColumns = {
  bytes: ["explore.bytes", "explore.bytes.high"],
  packets: ["explore.packets", "explore.packets.high"],
  flows: ["explore.flows", "explore.flows.high"],
  /** What of records that count for both flowed in the minute of the row, and in the one before; without a value where none did. */
  bytesThen: ["explore.bytes.then", "explore.bytes.then.high"],
  packetsThen: ["explore.packets.then", "explore.packets.then.high"],
  bytesBefore: ["explore.bytes.before", "explore.bytes.before.high"],
  packetsBefore: ["explore.packets.before", "explore.packets.before.high"],
} as const;

/**
 * The column of what a row counts for. Most count for both, each in columns of its own. What flowed earlier has rows of its own. Files of earlier versions also have
 * rows that count by receipt alone, and such without a value, which count for both with the same sums.
 */
export const whenColumn = "explore.when";
export const countsFor = { received: 1, flowed: 2, both: 3 } as const satisfies Readonly<Record<When | "both", number>>;

/** Returns a condition that is true of rows that count. */
export function isOf(when: When): string {
  return `"${whenColumn}" IS DISTINCT FROM ${countsFor[when === "flowed" ? "received" : "flowed"]}`;
}

export const minutesOf = (name: string): string => `${quoted(name)}.main.minutes`;
export const sourcesOf = (name: string): string => `${quoted(name)}.main.sources`;

/** The columns that every file has, with their types. */
const ownColumns: readonly (readonly [string, string])[] = [
  [sourceColumn, "UINTEGER"],
  [timeField, "TIMESTAMP_NS"],
  [whenColumn, "UTINYINT"],
  ...Object.values(sumColumns).flatMap((pair) => pair.map((each) => [each, "UBIGINT"] as const)),
];

const definition = (column: Column): string => `${quoted(column.field)} ${sqlType(column)}`;

/** Makes the tables of an attached file if it has none, and says what is in them. */
export async function readRollupFile(
  connection: DuckDBConnection,
  name: string,
  columns: readonly Column[],
): Promise<RollupFile> {
  const table = minutesOf(name);
  const cells = [...ownColumns.map(([own, type]) => `"${own}" ${type}`), ...columns.map(definition)];
  await connection.run(`CREATE TABLE IF NOT EXISTS ${table} (${cells.join(", ")})`);
  await connection.run(
    `CREATE TABLE IF NOT EXISTS ${sourcesOf(name)} (id UINTEGER, name VARCHAR, "from" BIGINT, "to" BIGINT, weight UINTEGER, flowed BIGINT)`,
  );
  await connection.run(`ALTER TABLE ${sourcesOf(name)} ADD COLUMN IF NOT EXISTS flowed BIGINT`);
  const described = await connection.runAndReadAll(`DESCRIBE ${table}`);
  const found = new Set(described.getRows().map(([column]) => String(column)));
  // Files of earlier versions lack some.
  for (const [own, type] of ownColumns) {
    if (!found.has(own)) await connection.run(`ALTER TABLE ${table} ADD COLUMN "${own}" ${type}`);
    found.add(own);
  }
  const sources = await connection.runAndReadAll(
    `SELECT id, name, "from", "to", weight, flowed FROM ${sourcesOf(name)} ORDER BY id`,
  );
  return {
    name,
    columns: found,
    sources: sources.getRows().map(([id, source, from, to, weight, flowed]) => ({
      id: Number(id),
      name: String(source),
      from: Number(from),
      to: Number(to),
      flowedFrom: Number(flowed ?? from),
      maxWeight: Number(weight),
    })),
  };
}

/**
 * Gives a file the columns that it lacks. Only keys of metadata can be added: rows from before have no such key.
 *
 * @returns whether it has all of the columns.
 */
export async function addColumns(
  connection: DuckDBConnection,
  file: RollupFile,
  columns: readonly Column[],
): Promise<boolean> {
  const missing = columns.filter(({ field }) => !file.columns.has(field));
  if (missing.some(({ field }) => !isMetadataName(field))) return false;
  for (const column of missing) {
    await connection.run(`ALTER TABLE ${minutesOf(file.name)} ADD COLUMN ${definition(column)}`);
    file.columns.add(column.field);
  }
  return true;
}

/** The part of a file of rollups that a query reads. */
export interface UsedRollups {
  readonly file: RollupFile;
  readonly sources: readonly RolledUp[];
}

/** The files that answer a query, and what they answer. */
interface QueryPlan {
  /** The query they are asked: with rollups, the range and the granularity are of whole minutes. */
  readonly query: ExploreQuery;
  /** The oldest comes first. */
  readonly partitions: readonly Partition[];
  readonly rollups: readonly UsedRollups[];
  readonly coverage: Coverage;
  readonly sampling: number;
}

const minuteMs = 60_000;

/**
 * Records answer for the time of which they are kept. For the time before, rollups do, when they have all of the fields that are
 * asked for.
 */
export function planQuery(
  asked: ExploreQuery,
  partitions: readonly Partition[],
  rollups: readonly RollupFile[],
): QueryPlan {
  const names = new Set(partitions.map(({ id }) => id));
  // A file of records and its rollups say the same: it is read once.
  const older = rollups
    .map((file) => ({ file, sources: file.sources.filter(({ name }) => !names.has(name)) }))
    .filter(({ sources }) => sources.length > 0);
  const counted = countedFields[asked.measure];
  const fields = [
    ...new Set([...asked.dimensions, ...fieldsOf(asked.filter), ...(counted === undefined ? [] : [counted])]),
  ];
  const lacking = (file: RollupFile): readonly string[] =>
    fields.filter((field) => field === timeField || !(file.columns.has(field) || isMetadataName(field)));
  const usable = older.filter(({ file }) => lacking(file).length === 0);

  const aligned = toMinutes(asked);
  const used = within(usable, asked.when, readRange(aligned));
  const query = used.length > 0 ? aligned : asked;
  const range = readRange(query);
  const overlapping = partitionsIn(partitions, asked.when, range);
  // A statement needs a table, though it be empty.
  const read = overlapping.length > 0 || used.length > 0 ? overlapping : partitions.slice(-1);
  const usableSources = usable.flatMap(({ sources }) => sources);
  const coverage = (part: TimeRange): Coverage =>
    coverageOf(part, partitions, usableSources, () => [
      ...new Set(within(older, asked.when, part).flatMap(({ file }) => lacking(file))),
    ]);
  const { missing: missingBefore } = query.compare ? coverage(rangeBefore(query)) : {};
  return {
    query,
    partitions: read,
    rollups: used,
    coverage: { ...coverage(query), ...(missingBefore && { missingBefore }) },
    sampling: [...read, ...used.flatMap(({ sources }) => sources)].reduce(
      (most, { maxWeight }) => Math.max(most, maxWeight),
      1,
    ),
  };
}

/** The files that may have rows of a range. */
export function partitionsIn(partitions: readonly Partition[], when: When, range: TimeRange): readonly Partition[] {
  return partitions.filter(({ from = 0, to = Number.POSITIVE_INFINITY, flowedFrom = 0 }) =>
    isIn({ from, to, flowedFrom }, when, range),
  );
}

/** With the range before, where that is asked for. */
function readRange(query: ExploreQuery): TimeRange {
  return { from: query.compare ? rangeBefore(query).from : query.from, to: query.to };
}

/** Returns what rollups can answer: whole minutes. The end is moved back, so that no minute has less than its time. */
function toMinutes(query: ExploreQuery): ExploreQuery {
  const from = Math.floor(query.from / minuteMs) * minuteMs;
  const to = Math.max(from + minuteMs, Math.floor(query.to / minuteMs) * minuteMs);
  const { granularitySeconds: seconds } = query;
  return { ...query, from, to, granularitySeconds: seconds === 0 ? 0 : Math.max(60, seconds) };
}

/** Tells whether a file may have rows of a range. */
function isIn(file: TimeRange & { readonly flowedFrom: number }, when: When, { from, to }: TimeRange): boolean {
  if (when === "received") return file.from < to && file.to >= from;
  return file.flowedFrom < to && file.to + flowedBounds.ahead >= from;
}

function within(rollups: readonly UsedRollups[], when: When, range: TimeRange): readonly UsedRollups[] {
  return rollups
    .map(({ file, sources }) => ({ file, sources: sources.filter((each) => isIn(each, when, range)) }))
    .filter(({ sources }) => sources.length > 0);
}

/**
 * @param sources those of rollups that have the fields.
 * @param lackingOf gives the fields that rollups of the range lack.
 */
function coverageOf(
  { from, to }: TimeRange,
  partitions: readonly Partition[],
  sources: readonly RolledUp[],
  lackingOf: () => readonly string[],
): Coverage {
  const since = Math.min(...partitions.map((each) => each.from ?? Number.POSITIVE_INFINITY));
  const first = Math.min(...sources.map((each) => Math.floor(each.from / minuteMs) * minuteMs));
  const part = (kind: AnswerPart["kind"], start: number, end: number): AnswerPart[] =>
    start < end ? [{ kind, from: iso(start), to: iso(end) }] : [];
  const parts = [
    ...part("minutes", Math.max(from, first), Math.min(to, since)),
    ...part("records", Math.max(from, since), to),
  ];
  const begin = Math.min(since, first);
  if (begin <= from) return { complete: true, parts };
  const lacking = lackingOf();
  const because =
    lacking.length > 0
      ? `before ${Number.isFinite(since) ? iso(since) : "now"} only rollups are kept, which lack ${lacking.join(", ")}`
      : "nothing older is kept";
  return { complete: false, parts, missing: { from: iso(from), to: iso(Math.min(begin, to)), because, lacking } };
}

/** The fields that a filter looks at. */
export function fieldsOf(filter: Filter | undefined): readonly string[] {
  if (filter === undefined) return [];
  if ("fields" in filter) return filter.fields;
  return filter.kind === "not" ? fieldsOf(filter.filter) : filter.filters.flatMap(fieldsOf);
}

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
