import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import type { Clock, Log } from "../../base/report/index.ts";
import type { Column } from "../column.ts";
import { openDuckDbStore, type DuckDbStore } from "./duckdb-store.ts";
import { loadDuckDb, type DuckDb } from "./duckdb-instance.ts";
import { openInstance } from "./duckdb-instance.ts";
import type { Keep } from "./upkeep.ts";
import { openRollups, type Rollups } from "./rollups.ts";

/** Gives DuckDB a second thread while a question runs. */
interface QuestionThreads {
  /** Calls `work` when the thread is there. */
  during<T>(work: () => Promise<T>): Promise<T>;
}

/**
 * DuckDB's threads besides questions: what calls works by itself. With a second one, a call spins until that one is done, which makes
 * appending cost half as much again. Rollups and sorting still run in parallel, each in a thread of libuv.
 */
const usualThreads = 1;
const threadsForQueries = 2;

/** @param connection for this alone. */
export function createQuestionThreads(connection: Pick<DuckDBConnection, "run">): QuestionThreads {
  let running = 0;
  let threads = usualThreads;
  let last: Promise<void> = Promise.resolve();

  const adapt = async (): Promise<void> => {
    const wanted = running > 0 ? threadsForQueries : usualThreads;
    if (wanted === threads) return;
    await connection.run(`SET threads = ${wanted}`);
    threads = wanted;
  };
  /** One change at a time; without it, a question is slower and nothing else. */
  const adaptAfterLast = (): Promise<void> => (last = last.then(adapt).catch(() => {}));

  return {
    async during(work) {
      running++;
      await adaptAfterLast();
      try {
        return await work();
      } finally {
        running--;
        void adaptAfterLast();
      }
    },
  };
}

/** What is there while the store is open. */
export interface OpenedDuckDb {
  readonly duckDb: DuckDb;
  readonly instance: DuckDBInstance;
  readonly store: DuckDbStore;
  readonly rollups: Rollups;
  readonly questionThreads: QuestionThreads;
  close(): Promise<void>;
}

export interface OpenDuckDbOptions {
  readonly directory: string;
  readonly maxBytes: number;
  readonly maxHours: number;
  readonly rollups: { readonly maxDays: number; readonly maxBytes: number };
  readonly memoryBytes: number;
  readonly isCalm: () => boolean;
  readonly keep: Keep;
  readonly clock: Clock;
  readonly log: Log;
}

/** @throws Error when the directory cannot be used, or another process has it. */
export async function openDuckDb(
  columns: readonly Column[],
  isRolledUp: (field: string) => boolean,
  options: OpenDuckDbOptions,
): Promise<OpenedDuckDb> {
  const { directory, clock, log } = options;
  const duckDb = loadDuckDb();
  const instance = await openInstance(duckDb, { ...options, threads: usualThreads });
  try {
    const store = await openDuckDbStore(columns, { ...options, duckDb, instance });
    const own = { instance, directory, columns: () => store.columns(), isKept: isRolledUp, clock, log };
    const rollups = await openRollups({ ...options.rollups, ...own });
    const questionThreads = createQuestionThreads(await instance.connect());
    return {
      duckDb,
      instance,
      store,
      rollups,
      questionThreads,
      async close() {
        await rollups.close();
        await store.close();
        instance.closeSync();
      },
    };
  } catch (error) {
    instance.closeSync();
    throw error;
  }
}
