import type { DuckDBConnection } from "@duckdb/node-api";
import { timeField, type Column, columnOf } from "../column.ts";
import { flowedColumns, laterColumns } from "../booking.ts";
import { flowedPart } from "../query/flowed-sql.ts";
import { recordSum, type SqlDialect, type Summand } from "../query/sql-dialect.ts";
import { duckDbDialect, quoted } from "./duckdb-table.ts";
import { cellOf, flowedCells, tableOf, weightColumn, type Partition } from "./partition.ts";
import {
  countsFor,
  minutesOf,
  sourceColumn,
  sourcesOf,
  sumColumns,
  whenColumn,
  type RolledUp,
  addColumns,
  readRollupFile,
  type RollupFile,
} from "./plan-query.ts";
import { DatabaseFiles } from "./database-files.ts";
import type { StoreContext } from "./duckdb-instance.ts";

/** Number of rows that are grouped at once. The rows of a minute are never divided. */
const sliceRows = 500_000;
const minuteNs = 60_000_000_000n;
/** Sums booked over the flow time. The number of flows is booked at receipt. */
const spread = ["bytes", "packets"] as const satisfies readonly Summand[];
type Spread = (typeof spread)[number];
/** Names of the sums, in the order of {@link bookedRows}. */
const sumNames = [
  ...spread,
  "flows",
  ...spread.flatMap((summand) => [`${summand}Then`, `${summand}Before`] as const),
] as const;
const time = quoted(timeField);
const minuteOf = (instant: string): string => `epoch_ns(${instant}) // ${minuteNs}`;

/** Returns the column of a field with a sum. */
const columnNamed = (field: string): Column => columnOf(field) as Column;

/**
 * Adds the per-minute sums of a row file to a rollup file: all of them, or none when it fails or the process dies.
 *
 * @param target the name of the rollup file.
 * @param id the number of its rows there.
 * @param columns the fields to keep, all of which the target has.
 * @returns undefined for a file without a time.
 */
async function rollUp(
  connection: DuckDBConnection,
  partition: Partition,
  target: string,
  id: number,
  columns: readonly Column[],
  signal: AbortSignal,
): Promise<RolledUp | undefined> {
  const { id: source, name, from, to, maxWeight } = partition;
  if (from === undefined || to === undefined) return undefined;
  const { flowedFrom = from } = partition;
  const minute = minuteOf(cellOf(columnNamed(timeField), partition));
  const counted = await connection.runAndReadAll(
    `SELECT ${minute} AS m, count(*) FROM ${tableOf(name)} WHERE ${time} IS NOT NULL GROUP BY m ORDER BY m`,
  );
  const statement = sliceStatement(partition, target, columns);
  await connection.run("BEGIN TRANSACTION");
  try {
    for (const [first, last] of slicesOf(counted.getRows().map(([at, rows]) => [at as bigint, Number(rows)]))) {
      signal.throwIfAborted();
      const range = { from: first * minuteNs, to: (last + 1n) * minuteNs };
      await connection.run(statement, { id, from: range.from, to: range.to });
    }
    await connection.run(
      `INSERT INTO ${sourcesOf(target)} (id, name, "from", "to", weight, flowed) VALUES ($id, $name, $from, $to, $weight, $flowed)`,
      {
        id,
        name: source,
        from: BigInt(from),
        to: BigInt(to),
        weight: maxWeight,
        flowed: BigInt(flowedFrom),
      },
    );
    await connection.run("COMMIT");
  } catch (error) {
    await connection.run("ROLLBACK").catch(() => {});
    throw error;
  }
  await connection.run(`CHECKPOINT ${quoted(target)}`);
  return { id, name: source, from, to, flowedFrom, maxWeight };
}

/** Returns the first and last minutes of slices with a limited number of rows. */
function* slicesOf(minutes: readonly (readonly [bigint, number])[]): Generator<readonly [bigint, bigint]> {
  let first: bigint | undefined;
  let rows = 0;
  for (const [i, [at, count]] of minutes.entries()) {
    first ??= at;
    rows += count;
    const next = minutes[i + 1];
    if (next !== undefined && rows + next[1] <= sliceRows) continue;
    yield [first, at];
    first = undefined;
    rows = 0;
  }
}

