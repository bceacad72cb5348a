import { join } from "node:path";
import type { Clock } from "../../base/report/index.ts";
import type { Filter } from "../../record/index.ts";
import { bookedColumns, counterFields, flowedColumns, laterColumns } from "../booking.ts";
import type { AnswerTable, ExploreAnswer, FlowsAnswer } from "../query/answer.ts";
import { timeField } from "../column.ts";
import type { ExploreQuery, FlowsQuery, Measure, TimeRange, Within } from "../query/explore-query.ts";
import { flowsStatement } from "../query/query-sql.ts";
import { limitedTo } from "../query/limited-engine.ts";
import { QueryGate, recordOf, runQuery } from "../query/run-query.ts";
import { DuckDbEngine } from "./duckdb-engine.ts";
import type { EmbeddedExploreConfig } from "./duckdb-instance.ts";
import { quoted } from "./duckdb-table.ts";
import type { OpenedDuckDb } from "./open-duckdb.ts";
import { writeParquet } from "./parquet.ts";
import { describePartition, readPartition, type Partition } from "./partition.ts";
import { fieldsOf, partitionsIn, planQuery } from "./plan-query.ts";

const maxRunning = 2;
const maxWaiting = 16;

/** Maximum number of records in a copy: a failed attempt wastes half a second. */
const mostCopied = 100_000;
/** Lifetime of copies in milliseconds. Records received meanwhile are missing from them. */
const copyMs = 10_000;

const counted = Object.values(counterFields).flat();
const plainMeasures: ReadonlySet<Measure> = new Set([
  "bytes",
  "packets",
  "flows",
  "bits_per_second",
  "packets_per_second",
]);
/** Maximum number of copies at a time. */
const mostCopies = 4;

/** The records of a filter, read once and kept in memory briefly. */
interface RecordCopy {
  readonly open: OpenedDuckDb;
  readonly until: number;
  /** Undefined where there are too many records. */
  readonly partition: Promise<Partition | undefined>;
  readonly drop: () => void;
}

/**
 * Copies of the records of filters, for a series of queries such as those of the page of an address. Each query then reads some thousand records instead
 * of all. Without a copy, a query reads the files: copies affect only the time.
 */
class RecordCopies {
  readonly #config: QueryLimits;
  readonly #clock: Clock;
  /** Copies, oldest first. */
  readonly #copies = new Map<string, RecordCopy>();
  #made = 0;

  constructor(config: QueryLimits, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
  }

