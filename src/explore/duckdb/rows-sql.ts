import { timeField, type Column } from "../columns/column.ts";
import type { RecordSource, WantedRows } from "../query/record-source.ts";
import { bucketName, recordSum, summandColumns, sumName, type Summand } from "../query/record-sum.ts";
import { duckDbDialect, quoted } from "./duckdb-dialect.ts";
import { cellOf, millisecondType, tableOf, weightColumn, type Partition } from "./partition.ts";
import type { UsedRollups } from "./plan-query.ts";
import { minutesOf, sourceColumn, sumColumns } from "./rollup-file.ts";

export interface RowsOptions {
  readonly partitions: readonly Partition[];
  readonly rollups: readonly UsedRollups[];
  readonly columnOf: (field: string) => Column;
}

/** The rows of files of records and of rollups as one table. A column that a file lacks is NULL there. */
export function rowsOf({ partitions, rollups, columnOf }: RowsOptions): RecordSource["from"] {
  const weight = partitions.some(({ maxWeight }) => maxWeight > 1) ? quoted(weightColumn) : undefined;

  const records = ({ columns, summand, granularitySeconds = 0, range }: WantedRows): string => {
    const summed = summand === undefined ? [] : summandColumns(summand, columnOf);
    const read = [...new Map([...columns, ...summed].map((column) => [column.field, column])).values()];
    const selects = partitions.map((partition) => {
      const cells = read.map((column) => namedCell(column, partition));
      const others = [...bucketCells(granularitySeconds), ...(weight === undefined ? [] : [weight])];
      const all = [...cells, ...others].join(", ") || "1 AS one";
      return `SELECT ${all} FROM ${tableOf(partition.name)} WHERE ${isWithin(range, partition)}`;
    });
    const bucket = granularitySeconds > 0 ? [bucketName] : [];
    const cells = [...columns.map(({ field }) => quoted(field)), ...bucket];
    const sum = summand && `${recordSum(summand, { dialect: duckDbDialect, columnOf, weight })} AS ${sumName}`;
    return `SELECT ${[...cells, ...(sum === undefined ? [] : [sum])].join(", ")} FROM (${selects.join(" UNION ALL ")})`;
  };
  const minutes = (
    { columns, granularitySeconds = 0, range }: WantedRows,
    summand: Summand,
    { file, sources }: UsedRollups,
  ): string => {
    const cells = [...columns.map((column) => namedCell(column, file)), ...bucketCells(granularitySeconds)];
    const [low, high] = sumColumns[summand].map(quoted);
    const sum = `${low}::HUGEINT + (${high}::HUGEINT << 64) AS ${sumName}`;
    const ids = sources.map(({ id }) => id).join(", ");
    return `SELECT ${[...cells, sum].join(", ")} FROM ${minutesOf(file.name)} WHERE "${sourceColumn}" IN (${ids}) AND ${isWithin(range, { milliseconds: noMilliseconds })}`;
  };
  return (wanted) => {
    const { summand } = wanted;
    const selects = [
      ...(partitions.length > 0 ? [records(wanted)] : []),
      ...(summand === undefined ? [] : rollups.map((used) => minutes(wanted, summand, used))),
    ];
    return `(${selects.join(" UNION ALL ")}) r`;
  };
}

/** Of the time as the file has it. */
function bucketCells(granularitySeconds: number): readonly string[] {
  if (granularitySeconds === 0) return [];
  return [`${duckDbDialect.bucket(quoted(timeField), granularitySeconds)} AS ${bucketName}`];
}

/** In the type of the file's column: a conversion of each row costs as much as a sum. */
function isWithin({ from, to }: WantedRows["range"], { milliseconds }: Pick<Partition, "milliseconds">): string {
  const time = quoted(timeField);
  const bound = (instant: string): string =>
    milliseconds.has(timeField) ? `CAST(CAST(${instant} AS TIMESTAMP) AS ${millisecondType})` : instant;
  return `${time} >= ${bound(from)} AND ${time} < ${bound(to)}`;
}

const noMilliseconds: ReadonlySet<string> = new Set();

function namedCell(column: Column, { columns, milliseconds = noMilliseconds }: Has): string {
  return `${cellOf(column, { columns, milliseconds })} AS ${quoted(column.field)}`;
}

interface Has {
  readonly columns: ReadonlySet<string>;
  readonly milliseconds?: ReadonlySet<string>;
}
