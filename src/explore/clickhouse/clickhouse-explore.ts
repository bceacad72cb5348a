import { formatAddress, type Address, parseAddress, unmapAddress } from "../../base/ip/index.ts";
import { flowedBounds, timeFields } from "../booking.ts";
import { columnOf, ExploreError, exploreColumns, timeField, type Column } from "../column.ts";
import {
  bucketName,
  recordSum,
  sumName,
  type PlainValue,
  type QueryEngine,
  type SqlDialect,
  type SqlValue,
  type Statement,
  type Summand,
  type WantedRows,
} from "../query/sql-dialect.ts";
import type { Clock } from "../../base/report/index.ts";
import type { AnswerTable, Coverage, ExploreAnswer, FlowsAnswer } from "../query/answer.ts";
import { rangeBefore, type ExploreQuery, type FlowsQuery, type TimeRange } from "../query/explore-query.ts";
import { QueryGate, recordOf, runQuery } from "../query/run-query.ts";
import { flowsStatement } from "../query/query-sql.ts";
import { partsInBuckets, partsInRange, partsOfLongFlows, type FlowedRows } from "../query/flowed-sql.ts";
import { fieldStatus, type ExploreStatus } from "../status.ts";

const types: Readonly<Record<SqlValue["type"], string>> = {
  text: "String",
  address: "String",
  whole: "Int128",
  double: "Float64",
  boolean: "Bool",
  time: "Int64",
};

const mappedFirst = 0xffffn << 32n;
const mappedLast = mappedFirst + 0xffff_ffffn;

function quotedName(name: string): string {
  return `\`${name.replaceAll("\\", "\\\\").replaceAll("`", "\\`")}\``;
}

function quotedText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

/** Returns a statement parameter in the TSV format. */
function parameterText({ value }: SqlValue): string {
  if (value === null) return "\\N";
  const escapes: Readonly<Record<string, string>> = {
    "\\": "\\\\",
    "\t": "\\t",
    "\n": "\\n",
    "\r": "\\r",
    "\0": "\\0",
  };
  // oxlint-disable-next-line no-control-regex
  return String(value).replace(/[\\\t\n\r\0]/g, (character) => escapes[character] as string);
}

/** Functions that convert texts to numbers. */
const numbersOfTexts: Readonly<Partial<Record<Column["type"], string>>> = {
  integer: "toInt64OrNull",
  unsigned: "toUInt64OrNull",
  double: "toFloat64OrNull",
};

/** Creates the dialect of ClickHouse. @param columns by field; a field without a column is in the map `other`. */
function createClickHouseDialect(columns: ClickHouseExploreOptions["columns"]): SqlDialect {
  const valueOf = ({ field, type, isArray }: Column): string => {
    const own = columns.get(field);
    if (own === undefined) {
      const text = `other[${quotedText(field)}]`;
      const numberOf = isArray ? undefined : numbersOfTexts[type];
      return numberOf === undefined ? `nullIf(${text}, '')` : `${numberOf}(${text})`;
    }
    const name = quotedName(own.name);
    // Missing values are empty where a column has no NULL.
    if (isArray || own.type.startsWith("Nullable") || own.type.startsWith("DateTime")) return name;
    return own.type === "IPv6" ? `nullIf(${name}, toIPv6('::'))` : `nullIf(${name}, '')`;
  };
  return {
    column: valueOf,
    kept: valueOf,
    opened: (kept) => kept,
    typed: (value) => value,
    parameter(index, { type, value }) {
      const wanted = value === null ? `Nullable(${types[type]})` : types[type];
      const parameter = `{p${index}:${wanted}}`;
      if (type === "address") return value === null ? "CAST(NULL AS Nullable(IPv6))" : `toIPv6(${parameter})`;
      return type === "time" ? `fromUnixTimestamp64Nano(${parameter}, 'UTC')` : parameter;
    },
    lower: (text) => `lowerUTF8(${text})`,
    like: (text, pattern) => `${text} LIKE ${pattern}`,
    left: (text, characters) => `leftUTF8(${text}, ${characters})`,
    hasRegex: (text, expression) => `match(${text}, ${expression})`,
    asText: (value, type) => (type === "text" ? value : `toString(${value})`),
    isBetween(address, first, last, values) {
      const parameter = (each: Address): string => values.add({ type: "address", value: formatAddress(each) });
      const range = `${address} BETWEEN ${parameter(first)} AND ${parameter(last)}`;
      const hasMapped = first.family === 6 && first.value <= mappedLast && last.value >= mappedFirst;
      if (!hasMapped) return `(${range})`;
      // This range contains the IPv4 addresses, which are not IPv6.
      return `(${range} AND NOT (${address} BETWEEN toIPv6('::ffff:0.0.0.0') AND toIPv6('::ffff:255.255.255.255')))`;
    },
    anyElement: (list, isTrue) => `arrayExists(x -> coalesce(${isTrue("x")}, FALSE), ${list})`,
    isNotEmpty: (list) => `notEmpty(${list})`,
    unnest: (list) => `arrayJoin(if(empty(${list}), [NULL], arrayMap(x -> toNullable(x), ${list})))`,
    bucket(time, seconds) {
      const step = 1000 * seconds;
      return `intDiv(toUnixTimestamp64Milli(toDateTime64(${time}, 3, 'UTC')), ${step}) * ${step}`;
    },
    instant: (milliseconds) => `fromUnixTimestamp64Milli(toInt64(${milliseconds}), 'UTC')`,
    milliseconds: (time) => `toUnixTimestamp64Milli(toDateTime64(${time}, 3, 'UTC'))`,
    divide: (dividend, divisor) => `intDiv(${dividend}, ${divisor})`,
    double: (value) => `toFloat64(${value})`,
    unsigned: (value) => `toUInt64(${value})`,
    eachOf: (first, last, step) => `toInt64(arrayJoin(range(toUInt64(${first}), toUInt64(${last} + 1), ${step})))`,
    sum: (value) => `sum(toInt128(${value}))`,
    distinct: (value) => `uniq(${value})`,
    product: (value, weight) => `toInt128(${value}) * ${weight}`,
  };
}