  /** Returns the copy for a query. @param needed the files that the query reads. @returns undefined where it must read those. */
  async of(
    open: OpenedDuckDb,
    { dimensions, filter: asked, measure, scopes }: ExploreQuery,
    { filter, fields, from, to }: Within,
    needed: readonly Partition[],
    signal: AbortSignal,
  ): Promise<Partition | undefined> {
    const copied = new Set([timeField, ...counted, ...fields, ...fieldsOf(filter)]);
    const isPlain = scopes === undefined && plainMeasures.has(measure);
    if (!isPlain || [...dimensions, ...fieldsOf(asked)].some((field) => !copied.has(field))) return undefined;
    const partitions = partitionsIn(open.store.partitions(), "flowed", { from, to });
    const names = partitions.map(({ name }) => name);
    if (names.length === 0 || needed.some(({ name }) => !names.includes(name)) || partitions.some(lacksLater))
      return undefined;
    // JSON has neither big integers nor infinity.
    const plain = (_: string, value: unknown): unknown =>
      typeof value === "bigint" || typeof value === "number" ? String(value) : value;
    const key = JSON.stringify([filter, fields, names], plain);
    const known = this.#copies.get(key);
    const isOfUse = known?.open === open && known.until > this.#clock.monotonic();
    const copy = isOfUse ? known : this.#begin(key, open, filter, copied, partitions, signal);
    try {
      return await copy.partition;
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
  }

  #begin(
    key: string,
    open: OpenedDuckDb,
    filter: Filter,
    fields: ReadonlySet<string>,
    partitions: readonly Partition[],
    signal: AbortSignal,
  ): RecordCopy {
    const now = this.#clock.monotonic();
    for (const [each, { until, drop }] of this.#copies)
      if (each === key || until <= now || this.#copies.size >= mostCopies) drop();
    const name = `copy-${this.#made++}`;
    const partition = this.#make(open, name, filter, fields, partitions, signal);
    const drop = (): void => {
      if (this.#copies.get(key) === copy) this.#copies.delete(key);
      clearTimeout(timer);
      // A query that reads the copy at that moment is repeated. The removal fails where the store is closed, and the copy gone.
      partition
        .catch(() => {})
        .then(() => open.question(new AbortController().signal, () => detach(open, name)))
        .catch(() => {});
    };
    const timer = setTimeout(drop, copyMs).unref();
    const copy = { open, until: now + copyMs, partition, drop };
    this.#copies.set(key, copy);
    partition.catch(drop);
    return copy;
  }

  async #make(
    open: OpenedDuckDb,
    name: string,
    filter: Filter,
    fields: ReadonlySet<string>,
    partitions: readonly Partition[],
    signal: AbortSignal,
  ): Promise<Partition | undefined> {
    const wanted = open.store.columns().filter(({ field }) => fields.has(field));
    const columns = [...wanted, ...bookedColumns].filter(({ field }) =>
      partitions.some((each) => each.columns.has(field)),
    );
    const connection = await open.instance.connect();
    try {
      await connection.run(`ATTACH ':memory:' AS ${quoted(name)}`);
      await readPartition(connection, name, columns);
      const engine = new DuckDbEngine(open, this.#config, partitions);
      await engine.copy(filter, columns, name, mostCopied + 1, signal);
      const made = await describePartition(connection, name);
      if (made.rows <= mostCopied) return { ...made, isComplete: true };
    } finally {
      connection.closeSync();
    }
    await detach(open, name);
    return undefined;
  }
}

async function detach(open: OpenedDuckDb, name: string): Promise<void> {
  const connection = await open.instance.connect();
  try {
    await connection.run(`DETACH DATABASE IF EXISTS ${quoted(name)}`);
  } finally {
    connection.closeSync();
  }
}

/** Reports whether a file is of an earlier version, whose rows do not have the amounts after their first minute. */
function lacksLater({ columns }: Partition): boolean {
  return (
    columns.has(flowedColumns.start.field) && !Object.values(laterColumns).every(({ field }) => columns.has(field))
  );
}

type QueryLimits = Pick<EmbeddedExploreConfig, "directory" | "timeoutMs" | "maxCountedRows">;

/** Queries over the files of rows. */
export class DuckDbQueries {
  readonly #opened: () => OpenedDuckDb;
  readonly #config: QueryLimits;
  readonly #clock: Clock;
  readonly #gate = new QueryGate(maxRunning, maxWaiting);
  readonly #copies: RecordCopies;

  /** @param opened returns the store. It throws ExploreError when there is none at present. */
  constructor(opened: () => OpenedDuckDb, config: QueryLimits, clock: Clock) {
    this.#opened = opened;
    this.#config = config;
    this.#copies = new RecordCopies(config, clock);
    this.#clock = clock;
  }

  /** Answers a query. @throws ExploreError */
  query(query: ExploreQuery, signal: AbortSignal): Promise<ExploreAnswer> {
    return this.#ask(signal, async (open, ending) => {
      const begun = this.#clock.monotonic();
      const { store, rollups } = open;
      const plan = planQuery(query, store.partitions(), rollups.files());
      const copy = query.within && (await this.#copies.of(open, query, query.within, plan.partitions, ending));
      const read = copy === undefined ? plan.partitions : [copy];
      const engine = limitedTo(query.scopes, new DuckDbEngine(open, this.#config, read, plan.rollups));
      const answer = await runQuery(plan.query, engine, ending);
      const elapsedMs = Math.round(this.#clock.monotonic() - begun);
      return { ...answer, sampling: plan.sampling, ...plan.coverage, store: "duckdb", elapsedMs };
    });
  }

  /** Returns single records. @throws ExploreError */
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

  /** Writes a table as a Parquet file. */
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

  /** Runs a query. During it, an old file may be removed, or a file may get larger numbers than before: then the query is planned again. */
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

/** Returns the files of a range, oldest first. */
function partitionsOf(all: readonly Partition[], { from, to }: TimeRange): readonly Partition[] {
  const within = all.filter((each) => (each.from ?? 0) < to && (each.to ?? Number.POSITIVE_INFINITY) >= from);
  return within.length > 0 ? within : all.slice(-1);
}

function isOutdated(error: unknown): boolean {
  const outdated = /^(?:Catalog|Binder) Error.* (?:does not exist|was not attached)|^(?:Out of Range|Conversion) Error/;
  return error instanceof Error && outdated.test(error.message);
}
