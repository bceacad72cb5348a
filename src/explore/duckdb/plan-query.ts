import type { Filter } from "../../record/index.ts";
import { isMetadataName, timeField } from "../columns/column.ts";
import type { AnswerPart, Coverage } from "../query/answer.ts";
import { rangeBefore, type ExploreQuery, type TimeRange } from "../query/explore-query.ts";
import type { Partition } from "./partition.ts";
import type { RolledUp, RollupFile } from "./rollup-file.ts";

/** What of a file of rollups a question reads. */
export interface UsedRollups {
  readonly file: RollupFile;
  readonly sources: readonly RolledUp[];
}

/** Which files answer a question, and what they answer. */
export interface QueryPlan {
  /** What is asked of them: with rollups, the range and the granularity are of whole minutes. */
  readonly query: ExploreQuery;
  /** The oldest comes first. */
  readonly partitions: readonly Partition[];
  readonly rollups: readonly UsedRollups[];
  readonly coverage: Coverage;
  readonly sampling: number;
}

interface Kept {
  readonly partitions: readonly Partition[];
  readonly rollups: readonly RollupFile[];
}

const minuteMs = 60_000;

/**
 * Records answer for the time of which they are kept. For the time before, rollups do, when they have all of the fields that are
 * asked for.
 */
export function planQuery(asked: ExploreQuery, { partitions, rollups }: Kept): QueryPlan {
  const names = new Set(partitions.map(({ id }) => id));
  // A file of records and its rollups say the same: it is read once.
  const older = rollups
    .map((file) => ({ file, sources: file.sources.filter(({ name }) => !names.has(name)) }))
    .filter(({ sources }) => sources.length > 0);
  const fields = [...new Set([...asked.dimensions, ...fieldsOf(asked.filter)])];
  const lacking = (file: RollupFile): readonly string[] =>
    fields.filter((field) => field === timeField || !(file.columns.has(field) || isMetadataName(field)));
  const usable = older.filter(({ file }) => lacking(file).length === 0);

  const aligned = toMinutes(asked);
  const used = within(usable, readRange(aligned));
  const query = used.length > 0 ? aligned : asked;
  const range = readRange(query);
  const overlapping = partitions.filter(
    (each) => (each.from ?? 0) < range.to && (each.to ?? Number.POSITIVE_INFINITY) >= range.from,
  );
  // A statement needs a table, though it be empty.
  const read = overlapping.length > 0 || used.length > 0 ? overlapping : partitions.slice(-1);
  const kept = {
    partitions,
    sources: usable.flatMap(({ sources }) => sources),
    lackingOf: (part: TimeRange) => [...new Set(within(older, part).flatMap(({ file }) => lacking(file)))],
  };
  const { missing: missingBefore } = query.compare ? coverageOf(rangeBefore(query), kept) : {};
  return {
    query,
    partitions: read,
    rollups: used,
    coverage: { ...coverageOf(query, kept), ...(missingBefore && { missingBefore }) },
    sampling: [...read, ...used.flatMap(({ sources }) => sources)].reduce(
      (most, { maxWeight }) => Math.max(most, maxWeight),
      1,
    ),
  };
}

/** With the range before, where that is asked for. */
function readRange(query: ExploreQuery): TimeRange {
  return { from: query.compare ? rangeBefore(query).from : query.from, to: query.to };
}

/** What rollups can answer: whole minutes. The end is moved back, so that no minute has less than its time. */
function toMinutes(query: ExploreQuery): ExploreQuery {
  const from = Math.floor(query.from / minuteMs) * minuteMs;
  const to = Math.max(from + minuteMs, Math.floor(query.to / minuteMs) * minuteMs);
  const { granularitySeconds: seconds } = query;
  return { ...query, from, to, granularitySeconds: seconds === 0 ? 0 : Math.max(60, seconds) };
}

function within(rollups: readonly UsedRollups[], { from, to }: TimeRange): readonly UsedRollups[] {
  return rollups
    .map(({ file, sources }) => ({ file, sources: sources.filter((each) => each.from < to && each.to >= from) }))
    .filter(({ sources }) => sources.length > 0);
}

interface Sources {
  readonly partitions: readonly Partition[];
  /** Of rollups that have the fields. */
  readonly sources: readonly RolledUp[];
  /** Fields that rollups of a range lack. */
  readonly lackingOf: (range: TimeRange) => readonly string[];
}

function coverageOf({ from, to }: TimeRange, { partitions, sources, lackingOf }: Sources): Coverage {
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
  const lacking = lackingOf({ from, to });
  const because =
    lacking.length > 0
      ? `before ${Number.isFinite(since) ? iso(since) : "now"} only rollups are kept, which lack ${lacking.join(", ")}`
      : "nothing older is kept";
  return { complete: false, parts, missing: { from: iso(from), to: iso(Math.min(begin, to)), because, lacking } };
}

/** The fields that a filter looks at. */
function fieldsOf(filter: Filter | undefined): readonly string[] {
  if (filter === undefined) return [];
  if ("fields" in filter) return filter.fields;
  return filter.kind === "not" ? fieldsOf(filter.filter) : filter.filters.flatMap(fieldsOf);
}

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
