import type { DuckDBConnection } from "@duckdb/node-api";
import { isMetadataName, timeField, type Column } from "../column.ts";
import { sqlType, quoted } from "./duckdb-table.ts";
import type { Filter } from "../../record/index.ts";
import type { AnswerPart, Coverage } from "../query/answer.ts";
import { flowedBounds } from "../booking.ts";
import { countedFields, rangeBefore, type ExploreQuery, type TimeRange, type When } from "../query/explore-query.ts";
import type { Partition } from "./partition.ts";

/** A file of rows that has rollups. */
export interface RolledUp {
  /** The id of its rows in the rollup file. */
  readonly id: number;
  /** The id of the row file. */
  readonly name: string;
  /** The time of the oldest record, in milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
  /** The earliest flow time. */
  readonly flowedFrom: number;
  readonly maxWeight: number;
}

/** A file with the rollups of a day, or of part of a day. */
export interface RollupFile {
  readonly name: string;
  readonly columns: Set<string>;
  readonly sources: RolledUp[];
}

/**
 * The columns besides the time and the fields: the row file that a row comes from, and the sums. A sum has 128 bits in two columns, because DuckDB does
 * not compress 128-bit numbers.
 */
export const sourceColumn = "explore.source";
export const sumColumns = {
  bytes: ["explore.bytes", "explore.bytes.high"],
  packets: ["explore.packets", "explore.packets.high"],
  flows: ["explore.flows", "explore.flows.high"],
  /** For records that count both ways: the amounts that flowed in the minute of the row and in the minute before. Without a value where there are none. */
  bytesThen: ["explore.bytes.then", "explore.bytes.then.high"],
  packetsThen: ["explore.packets.then", "explore.packets.then.high"],
  bytesBefore: ["explore.bytes.before", "explore.bytes.before.high"],
  packetsBefore: ["explore.packets.before", "explore.packets.before.high"],
} as const;

/**
 * The column that says which way of counting a row is for. Most rows count for both ways, each in columns of its own. Earlier traffic has rows of its
 * own. Files of earlier versions also have rows that count by receipt only, and rows without a value, which count for both with the same sums.
 */
export const whenColumn = "explore.when";
export const countsFor = { received: 1, flowed: 2, both: 3 } as const satisfies Readonly<Record<When | "both", number>>;

/** Returns a condition that is true for rows that count. */
export function isOf(when: When): string {
  return `"${whenColumn}" IS DISTINCT FROM ${countsFor[when === "flowed" ? "received" : "flowed"]}`;
}

export const minutesOf = (name: string): string => `${quoted(name)}.main.minutes`;
export const sourcesOf = (name: string): string => `${quoted(name)}.main.sources`;

/** The columns of every file, with their types. */
const ownColumns: readonly (readonly [string, string])[] = [
  [sourceColumn, "UINTEGER"],
  [timeField, "TIMESTAMP_NS"],
  [whenColumn, "UTINYINT"],
  ...Object.values(sumColumns).flatMap((pair) => pair.map((each) => [each, "UBIGINT"] as const)),
];

const definition = (column: Column): string => `${quoted(column.field)} ${sqlType(column)}`;

/** Creates the tables of an attached file if it has none, and describes the content. */
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
  // Files of earlier versions lack some columns.
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
 * Adds missing columns to a file. Only metadata keys can be added: earlier rows do not have such a key.
 *
 * @returns true where it has all columns.
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

/** The part of a rollup file that a query reads. */
export interface UsedRollups {
  readonly file: RollupFile;
  readonly sources: readonly RolledUp[];
}

/** The files that answer a query, and the query for them. */
interface QueryPlan {
  /** The query for these files. With rollups, its range and granularity are whole minutes. */
  readonly query: ExploreQuery;
  /** Files of records, oldest first. */
  readonly partitions: readonly Partition[];
  readonly rollups: readonly UsedRollups[];
  readonly coverage: Coverage;
  readonly sampling: number;
}

const minuteMs = 60_000;

/** Plans a query. Records answer for the time that they cover. Rollups answer for earlier times, when they have all fields of the query. */
export function planQuery(
  asked: ExploreQuery,
  partitions: readonly Partition[],
  rollups: readonly RollupFile[],
): QueryPlan {
  const names = new Set(partitions.map(({ id }) => id));
  // A record file and its rollups have the same content, so only one of them is read.
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
  // A statement needs a table, even an empty one.
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

/** Returns the files that may have rows of a range. */
export function partitionsIn(partitions: readonly Partition[], when: When, range: TimeRange): readonly Partition[] {
  return partitions.filter(({ from = 0, to = Number.POSITIVE_INFINITY, flowedFrom = 0 }) =>
    isIn({ from, to, flowedFrom }, when, range),
  );
}

/** Returns the range, including the range before where it is requested. */
function readRange(query: ExploreQuery): TimeRange {
  return { from: query.compare ? rangeBefore(query).from : query.from, to: query.to };
}

/** Returns the query in whole minutes, for rollups. The end is moved back, so that no minute is incomplete. */
function toMinutes(query: ExploreQuery): ExploreQuery {
  const from = Math.floor(query.from / minuteMs) * minuteMs;
  const to = Math.max(from + minuteMs, Math.floor(query.to / minuteMs) * minuteMs);
  const { granularitySeconds: seconds } = query;
  return { ...query, from, to, granularitySeconds: seconds === 0 ? 0 : Math.max(60, seconds) };
}

/** Reports whether a file may have rows of a range. */
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
 * Returns the coverage of a plan.
 *
 * @param sources those of rollups that have the fields.
 * @param lackingOf returns the fields that rollups of the range lack.
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

/** Returns the fields that a filter reads. */
export function fieldsOf(filter: Filter | undefined): readonly string[] {
  if (filter === undefined) return [];
  if ("fields" in filter) return filter.fields;
  return filter.kind === "not" ? fieldsOf(filter.filter) : filter.filters.flatMap(fieldsOf);
}

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
