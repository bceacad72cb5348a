import type { DuckDBConnection } from "@duckdb/node-api";
import { timeField, type Column } from "../columns/column.ts";
import { recordSum, type Summand } from "../query/record-sum.ts";
import { duckDbDialect, quoted } from "./duckdb-dialect.ts";
import { cellOf, tableOf, weightColumn, type Partition } from "./partition.ts";
import { minutesOf, sourceColumn, sourcesOf, sumColumns, type RolledUp } from "./rollup-file.ts";

export interface RollUpOptions {
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
export async function rollUp(options: RollUpOptions): Promise<RolledUp | undefined> {
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

function sliceStatement({ partition, target, columns, columnOf }: RollUpOptions): string {
  const has = (column: Column): string => cellOf(column, partition);
  const dialect = { ...duckDbDialect, column: has };
  const weight = partition.maxWeight > 1 ? quoted(weightColumn) : undefined;
  const sums = summands.map((summand) => {
    const value = recordSum(summand, { dialect, columnOf, weight });
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
  const instant = has(columnOf(timeField));
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
