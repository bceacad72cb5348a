import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { timeField, type Column, columnOf } from "../column.ts";
import { recordSum, type Summand } from "../query/sql-dialect.ts";
import { duckDbDialect, quoted } from "./duckdb-table.ts";
import { cellOf, tableOf, weightColumn, type Partition } from "./partition.ts";
import {
  minutesOf,
  sourceColumn,
  sourcesOf,
  sumColumns,
  type RolledUp,
  addColumns,
  readRollupFile,
  type RollupFile,
} from "./plan-query.ts";
import type { Clock, Log } from "../../base/report/index.ts";
import { createDatabaseFiles } from "./database-files.ts";

interface RollUpOptions {
  readonly connection: DuckDBConnection;
  readonly partition: Partition;
  /** The name of the file of rollups. */
  readonly target: string;
  /** Which number its rows have there. */
  readonly id: number;
  /** What is kept, all of which the target has. */
  readonly columns: readonly Column[];
  /** The fields that have the sums. */
  readonly columnOf: (field: string) => Column;
  readonly signal: AbortSignal;
}

/** How many rows are grouped at once; the rows of a minute are never divided. */
const sliceRows = 500_000;
const minuteNs = 60_000_000_000n;
const summands: readonly Summand[] = ["bytes", "packets", "flows"];
const time = quoted(timeField);
const minuteOf = (instant: string): string => `epoch_ns(${instant}) // ${minuteNs}`;

/**
 * Adds the sums of the rows of a file by minute to a file of rollups: all of them, or none when it fails or the process dies.
 *
 * @returns undefined for a file without a time.
 */
async function rollUp(options: RollUpOptions): Promise<RolledUp | undefined> {
  const { connection, partition, target, id } = options;
  const { id: source, name, from, to, maxWeight } = partition;
  if (from === undefined || to === undefined) return undefined;
  const minute = minuteOf(cellOf(options.columnOf(timeField), partition));
  const counted = await connection.runAndReadAll(
    `SELECT ${minute} AS m, count(*) FROM ${tableOf(name)} WHERE ${time} IS NOT NULL GROUP BY m ORDER BY m`,
  );
  const statement = sliceStatement(options);
  await connection.run("BEGIN TRANSACTION");
  try {
    for (const [first, last] of slicesOf(counted.getRows().map(([at, rows]) => [at as bigint, Number(rows)]))) {
      options.signal.throwIfAborted();
      const range = { from: first * minuteNs, to: (last + 1n) * minuteNs };
      await connection.run(statement, { id, from: range.from, to: range.to });
    }
    await connection.run(`INSERT INTO ${sourcesOf(target)} VALUES ($id, $name, $from, $to, $weight)`, {
      id,
      name: source,
      from: BigInt(from),
      to: BigInt(to),
      weight: maxWeight,
    });
    await connection.run("COMMIT");
  } catch (error) {
    await connection.run("ROLLBACK").catch(() => {});
    throw error;
  }
  await connection.run(`CHECKPOINT ${quoted(target)}`);
  return { id, name: source, from, to, maxWeight };
}

/** The first and last minutes of slices that have not many rows. */
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

function sliceStatement({ partition, target, columns, columnOf: columnNamed }: RollUpOptions): string {
  const has = (column: Column): string => cellOf(column, partition);
  const dialect = { ...duckDbDialect, column: has };
  const weight = partition.maxWeight > 1 ? quoted(weightColumn) : undefined;
  const sums = summands.map((summand) => {
    const value = recordSum(summand, { dialect, columnOf: columnNamed, weight });
    return `sum((${value})::HUGEINT) AS s_${summand}`;
  });
  // A row that lacks the counter adds nothing, and a sum of such rows is none.
  const halves = summands.flatMap((summand) => {
    const [low, high] = sumColumns[summand];
    const sum = `s_${summand}`;
    return [
      [low, `(${sum} & 18446744073709551615::HUGEINT)::UBIGINT`],
      [high, `(${sum} >> 64)::UBIGINT`],
    ] as const;
  });
  const names = columns.map(({ field }) => quoted(field));
  const values = columns.map((column, i) => `${has(column)} AS c${i}`);
  const keys = ["m", ...columns.map((_, i) => `c${i}`)].join(", ");
  const instant = has(columnNamed(timeField));
  const rows = `SELECT ${minuteOf(instant)} AS m, ${[...values, ...sums].join(", ")} FROM ${tableOf(partition.name)}
    WHERE ${instant} >= make_timestamp_ns($from::BIGINT) AND ${instant} < make_timestamp_ns($to::BIGINT) GROUP BY ${keys}`;
  const into = [`"${sourceColumn}"`, time, ...names, ...halves.map(([name]) => `"${name}"`)].join(", ");
  const cells = [
    "$id::UINTEGER",
    `make_timestamp_ns(m * ${minuteNs})`,
    ...columns.map((_, i) => `c${i}`),
    ...halves.map(([, value]) => value),
  ];
  return `INSERT INTO ${minutesOf(target)} (${into}) SELECT ${cells.join(", ")} FROM (${rows})`;
}

