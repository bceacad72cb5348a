import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { ExploreError, type Column } from "../column.ts";
import { DuckDbStore } from "./duckdb-store.ts";
import { loadDuckDb, openInstance, type DuckDb, type StoreContext } from "./duckdb-instance.ts";
import type { Keep } from "./upkeep.ts";
import { Rollups } from "./rollups.ts";

/**
 * DuckDB's threads without queries: the calling thread does the work. With a second one, a call spins until that one is done, which makes appending cost
 * half as much again. Rollups and sorting still run in parallel, each in a libuv thread.
 */
const usualThreads = 1;
const threadsForQueries = 2;

/** Gives DuckDB a second thread while a query runs. */
export class QueryThreads {
  readonly #connection: Pick<DuckDBConnection, "run">;
  #running = 0;
  #threads = usualThreads;
  #last: Promise<void> = Promise.resolve();

  /** @param connection used for this purpose only. */
  constructor(connection: Pick<DuckDBConnection, "run">) {
    this.#connection = connection;
  }

  /** Resolves when no change is in progress. */
  settled(): Promise<void> {
    return this.#last;
  }

  /** Calls `work` when the second thread is available. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#running++;
    await this.#adaptAfterLast();
    try {
      return await work();
    } finally {
      this.#running--;
      void this.#adaptAfterLast();
    }
  }

  /** Runs one change at a time. A failed change only makes a query slower. */
  #adaptAfterLast(): Promise<void> {
    this.#last = this.#last.then(() => this.#adapt()).catch(() => {});
    return this.#last;
  }

  async #adapt(): Promise<void> {
    const wanted = this.#running > 0 ? threadsForQueries : usualThreads;
    if (wanted === this.#threads) return;
    await this.#connection.run(`SET threads = ${wanted}`);
    this.#threads = wanted;
  }
}

/** The database and its parts while the store is open. */
export class OpenedDuckDb {
  readonly duckDb: DuckDb;
  readonly instance: DuckDBInstance;
  readonly store: DuckDbStore;
  readonly rollups: Rollups;
  readonly #threads: QueryThreads;
  readonly #closing = new AbortController();
  readonly #questions = new Set<Promise<unknown>>();

  private constructor({ duckDb, instance }: StoreContext, store: DuckDbStore, rollups: Rollups, threads: QueryThreads) {
    this.duckDb = duckDb;
    this.instance = instance;
    this.store = store;
    this.rollups = rollups;
    this.#threads = threads;
  }

  /** Opens the database. @throws Error when the directory cannot be used, or another process uses it. */
  static async open(
    columns: readonly Column[],
    isRolledUp: (field: string) => boolean,
    keep: Keep,
    given: Omit<StoreContext, "duckDb" | "instance">,
  ): Promise<OpenedDuckDb> {
    const duckDb = loadDuckDb();
    const instance = await openInstance(duckDb, given.config, usualThreads);
    const context = { ...given, duckDb, instance };
    try {
      const store = await DuckDbStore.open(columns, context, keep);
      const rollups = await Rollups.open(() => store.columns(), isRolledUp, context);
      return new OpenedDuckDb(context, store, rollups, new QueryThreads(await instance.connect()));
    } catch (error) {
      instance.closeSync();
      throw error;
    }
  }

  /** Calls `work` with DuckDB's threads for queries. The signal of `work` is aborted with the given one, and when the store closes. Closing waits for it. */
  async question<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const either = AbortSignal.any([signal, this.#closing.signal]);
    either.throwIfAborted();
    const question = this.#threads.during(() => work(either));
    this.#questions.add(question);
    try {
      return await question;
    } finally {
      this.#questions.delete(question);
    }
  }

  /** Aborts queries, waits for them, and closes the database. A DuckDB call that is running when its thread ends would abort the process. */
  async close(): Promise<void> {
    this.#closing.abort(new ExploreError("unavailable", "Explore is being stopped"));
    await Promise.allSettled(this.#questions);
    await this.#threads.settled();
    await this.rollups.close();
    await this.store.close();
    this.instance.closeSync();
  }
}
