import type { DuckDBInstance } from "@duckdb/node-api";
import type { Clock, Log } from "../../report/index.ts";
import type { Column } from "../columns/column.ts";
import { openDuckDbStore, type DuckDbStore } from "./duckdb-store.ts";
import { loadDuckDb, type DuckDb } from "./load-duckdb.ts";
import { openInstance } from "./open-instance.ts";
import { createQuestionThreads, usualThreads, type QuestionThreads } from "./question-threads.ts";
import type { Keep } from "./retention.ts";
import { openRollups, type Rollups } from "./rollups.ts";

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