function sliceStatement(partition: Partition, target: string, columns: readonly Column[]): string {
  const { largest, maxWeight, rows: count } = partition;
  const isSmall = largest * maxWeight * count < 2 ** 63;
  // A row without the counter adds nothing, and a sum of only such rows is NULL.
  const halves = sumNames.flatMap((name): (readonly [string, string])[] => {
    const [low, high] = sumColumns[name];
    const sum = `"${name}"`;
    const lower = isSmall ? sum : `(${sum} & 18446744073709551615::HUGEINT)`;
    const upper = isSmall ? `CASE WHEN ${sum} IS NOT NULL THEN 0 END` : `(${sum} >> 64)`;
    return [
      [low, `${lower}::UBIGINT`],
      [high, `${upper}::UBIGINT`],
    ];
  });
  const names = columns.map(({ field }) => quoted(field));
  const kept = columns.map((_, i) => `c${i}`);
  const into = [`"${sourceColumn}"`, time, `"${whenColumn}"`, ...names, ...halves.map(([name]) => `"${name}"`)];
  const cells = [
    "$id::UINTEGER",
    `make_timestamp_ns(m * ${minuteNs})`,
    "w",
    ...kept,
    ...halves.map(([, value]) => value),
  ];
  const keys = ["m", "w", ...kept].join(", ");
  const added = sumNames.map((name) => `sum("${name}"${isSmall ? "" : "::HUGEINT"}) AS "${name}"`);
  const rows = `SELECT ${[keys, ...added].join(", ")} FROM (${bookedRows(partition, columns)}) GROUP BY ${keys}`;
  return `INSERT INTO ${minutesOf(target)} (${into.join(", ")}) SELECT ${cells.join(", ")} FROM (${rows})`;
}

/**
 * Returns one row for the minute of receipt of a record, with the amounts that flowed in that minute and in the one before: most flows are no older.
 * Other flows have one more row for each minute in which bytes flowed: `m w c0 …` and the sums.
 */
