import { FilterError, parseFilter, recordVocabulary, type Filter } from "../../record/index.ts";
import { quote } from "../../base/text/index.ts";
import { ExploreError } from "../column.ts";

const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/**
 * Reads an end of a time range: RFC 3339, `now`, or a time before now: `-15m`, `-1h`, `-7d`.
 *
 * @param now milliseconds since the epoch.
 * @returns milliseconds since the epoch; undefined for any other text.
 */
function readBound(text: string, now: number): number | undefined {
  if (text === "now") return now;
  const relative = /^-(\d{1,6})([smhdw])$/.exec(text);
  if (relative !== null) return now - Number(relative[1]) * (units[relative[2] as string] as number);
  if (!/^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)$/.test(text)) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

export const measures = [
  "bytes",
  "packets",
  "flows",
  "bits_per_second",
  "packets_per_second",
  "utilisation_in",
  "utilisation_out",
  "sources",
  "destinations",
  "source_ports",
  "destination_ports",
] as const;
export type Measure = (typeof measures)[number];

/** The field whose different values a measure counts. */
export const countedFields: Readonly<Partial<Record<Measure, string>>> = {
  sources: "flow.src.ip.addr",
  destinations: "flow.dst.ip.addr",
  source_ports: "flow.src.l4.port.id",
  destination_ports: "flow.dst.l4.port.id",
};

/** When bytes and packets count: when they flowed, or when their record was received. Flows count when their records were received. */
export const bookings = ["flowed", "received"] as const;
export type When = (typeof bookings)[number];

/** The granularities of queries, in seconds. */
export const granularities = { "10s": 10, "1m": 60, "5m": 300, "1h": 3600, "1d": 86_400 } as const;

/** A time range in milliseconds since the epoch. It excludes its end. */
export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

/** A query: plain data, checked except for the names of fields. */
export interface ExploreQuery extends TimeRange {
  readonly filter: Filter | undefined;
  /** Up to four names of fields. */
  readonly dimensions: readonly string[];
  readonly measure: Measure;
  readonly when: When;
  readonly limit: number;
  /** 0 for a query without times. */
  readonly granularitySeconds: number;
  readonly compare: boolean;
  readonly percentile: number | undefined;
  /** The metadata scopes to which the caller is limited; left out: no limit. */
  readonly scopes?: readonly string[];
  /** A set of records that contains those of this and several related queries. A store may read the set once and answer all of them from it. */
  readonly within?: Within;
}

/** The records of a filter and a range. */
export interface Within extends TimeRange {
  readonly filter: Filter;
  /** The fields that are requested as dimensions. */
  readonly fields: readonly string[];
}

/** A query for single records, newest first. */
export interface FlowsQuery extends TimeRange {
  readonly filter: Filter | undefined;
  readonly limit: number;
  /** The fields to return; empty for all. */
  readonly fields: readonly string[];
  /** The scopes of the caller, as in {@link ExploreQuery}. */
  readonly scopes?: readonly string[];
}

/** Returns the range before, of the same length. It never begins before the epoch. */
export function rangeBefore({ from, to }: TimeRange): TimeRange {
  return { from: Math.max(0, 2 * from - to), to: from };
}

export const maxDimensions = 4;
const maxLimit = 1000;
const maxFlows = 10_000;
const maxFields = 200;
const maxBuckets = 2000;
/** The first time of the years in which stores count nanoseconds. */
const firstTime = Date.UTC(1970, 0);
const lastTime = Date.UTC(2200, 0);

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads a query.
 *
 * @param body JSON.
 * @param now milliseconds since the epoch.
 * @param granularity the default for a body without one.
 * @throws ExploreError that names the field at fault.
 */
export function readQuery(body: unknown, now: number, granularity: "auto" | "none" = "auto"): ExploreQuery {
  const fields = objectOf(body, [
    "from",
    "to",
    "filter",
    "dimensions",
    "measure",
    "when",
    "limit",
    "granularity",
    "compare",
    "percentile",
  ]);
  const range = readRange(fields, now);
  const dimensions = readNames(fields, "dimensions", maxDimensions);
  const measure = readChoice(fields, "measure", measures, "bytes");
  const granularitySeconds = readGranularity(fields, range, granularity);
  const percentile = readNumber(fields, "percentile", 0, 100);
  if (percentile !== undefined && granularitySeconds === 0) {
    throw fault("percentile", "a percentile is one of the values over time: it needs a granularity");
  }
  return {
    ...alignRange(range, granularitySeconds),
    filter: readFilter(fields),
    dimensions,
    measure,
    when: readChoice(fields, "when", bookings, "flowed"),
    limit: readWhole(fields, "limit", 1, maxLimit) ?? 10,
    granularitySeconds,
    compare: readFlag(fields, "compare"),
    percentile,
  };
}