export interface RollupsOptions {
  readonly instance: DuckDBInstance;
  readonly directory: string;
  readonly maxBytes: number;
  /** 0: none are made, and those that are there are removed. */
  readonly maxDays: number;
  /** Those of files of rows, from which rollups take what they keep. */
  readonly columns: () => readonly Column[];
  readonly isKept: (field: string) => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** Sums of records by minute: files of days. Each has the files of rows of which it was made. */
export interface Rollups {
  /** The oldest first. */
  files(): readonly RollupFile[];
  /** Makes rollups of a complete file of rows, which must stay until then. One at a time. */
  add(partition: Partition): Promise<void>;
  /** Whether a complete file of rows has no rollups yet, and gets them. */
  lacks(partition: Partition): boolean;
  /** The first of such files; undefined after a failure for a while, too. */
  next(partitions: readonly Partition[]): Partition | undefined;
  /** Removes files that are too old or too many. */
  tidy(): Promise<void>;
  bytes(): number;
  readonly setAside: number;
  /** Files of rows of which rollups could not be made. */
  readonly failures: number;
  /** Breaks off what is being made. */
  close(): Promise<void>;
}

const minFiles = 12;
const maxFileBytes = 256 * 2 ** 20;
const dayMs = 86_400_000;
/** After a failure. */
const pauseMs = 60_000;

/** @throws Error when another process has the files. */
export async function openRollups(options: RollupsOptions): Promise<Rollups> {
  const { instance, directory, maxBytes, maxDays, columns, isKept, clock, log } = options;
  const connection = await instance.connect();
  const own = createDatabaseFiles({ connection, directory, kind: "minutes", log });
  const wanted = (): readonly Column[] => columns().filter(({ field }) => isKept(field));
  const files: RollupFile[] = [];
  for (const name of own.list()) {
    const file = await own.attachOld(name, () => readRollupFile(connection, name, wanted()));
    if (file === undefined) continue;
    if (file.sources.length > 0) files.push(file);
    else await own.remove(name);
  }
  const done = new Set(files.flatMap(({ sources }) => sources.map(({ name }) => name)));
  let failures = 0;
  let failedAt = Number.NEGATIVE_INFINITY;
  const closing = new AbortController();
  let adding: Promise<void> | undefined;
  const worker = await instance.connect();

  const bytes = (): number => files.reduce((sum, { name }) => sum + own.bytes(name), 0);
  const lacks = ({ id, isComplete, rows, to }: Partition): boolean =>
    isComplete && rows > 0 && maxDays > 0 && (to ?? 0) >= oldest() && !done.has(id);
  const oldest = (): number => clock.now() - maxDays * dayMs;

  /** The file for the rows of a partition: the last one, or a new one. */
  const fileFor = async ({ id }: Partition): Promise<RollupFile> => {
    const day = id.slice("flows-".length, "flows-".length + 8);
    const last = files.at(-1);
    const isLarge = last !== undefined && own.bytes(last.name) > Math.min(maxBytes / minFiles, maxFileBytes);
    if (
      last?.name.startsWith(`minutes-${day}`) === true &&
      !isLarge &&
      (await addColumns(connection, last, wanted()))
    ) {
      return last;
    }
    const made = own.newName(day);
    const file = await own.attach(made, () => readRollupFile(connection, made, wanted()));
    files.push(file);
    files.sort((a, b) => (a.name < b.name ? -1 : 1));
    return file;
  };

  const make = async (partition: Partition): Promise<RolledUp | undefined> => {
    const file = await fileFor(partition);
    const id = file.sources.length === 0 ? 0 : Math.max(...file.sources.map((each) => each.id)) + 1;
    const kept = columns().filter(({ field }) => file.columns.has(field) && isKept(field));
    const rolled = await rollUp({
      connection: worker,
      partition,
      target: file.name,
      id,
      columns: kept,
      columnOf: (field) => columnOf(field) as Column,
      signal: closing.signal,
    });
    if (rolled !== undefined) file.sources.push(rolled);
    return rolled;
  };

  return {
    files: () => files,
    lacks,
    next: (partitions) => (clock.monotonic() - failedAt < pauseMs ? undefined : partitions.find(lacks)),
    async add(partition) {
      adding = make(partition).then(
        () => void done.add(partition.id),
        (error: unknown) => {
          if (closing.signal.aborted) return;
          failures++;
          failedAt = clock.monotonic();
          log.error({ file: partition.name, error }, "Explore cannot make rollups of a file of records, trying again");
        },
      );
      await adding;
      adding = undefined;
    },
    async tidy() {
      // Not under the hands of what writes to them.
      if (adding !== undefined) return;
      const isOld = ({ sources }: RollupFile): boolean => sources.every(({ to }) => to < oldest());
      const isTooMuch = (): boolean => files.length > 1 && bytes() > maxBytes * (1 - 1 / minFiles);
      for (let first = files[0]; first !== undefined && (isOld(first) || isTooMuch()); first = files[0]) {
        files.shift();
        await own.remove(first.name);
      }
    },
    bytes,
    get setAside() {
      return own.setAside;
    },
    get failures() {
      return failures;
    },
    async close() {
      closing.abort();
      worker.interrupt();
      await adding;
      worker.closeSync();
      connection.closeSync();
    },
  };
}
