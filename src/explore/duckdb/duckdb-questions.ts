import { join } from "node:path";
import type { Clock } from "../../report/index.ts";
import { nearName, quote } from "../../text/index.ts";
import { columnOf, isMetadataName, type Column } from "../columns/column.ts";
import { ExploreError } from "../explore-error.ts";
import type { AnswerTable } from "../query/answer-table.ts";
import type { ExploreAnswer } from "../query/answer.ts";
import type { ExploreQuery, FlowsQuery, TimeRange } from "../query/explore-query.ts";
import type { FlowsAnswer } from "../query/flows-answer.ts";
import type { PlainValue, QueryEngine } from "../query/query-engine.ts";
import { createQueryGate } from "../query/query-gate.ts";
import { flowsStatement } from "../query/query-sql.ts";
import { recordOf } from "../query/record-of.ts";
import { runQuery } from "../query/run-query.ts";
import { createDuckDbEngine } from "./duckdb-engine.ts";
import type { OpenedDuckDb } from "./open-duckdb.ts";
import type { Partition } from "./partition.ts";
import { planQuery, type UsedRollups } from "./plan-query.ts";
import { writeParquet } from "./write-parquet.ts";

export interface DuckDbQuestionsOptions {
  /** @throws ExploreError when there is no store at present. */
  readonly opened: () => OpenedDuckDb;
  readonly directory: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** What is asked of the files of rows. */
export interface DuckDbQuestions {
  /** @throws ExploreError */
  query(query: ExploreQuery, signal: AbortSignal): Promise<ExploreAnswer>;
  /** @throws ExploreError */
  flows(query: FlowsQuery, signal: AbortSignal): Promise<FlowsAnswer>;
  /** A table as a file of Parquet. */
  parquet(table: AnswerTable): Promise<Uint8Array>;
}

const maxRunning = 2;
const maxWaiting = 16;

export function createDuckDbQuestions(options: DuckDbQuestionsOptions): DuckDbQuestions {
  const { opened, directory, timeoutMs, clock } = options;
  const gate = createQueryGate(maxRunning, maxWaiting);
  const engineOf = (partitions: readonly Partition[], rollups: readonly UsedRollups[] = []): QueryEngine => {
    const open = opened();
    const columns = new Map(open.store.columns().map((column) => [column.field, column]));
    return createDuckDbEngine({
      ...open,
      partitions,
      rollups,
      timeoutMs,
      columnOf: (field) => columns.get(field) ?? fieldNotSeen(field, columns.keys()),
    });
  };
  /** The oldest comes first. */
  const partitionsOf = ({ from, to }: TimeRange): readonly Partition[] => {
    const all = opened().store.partitions();
    const within = all.filter((each) => (each.from ?? 0) < to && (each.to ?? Number.POSITIVE_INFINITY) >= from);
    return within.length > 0 ? within : all.slice(-1);
  };
  const samplingOf = (partitions: readonly Partition[]): number =>
    partitions.reduce((most, { maxWeight }) => Math.max(most, maxWeight), 1);
  const isComplete = ({ from }: TimeRange): boolean => {
    const oldest = opened()
      .store.partitions()
      .find((each) => each.from !== undefined)?.from;
    return oldest !== undefined && oldest <= from;
  };

  /** A file may go while it is asked, because it is old: then the question is planned again. */
  const ask = <T>(signal: AbortSignal, answer: () => Promise<T>): Promise<T> =>
    gate.run(signal, async () => {
      for (let triesLeft = 2; ; triesLeft--) {
        try {
          return await opened().questionThreads.during(answer);
        } catch (error) {
          if (triesLeft === 0 || !isGone(error)) throw error;
        }
      }
    });

  return {
    query: (query, signal) =>
      ask(signal, async () => {
        const begun = clock.monotonic();
        const { store, rollups } = opened();
        const plan = planQuery(query, { partitions: store.partitions(), rollups: rollups.files() });
        const answer = await runQuery(plan.query, engineOf(plan.partitions, plan.rollups), signal);
        return {
          ...answer,
          sampling: plan.sampling,
          ...plan.coverage,
          store: "duckdb",
          elapsedMs: Math.round(clock.monotonic() - begun),
        };
      }),
    flows: (query, signal) =>
      ask(signal, async () => {
        const partitions = partitionsOf(query);
        const records: Readonly<Record<string, PlainValue>>[] = [];
        for (const partition of partitions.toReversed()) {
          const engine = engineOf([partition]);
          const columns =
            query.fields.length > 0
              ? query.fields.map((field) => engine.source.columnOf(field))
              : opened().store.columns();
          const limit = query.limit - records.length;
          if (limit === 0) break;
          const statement = flowsStatement({ ...query, source: engine.source }, columns, limit);
          for (const row of await engine.rows(statement, signal)) {
            records.push(
              recordOf(
                columns,
                row.map((value, i) => engine.plain(columns[i] as Column, value)),
              ),
            );
          }
        }
        return { records, sampling: samplingOf(partitions), complete: isComplete(query) };
      }),
    async parquet(table) {
      const connection = await opened().instance.connect();
      try {
        return await writeParquet(connection, join(directory, "tmp"), table);
      } finally {
        connection.closeSync();
      }
    },
  };
}

function isGone(error: unknown): boolean {
  return error instanceof Error && /^(?:Catalog|Binder) Error.* does not exist/.test(error.message);
}

/** A key of metadata may be one that no flow has had so far. @throws ExploreError for any other field. */
function fieldNotSeen(field: string, known: Iterable<string>): Column {
  const near = nearName(field, known);
  const column = columnOf(field);
  if (near === undefined && column !== undefined && isMetadataName(field)) return column;
  const hint =
    near === undefined ? ": SVC_EXPLORE_FIELDS adds fields" : `: did you mean ${near}? SVC_EXPLORE_FIELDS adds fields`;
  throw new ExploreError("invalid_argument", `Explore does not keep the field ${quote(field)}${hint}`);
}
