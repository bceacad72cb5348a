import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../report/index.ts";
import type { Thread } from "./thread.ts";

export interface SupervisionOptions {
  /** Makes the thread anew. It must call `onDeath` when it has ended without being asked to. */
  readonly make: (onDeath: () => void) => Thread;
  /** Has the thread do its work. What it throws at the first start fails that. */
  readonly begin: (thread: Thread) => Promise<void>;
  /** Told when the thread has died, and when another one works in its place. */
  readonly onChange: (isAlive: boolean) => void;
  readonly log: Log;
}

/** A thread that is started again should it die. */
export interface SupervisedThread {
  /** Starts it for the first time. */
  start(): Promise<void>;
  /** Undefined while it is not alive. */
  thread(): Thread | undefined;
  /** Ends it, after it has done what `finish` asks of it or `ms` have passed. */
  stop(finish: (thread: Thread) => Promise<void>, ms: number): Promise<void>;
}

/** How long to wait before a thread that died is started again: longer each time, up to the last. */
const restartMs = [0, 100, 1000, 10_000] as const;
/** One that has lived so long begins with the shortest wait again. */
const healthyMs = 60_000;

export function superviseThread({ make, begin, onChange, log }: SupervisionOptions): SupervisedThread {
  let thread: Thread | undefined;
  let isStopping = false;
  let deaths = 0;

  const makeOne = (): Thread => {
    const startedAt = performance.now();
    return make(() => {
      if (performance.now() - startedAt > healthyMs) deaths = 0;
      if (thread !== undefined) onChange(false);
      thread = undefined;
      void beginAgain();
    });
  };

  const beginAgain = async (): Promise<void> => {
    await pause(restartMs[Math.min(deaths++, restartMs.length - 1)], undefined, { ref: false });
    if (isStopping) return;
    const made = makeOne();
    try {
      await begin(made);
    } catch (error) {
      log.error({ error }, "a thread could not be started again, trying again");
      await made.end();
      void beginAgain();
      return;
    }
    thread = made;
    onChange(true);
  };

  return {
    async start() {
      const made = makeOne();
      try {
        await begin(made);
      } catch (error) {
        isStopping = true;
        await made.end();
        throw error;
      }
      thread = made;
    },
    thread: () => thread,
    async stop(finish, ms) {
      isStopping = true;
      const last = thread;
      if (last === undefined) return;
      const late = new AbortController();
      const isLate = pause(ms, true, { signal: late.signal }).catch(() => true);
      try {
        if ((await Promise.race([finish(last), isLate])) === true) {
          log.error({ seconds: ms / 1000 }, "a thread did not finish in time; what it had not done yet is lost");
        }
      } finally {
        late.abort();
        thread = undefined;
        await last.end();
      }
    },
  };
}
