import { join } from "node:path";
import type { Clock } from "../../base/report/index.ts";
import type { AnswerTable, ExploreAnswer, FlowsAnswer } from "../query/answer.ts";
import type { ExploreQuery, FlowsQuery, TimeRange } from "../query/explore-query.ts";
import { flowsStatement } from "../query/query-sql.ts";
import { limitedTo } from "../query/limited-engine.ts";
import { QueryGate, recordOf, runQuery } from "../query/run-query.ts";
import { DuckDbEngine } from "./duckdb-engine.ts";
import type { EmbeddedExploreConfig } from "./duckdb-instance.ts";
import type { OpenedDuckDb } from "./open-duckdb.ts";
import { writeParquet } from "./parquet.ts";
import type { Partition } from "./partition.ts";
import { planQuery } from "./plan-query.ts";

const maxRunning = 2;
const maxWaiting = 16;

type QueryLimits = Pick<EmbeddedExploreConfig, "directory" | "timeoutMs" | "maxCountedRows">;

/** Queries of the files of rows. */
export class DuckDbQueries {
  readonly #opened: () => OpenedDuckDb;
  readonly #config: QueryLimits;
  readonly #clock: Clock;
  readonly #gate = new QueryGate(maxRunning, maxWaiting);

  /** @param opened throws ExploreError when there is no store at present. */
  constructor(opened: () => OpenedDuckDb, config: QueryLimits, clock: Clock) {
    this.#opened = opened;
    this.#config = config;
    this.#clock = clock;
  }

  /** @throws ExploreError */
  query(query: ExploreQuery, signal: AbortSignal): Promise<ExploreAnswer> {
    return this.#ask(signal, async (open, ending) => {
      const begun = this.#clock.monotonic();
      const { store, rollups } = open;
      const plan = planQuery(query, store.partitions(), rollups.files());
      const engine = limitedTo(query.scopes, new DuckDbEngine(open, this.#config, plan.partitions, plan.rollups));
      const answer = await runQuery(plan.query, engine, ending);
      const elapsedMs = Math.round(this.#clock.monotonic() - begun);
      return { ...answer, sampling: plan.sampling, ...plan.coverage, store: "duckdb", elapsedMs };
    });
  }

  /** @throws ExploreError */
  flows(query: FlowsQuery, signal: AbortSignal): Promise<FlowsAnswer> {
    return this.#ask(signal, async (open, ending) => {
      const all = open.store.partitions();
      const partitions = partitionsOf(all, query);
      const records: FlowsAnswer["records"][number][] = [];
      for (const partition of partitions.toReversed()) {
        const engine = limitedTo(query.scopes, new DuckDbEngine(open, this.#config, [partition]));
        const named = query.fields.map((field) => engine.columnOf(field));
        const columns = named.length > 0 ? named : open.store.columns();
        const limit = query.limit - records.length;
        if (limit === 0) break;
        const found = await engine.rows(flowsStatement({ ...query, engine }, columns, limit), ending);
        records.push(...found.map((row) => recordOf(columns, row, engine)));
      }
      const sampling = partitions.reduce((most, { maxWeight }) => Math.max(most, maxWeight), 1);
      const oldest = all.find(({ from }) => from !== undefined)?.from;
      return { records, sampling, complete: oldest !== undefined && oldest <= query.from };
    });
  }

  /** Writes a table as a file of Parquet. */
  async parquet(table: AnswerTable): Promise<Uint8Array> {
    const open = this.#opened();
    return open.question(new AbortController().signal, async () => {
      const connection = await open.instance.connect();
      try {
        return await writeParquet(connection, join(this.#config.directory, "tmp"), table);
      } finally {
        connection.closeSync();
      }
    });
  }

  /** A file may go while it is asked, because it is old, or get larger numbers than it had: then the query is planned again. */
  #ask<T>(signal: AbortSignal, answer: (open: OpenedDuckDb, signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#gate.run(signal, async () => {
      for (let triesLeft = 2; ; triesLeft--) {
        try {
          const open = this.#opened();
          return await open.question(signal, (ending) => answer(open, ending));
        } catch (error) {
          if (triesLeft === 0 || !isOutdated(error)) throw error;
        }
      }
    });
  }
}

/** Returns the files of a range; the oldest comes first. */
function partitionsOf(all: readonly Partition[], { from, to }: TimeRange): readonly Partition[] {
  const within = all.filter((each) => (each.from ?? 0) < to && (each.to ?? Number.POSITIVE_INFINITY) >= from);
  return within.length > 0 ? within : all.slice(-1);
}

function isOutdated(error: unknown): boolean {
  const outdated = /^(?:Catalog|Binder) Error.* (?:does not exist|was not attached)|^(?:Out of Range|Conversion) Error/;
  return error instanceof Error && outdated.test(error.message);
}