/** Sends a statement to the server. @returns the lines of the answer. @throws ExploreError; the reason of the signal when it is aborted. */
export type AskClickHouse = (
  statement: string,
  parameters: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<string>;

export interface ClickHouseExploreOptions {
  /** Writes a table as a Parquet file. */
  readonly parquet: (table: AnswerTable) => Promise<Uint8Array>;
  readonly ask: AskClickHouse;
  readonly database: string;
  /** The table of flows. */
  readonly table: string;
  /** The ClickHouse column names and types, by field. */
  readonly columns: ReadonlyMap<string, { readonly name: string; readonly type: string }>;
  /** Fields in addition to the default ones. */
  readonly fields: readonly string[];
  readonly memoryBytes: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

const maxRunning = 4;
const maxWaiting = 16;

/** Runs statements over the table of flows. */
class ClickHouseEngine implements QueryEngine {
  dialect: SqlDialect;
  readonly plain = plainValue;
  /** The limit of `uniq`. */
  readonly countsUpTo = 65_536;
  readonly #options: ClickHouseExploreOptions;
  readonly #ask: AskClickHouse;
  readonly #table: string;
  readonly #settings: Readonly<Record<string, string>>;

  constructor(options: ClickHouseExploreOptions) {
    const { ask, database, table, columns, memoryBytes, timeoutMs } = options;
    this.#options = options;
    this.dialect = createClickHouseDialect(columns);
    this.#ask = ask;
    this.#table = `${quotedName(database)}.${quotedName(table)}`;
    this.#settings = {
      max_memory_usage: String(memoryBytes),
      max_execution_time: String(Math.ceil(timeoutMs / 1000)),
      cancel_http_readonly_queries_on_client_close: "1",
      output_format_json_quote_64bit_integers: "1",
      join_use_nulls: "0",
    };
  }

  /** Reads the columns of the table, which may be an operator's own, or of an earlier version. */
  async learn(signal: AbortSignal): Promise<void> {
    const { columns, database, table } = this.#options;
    const sql = `SELECT name FROM system.columns WHERE database = ${quotedText(database)} AND table = ${quotedText(table)}`;
    const names = new Set((await this.rows({ sql, values: [] }, signal)).map(([name]) => name));
    // A user without permission sees no columns there.
    const there = names.size === 0 ? columns : new Map([...columns].filter(([, { name }]) => names.has(name)));
    this.dialect = createClickHouseDialect(there);
  }

  columnOf(field: string): Column {
    const column = columnOf(field);
    if (column === undefined) throw new ExploreError("invalid_argument", `records have no field ${field}`);
    return column;
  }

  from(wanted: WantedRows): string {
    const { summand, granularitySeconds = 0, range } = wanted;
    const { dialect } = this;
    if (wanted.when === "flowed" && summand !== undefined) return this.#flowed(summand, granularitySeconds, range);
    const added = summand && recordSum(summand, dialect, (field) => this.columnOf(field), undefined);
    const sum = added === undefined ? "" : `, ${added} AS ${sumName}`;
    const time = dialect.column(this.columnOf(timeField));
    const bucket = granularitySeconds === 0 ? "" : `, ${dialect.bucket(time, granularitySeconds)} AS ${bucketName}`;
    return `(SELECT *${sum}${bucket} FROM ${this.#table} WHERE ${isFlow} AND ${time} >= ${dialect.instant(range.from)} AND ${time} < ${dialect.instant(range.to)}) r`;
  }

  /** Returns a row for each bucket in which bytes of a record flowed. */
  #flowed(summand: Summand, granularitySeconds: number, range: TimeRange): string {
    const { dialect } = this;
    const cellOf = (field: string): string => dialect.column(this.columnOf(field));
    const ms = (field: string): string => dialect.milliseconds(cellOf(field));
    const [from, to] = [String(range.from), String(range.to)];
    const { longest, latest, ahead } = flowedBounds;
    const offset = `coalesce(${cellOf(timeFields.offset)}, 0)`;
    const isPossible = `coalesce(said_start <= said_end AND said_end - said_start <= ${longest} AND said_end <= came + ${ahead} AND said_end >= came - ${latest}, FALSE)`;
    // It reads no row received earlier, or so late that it would be booked elsewhere.
    const came = cellOf(timeField);
    const read = `${came} >= ${dialect.instant(range.from - ahead)} AND ${came} < ${dialect.instant(range.to + longest + latest)}`;
    const value = recordSum(summand, dialect, (field) => this.columnOf(field), undefined);
    const said = `SELECT *, ${ms(timeField)} AS came, ${ms(timeFields.start)} - ${offset} AS said_start, ${ms(timeFields.end)} - ${offset} AS said_end, ${value} AS flow_value FROM ${this.#table} WHERE ${isFlow} AND ${read}`;
    const booked = `SELECT *, if(${isPossible}, coalesce(said_start, came), came) AS flow_start, if(${isPossible}, coalesce(said_end, came), came) AS flow_end FROM (${said})`;
    const rows = `(SELECT * FROM (${booked}) WHERE flow_end >= ${from} AND flow_start < ${to})`;
    const flows: FlowedRows = { rows, cells: ["*"], weighed: (sum) => sum, isSmall: false };
    if (granularitySeconds === 0) return `(${partsInRange(dialect, flows, { from, to })}) r`;
    const step = 1000 * granularitySeconds;
    const long = partsOfLongFlows(dialect, flows, step, { from, to }, true);
    return `(${partsInBuckets(dialect, flows, step, to)} UNION ALL ${long}) r`;
  }

  async rows({ sql, values }: Statement, signal: AbortSignal): Promise<unknown[][]> {
    const parameters = Object.fromEntries(values.map((value, i) => [`param_p${i}`, parameterText(value)]));
    const text = await this.#ask(`${sql} FORMAT JSONCompactEachRow`, { ...this.#settings, ...parameters }, signal);
    return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as unknown[]]));
  }

  /** Returns the number of flows, and the times of the oldest and the newest. */
  async bounds(signal: AbortSignal): Promise<{ readonly rows: number; readonly from: number; readonly to: number }> {
    const time = (word: string): string => `toUnixTimestamp64Milli(toDateTime64(${word}(timestamp), 3, 'UTC'))`;
    const sql = `SELECT count(), ${time("min")}, ${time("max")} FROM ${this.#table} WHERE ${isFlow}`;
    const [rows, from, to] = (await this.rows({ sql, values: [] }, signal))[0] ?? [];
    return { rows: Number(rows ?? 0), from: Number(from ?? 0), to: Number(to ?? 0) };
  }
}