/** Reads a {@link FlowsQuery} in the same way. */
export function readFlowsQuery(body: unknown, now: number): FlowsQuery {
  const fields = objectOf(body, ["from", "to", "filter", "limit", "fields"]);
  return {
    ...readRange(fields, now),
    filter: readFilter(fields),
    limit: readWhole(fields, "limit", 1, maxFlows) ?? 100,
    fields: readNames(fields, "fields", maxFields),
  };
}

/** Returns the error for a wrong field of a query. */
export function fault(field: string, message: string): ExploreError {
  return new ExploreError("invalid_argument", message, field);
}

/** Reads the fields of a query. @throws ExploreError for an unknown field. */
export function objectOf(body: unknown, known: readonly string[]): Fields {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw fault("", "the body must be a JSON object");
  }
  for (const name of Object.keys(body)) {
    if (!known.includes(name)) throw fault(name, `there is no field ${quote(name)}: ${known.join(", ")}`);
  }
  return body as Fields;
}

function readRange(fields: Fields, now: number): TimeRange {
  const bound = (name: "from" | "to", otherwise: string): number => {
    const text = fields[name] ?? otherwise;
    const time = typeof text === "string" ? readBound(text, now) : undefined;
    if (time === undefined) {
      throw fault(name, `${name} must be a time such as 2026-11-22T04:00:00Z, or relative: -15m, -1h, -7d, now`);
    }
    if (time < firstTime || time > lastTime) throw fault(name, `${name} must lie between the years 1970 and 2200`);
    return time;
  };
  const range = { from: bound("from", "-1h"), to: bound("to", "now") };
  if (range.from >= range.to) throw fault("from", "from must be before to");
  return range;
}

/** Aligns the start of the range with a bucket. */
function alignRange({ from, to }: TimeRange, seconds: number): TimeRange {
  const step = 1000 * seconds;
  return seconds === 0 ? { from, to } : { from: Math.floor(from / step) * step, to };
}

function readGranularity(fields: Fields, { from, to }: TimeRange, otherwise: string): number {
  const asked = readChoice(fields, "granularity", ["auto", "none", ...Object.keys(granularities)], otherwise);
  if (asked === "none") return 0;
  const seconds = (to - from) / 1000;
  if (asked === "auto") return autoGranularity(seconds);
  const step = granularities[asked as keyof typeof granularities];
  if (seconds / step > maxBuckets) {
    throw fault("granularity", `this range has more than ${maxBuckets} times ${asked}: ask for a coarser granularity`);
  }
  return step;
}

function autoGranularity(seconds: number): number {
  if (seconds <= 900) return granularities["10s"];
  if (seconds <= 7200) return granularities["1m"];
  if (seconds <= 43_200) return granularities["5m"];
  if (seconds <= 30 * 86_400) return granularities["1h"];
  // The bucket has several days, so that no range has more values than a query may return.
  return granularities["1d"] * Math.ceil(seconds / granularities["1d"] / maxBuckets);
}

function readFilter(fields: Fields): Filter | undefined {
  const text = fields["filter"] ?? "";
  if (typeof text !== "string") throw fault("filter", "filter must be a text");
  if (text.trim() === "") return undefined;
  try {
    return parseFilter(text, "filter", recordVocabulary);
  } catch (error) {
    if (error instanceof FilterError) throw fault("filter", error.message);
    throw error;
  }
}

function readNames(fields: Fields, name: string, max: number): readonly string[] {
  const names = fields[name] ?? [];
  if (!Array.isArray(names) || names.some((each) => typeof each !== "string")) {
    throw fault(name, `${name} must be a list of names of fields`);
  }
  if (names.length > max) throw fault(name, `${name} has at most ${max} names`);
  if (new Set(names).size < names.length) throw fault(name, `${name} has a name twice`);
  return names as string[];
}

function readChoice<T extends string>(fields: Fields, name: string, choices: readonly T[], otherwise: T): T {
  const given = fields[name] ?? otherwise;
  const found = choices.find((choice) => choice === given);
  if (found === undefined) throw fault(name, `${name} must be one of ${choices.join(", ")}`);
  return found;
}

function readNumber(fields: Fields, name: string, min: number, max: number): number | undefined {
  const given = fields[name] ?? undefined;
  if (given === undefined) return undefined;
  if (typeof given !== "number" || !(given >= min && given <= max)) {
    throw fault(name, `${name} must be a number from ${min} to ${max}`);
  }
  return given;
}

function readWhole(fields: Fields, name: string, min: number, max: number): number | undefined {
  const given = readNumber(fields, name, min, max);
  if (given !== undefined && !Number.isInteger(given)) throw fault(name, `${name} must be a whole number`);
  return given;
}

function readFlag(fields: Fields, name: string): boolean {
  const given = fields[name] ?? false;
  if (typeof given !== "boolean") throw fault(name, `${name} must be true or false`);
  return given;
}