function bookedRows(partition: Partition, columns: readonly Column[]): string {
  const { largest, longestFlow, maxWeight } = partition;
  const dialect: SqlDialect = { ...duckDbDialect, column: (column) => cellOf(column, partition) };
  const isSmall = largest * Math.max(maxWeight, longestFlow + 1) < 2 ** 62;
  const number = (value: string): string => `CAST(${value} AS ${isSmall ? "BIGINT" : "UBIGINT"})`;
  const weighed = (value: string): string =>
    maxWeight === 1 ? value : isSmall ? `(${value}) * weight` : dialect.product(`(${value})`, "weight");
  const instant = dialect.column(columnNamed(timeField));
  const times = flowedCells(partition);
  const later = (field: string): string => (partition.columns.has(field) ? number(quoted(field)) : "NULL");
  const read = [
    `${minuteOf(instant)} AS m`,
    `${times.start} AS flow_start`,
    `${times.end} AS flow_end`,
    ...columns.map((column, i) => `${dialect.column(column)} AS c${i}`),
    ...spread.map((summand) => `${number(recordSum(summand, dialect, columnNamed, undefined))} AS v_${summand}`),
    ...spread.map((summand) => `${later(laterColumns[summand].field)} AS l_${summand}`),
    `${maxWeight > 1 ? `${quoted(weightColumn)}::BIGINT` : "1"} AS weight`,
  ];
  const range = `${instant} >= make_timestamp_ns($from::BIGINT) AND ${instant} < make_timestamp_ns($to::BIGINT)`;
  const minutes = "flow_start // 60000 AS first, flow_end // 60000 AS last";
  const all = `(SELECT *, ${minutes} FROM (SELECT ${read.join(", ")} FROM ${tableOf(partition.name)} WHERE ${range}))`;
  const partIn = (summand: Spread, minute: string): string =>
    flowedPart(
      dialect,
      { value: `v_${summand}`, flow: { from: "flow_start", to: "flow_end" }, isSmall },
      { from: `${minute} * 60000`, to: `(${minute} + 1) * 60000` },
    );
  // A file of the version before lacks the column.
  const ofMinute = (summand: Spread): string =>
    partition.columns.has(laterColumns[summand].field) ? `l_${summand}` : partIn(summand, "m");
  // Rows without flow times count at receipt, and their sums occur once.
  const hasTimes = partition.columns.has(flowedColumns.start.field);
  const kept = columns.map((_, i) => `c${i}`);
  const received = [
    "m",
    `${hasTimes ? countsFor.both : "NULL"}::UTINYINT AS w`,
    ...kept,
    ...spread.map((summand) => `${weighed(`v_${summand}`)} AS "${summand}"`),
    "weight AS flows",
    ...spread.flatMap((summand) => {
      const value = `coalesce(v_${summand}, 0)`;
      const part = `coalesce(${ofMinute(summand)}, 0)`;
      const then = `CASE WHEN last = m AND first = m THEN ${value} WHEN last = m AND first = m - 1 THEN ${part} END`;
      const before = `CASE WHEN first <> m - 1 THEN NULL WHEN last = m THEN ${value} - ${part} WHEN last = m - 1 THEN ${value} END`;
      return [
        `${hasTimes ? weighed(then) : "NULL::BIGINT"} AS "${summand}Then"`,
        `${hasTimes ? weighed(before) : "NULL::BIGINT"} AS "${summand}Before"`,
      ];
    }),
  ];
  const ofReceived = `SELECT ${received.join(", ")} FROM ${all}`;
  if (!hasTimes) return ofReceived;
  const older = `(SELECT *, ${dialect.eachOf("first", "last", 1)} AS n FROM ${all} WHERE first < m - 1 OR last > m)`;
  const flowed = [
    "n AS m",
    `${countsFor.flowed}::UTINYINT AS w`,
    ...kept,
    ...spread.map((summand) => `${weighed(partIn(summand, "n"))} AS "${summand}"`),
    "NULL AS flows",
    ...spread.flatMap(() => ["NULL", "NULL"]),
  ];
  return `${ofReceived} UNION ALL SELECT ${flowed.join(", ")} FROM ${older}`;
}

const minFiles = 12;
const maxFileBytes = 256 * 2 ** 20;
const dayMs = 86_400_000;
/** Pause after a failure, in milliseconds. */
const pauseMs = 60_000;

/** Sums of records by minute, in files by day. Each file lists the row files that it was made from. */
export class Rollups {
  readonly #columns: () => readonly Column[];
  readonly #isKept: (field: string) => boolean;
  readonly #context: StoreContext;
  readonly #connection: DuckDBConnection;
  readonly #worker: DuckDBConnection;
  readonly #own: DatabaseFiles;
  readonly #files: RollupFile[] = [];
  /** The row files that have rollups. */
  readonly #done = new Set<string>();
  #failures = 0;
  #failedAt = Number.NEGATIVE_INFINITY;
  readonly #closing = new AbortController();
  #adding: Promise<void> | undefined;

  private constructor(
    columns: () => readonly Column[],
    isKept: (field: string) => boolean,
    context: StoreContext,
    connection: DuckDBConnection,
    worker: DuckDBConnection,
  ) {
    this.#columns = columns;
    this.#isKept = isKept;
    this.#context = context;
    this.#connection = connection;
    this.#worker = worker;
    this.#own = new DatabaseFiles(connection, context.config.directory, "minutes", context.log);
  }

  /** Opens the files. @param columns those of row files, from which rollups take what they keep. @throws Error when another process uses the files. */
  static async open(
    columns: () => readonly Column[],
    isKept: (field: string) => boolean,
    context: StoreContext,
  ): Promise<Rollups> {
    const { instance } = context;
    const rollups = new Rollups(columns, isKept, context, await instance.connect(), await instance.connect());
    await rollups.#readFiles();
    return rollups;
  }

  /** Returns the files, oldest first. */
  files(): readonly RollupFile[] {
    return this.#files;
  }

  get setAside(): number {
    return this.#own.setAside;
  }

  /** The number of row files for which rollups failed. */
  get failures(): number {
    return this.#failures;
  }