/** True for flows, false for records of other kinds. */
const isFlow = "flow_record_type = ''";

/** Queries over the table that a ClickHouse output fills. */
export class ClickHouseExplore {
  readonly #options: ClickHouseExploreOptions;
  readonly #engine: ClickHouseEngine;
  readonly #gate = new QueryGate(maxRunning, maxWaiting);
  readonly #usual: readonly Column[];

  constructor(options: ClickHouseExploreOptions) {
    this.#options = options;
    this.#engine = new ClickHouseEngine(options);
    this.#usual = exploreColumns(options.fields);
  }

  async status(signal: AbortSignal): Promise<Omit<ExploreStatus, "droppedRows">> {
    const { database, table } = this.#options;
    const { rows, from, to } = await this.#engine.bounds(signal);
    const sql = `SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = ${quotedText(database)} AND table = ${quotedText(table)}`;
    // Not every user has the permission.
    const found = await this.#engine.rows({ sql, values: [] }, signal).catch(() => []);
    return {
      enabled: true,
      store: "clickhouse",
      ...(rows > 0 && { from: new Date(from).toISOString(), to: new Date(to).toISOString() }),
      rows,
      bytes: Number(found[0]?.[0] ?? 0),
      sampling: 1,
      fields: this.#usual.map((column) => fieldStatus(column, false)),
      retention: { hours: 0, bytes: 0 },
    };
  }

