import type { DuckDBConnection } from "@duckdb/node-api";

/** Gives DuckDB a second thread while a question runs. */
export interface QuestionThreads {
  /** Calls `work` when the thread is there. */
  during<T>(work: () => Promise<T>): Promise<T>;
}

/**
 * DuckDB's threads besides questions: what calls works by itself. With a second one, a call spins until that one is done, which makes
 * appending cost half as much again. Rollups and sorting still run in parallel, each in a thread of libuv.
 */
export const usualThreads = 1;
const questionThreads = 2;

/** @param connection for this alone. */
export function createQuestionThreads(connection: Pick<DuckDBConnection, "run">): QuestionThreads {
  let running = 0;
  let threads = usualThreads;
  let last: Promise<void> = Promise.resolve();

  const adapt = async (): Promise<void> => {
    const wanted = running > 0 ? questionThreads : usualThreads;
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