  bytes(): number {
    return this.#files.reduce((sum, { name }) => sum + this.#own.bytes(name), 0);
  }

  /** Reports whether a complete row file needs rollups and has none yet. */
  lacks({ id, isComplete, rows, to }: Partition): boolean {
    const isNew = isComplete && rows > 0 && !this.#done.has(id);
    return isNew && this.#context.config.rollups.maxDays > 0 && (to ?? 0) >= this.#oldest();
  }

  /** Returns the first file without rollups; undefined also for a while after a failure. */
  next(partitions: readonly Partition[]): Partition | undefined {
    if (this.#context.clock.monotonic() - this.#failedAt < pauseMs) return undefined;
    return partitions.find((partition) => this.lacks(partition));
  }

  /** Makes rollups of a complete row file, which must stay until that is done. One call at a time. */
  async add(partition: Partition): Promise<void> {
    const { log, clock } = this.#context;
    this.#adding = this.#make(partition).then(
      () => void this.#done.add(partition.id),
      (error: unknown) => {
        if (this.#closing.signal.aborted) return;
        this.#failures++;
        this.#failedAt = clock.monotonic();
        log.error({ file: partition.name, error }, "Explore cannot make rollups of a file of records, trying again");
      },
    );
    await this.#adding;
    this.#adding = undefined;
  }

  /** Removes files that are too old or too many. */
  async tidy(): Promise<void> {
    // No file is removed while it is written.
    if (this.#adding !== undefined) return;
    const files = this.#files;
    const { maxBytes } = this.#context.config.rollups;
    const isOld = ({ sources }: RollupFile): boolean => sources.every(({ to }) => to < this.#oldest());
    const isTooMuch = (): boolean => files.length > 1 && this.bytes() > maxBytes * (1 - 1 / minFiles);
    for (let first = files[0]; first !== undefined && (isOld(first) || isTooMuch()); first = files[0]) {
      files.shift();
      await this.#own.remove(first.name);
    }
  }

  /** Aborts the rollup in progress. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#worker.interrupt();
    await this.#adding;
    this.#worker.closeSync();
    this.#connection.closeSync();
  }

  async #readFiles(): Promise<void> {
    for (const name of this.#own.list()) {
      const file = await this.#own.attachOld(name, () => readRollupFile(this.#connection, name, this.#wanted()));
      if (file === undefined) continue;
      if (file.sources.length > 0) this.#files.push(file);
      else await this.#own.remove(name);
      for (const source of file.sources) this.#done.add(source.name);
    }
  }

  #wanted(): readonly Column[] {
    return this.#columns().filter(({ field }) => this.#isKept(field));
  }

  #oldest(): number {
    return this.#context.clock.now() - this.#context.config.rollups.maxDays * dayMs;
  }

  async #make(partition: Partition): Promise<void> {
    const file = await this.#fileFor(partition);
    const id = file.sources.length === 0 ? 0 : Math.max(...file.sources.map((each) => each.id)) + 1;
    const kept = this.#wanted().filter(({ field }) => file.columns.has(field));
    const rolled = await rollUp(this.#worker, partition, file.name, id, kept, this.#closing.signal);
    if (rolled !== undefined) file.sources.push(rolled);
  }

  /** Returns the file for the rows of a partition: the last one, or a new one. */
  async #fileFor({ id }: Partition): Promise<RollupFile> {
    const day = id.slice("flows-".length, "flows-".length + 8);
    const last = this.#files.at(-1);
    const mostBytes = Math.min(this.#context.config.rollups.maxBytes / minFiles, maxFileBytes);
    if (
      last?.name.startsWith(`minutes-${day}`) === true &&
      this.#own.bytes(last.name) <= mostBytes &&
      (await addColumns(this.#connection, last, this.#wanted()))
    ) {
      return last;
    }
    const made = this.#own.newName(day);
    const file = await this.#own.attach(made, () => readRollupFile(this.#connection, made, this.#wanted()));
    this.#files.push(file);
    this.#files.sort((a, b) => (a.name < b.name ? -1 : 1));
    return file;
  }
}