  /** Answers a query. @throws ExploreError */
  query(query: ExploreQuery, signal: AbortSignal): Promise<ExploreAnswer> {
    const { clock } = this.#options;
    return this.#gate.run(signal, async () => {
      refuseLimited(query);
      const begun = clock.monotonic();
      await this.#engine.learn(signal);
      const answer = await runQuery(query, this.#engine, signal);
      const { rows, from } = await this.#engine.bounds(signal);
      const since = rows > 0 ? from : undefined;
      const { missing: missingBefore } = query.compare ? coverageOf(rangeBefore(query), since) : {};
      return {
        ...answer,
        sampling: 1,
        ...coverageOf(query, since),
        ...(missingBefore && { missingBefore }),
        store: "clickhouse",
        elapsedMs: Math.round(clock.monotonic() - begun),
      };
    });
  }

  /** Returns single records. @throws ExploreError */
  flows(query: FlowsQuery, signal: AbortSignal): Promise<FlowsAnswer> {
    const engine = this.#engine;
    return this.#gate.run(signal, async () => {
      refuseLimited(query);
      await engine.learn(signal);
      const wanted = query.fields.length > 0 ? query.fields.map((field) => engine.columnOf(field)) : this.#usual;
      const found = await engine.rows(flowsStatement({ ...query, engine }, wanted, query.limit), signal);
      const { rows, from } = await engine.bounds(signal);
      const records = found.map((row) => recordOf(wanted, row, engine));
      return { records, sampling: 1, complete: rows > 0 && from <= query.from };
    });
  }

  /** Writes a table as a Parquet file. @throws ExploreError */
  parquet(table: AnswerTable): Promise<Uint8Array> {
    return this.#options.parquet(table);
  }
}

/** Refuses callers limited to scopes. Others than netgloss may write to the table, so its scopes prove nothing. */
function refuseLimited({ scopes }: Pick<ExploreQuery, "scopes">): void {
  if (scopes === undefined) return;
  throw new ExploreError("not_found", "records in ClickHouse are not for callers who are limited to scopes");
}

/**
 * Returns the coverage: the table has single records only.
 *
 * @param since the time of the oldest, in milliseconds since the epoch; undefined: there is none.
 */
function coverageOf({ from, to }: TimeRange, since: number | undefined): Coverage {
  const iso = (time: number): string => new Date(time).toISOString();
  const begin = Math.min(Math.max(from, since ?? to), to);
  const parts = begin < to ? ([{ kind: "records", from: iso(begin), to: iso(to) }] as const) : [];
  if (since !== undefined && since <= from) return { complete: true, parts };
  const missing = { from: iso(from), to: iso(begin), because: "nothing older is kept", lacking: [] };
  return { complete: false, parts, missing };
}

function plainValue(column: Column, value: unknown): PlainValue {
  if (value === null || value === undefined) return null;
  if (column.isArray) {
    const list = (value as unknown[]).map((item) => plainValue({ ...column, isArray: false }, item)) as string[];
    return list.length === 0 ? null : list;
  }
  switch (column.type) {
    case "address": {
      const address = parseAddress(value as string);
      return address === undefined ? (value as string) : formatAddress(unmapAddress(address));
    }
    case "integer":
    case "unsigned":
    case "double":
      return Number(value);
    case "boolean":
      return value === true;
    case "time":
      return `${(value as string).replace(" ", "T")}Z`;
    case "text":
      break;
  }
  return value as string;
}
