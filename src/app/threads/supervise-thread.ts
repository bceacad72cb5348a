import type { Log } from "../../base/report/index.ts";
import type { Thread } from "./thread.ts";
import { systemTimers, type Timers } from "./timers.ts";

export interface SupervisionOptions {
  /** Makes a new thread. It must call `onDeath` in a later turn, once, when it has ended without being asked to. */
  readonly make: (onDeath: () => void) => Thread;
  /** Has the thread do its work. What it throws at the first start fails that. */
  readonly begin: (thread: Thread) => Promise<void>;
  /** Called when the working thread has died, and when another one works in its place. */
  readonly onChange: (isAlive: boolean) => void;
  readonly log: Log;
  readonly timers?: Timers;
}

/** A thread that is started again should it die. */
export interface SupervisedThread {
  /** Starts it for the first time; called once. @throws what `begin` throws, or Error when the thread was stopped meanwhile. */
  start(): Promise<void>;
  /** Undefined while it does not work. */
  thread(): Thread | undefined;
  /**
   * Ends it, after it has done what `finish` asks of it or `ms` have passed. A thread that only begins is ended at once.
   * When the promise resolves, no thread is left and none will be started.
   */
  stop(finish: (thread: Thread) => Promise<void>, ms: number): Promise<void>;
}

/** How long to wait before a thread that died is started again: longer each time, up to the last. */
const restartMs = [0, 100, 1000, 10_000] as const;
/** When a thread has worked for longer than this, its death is followed by the shortest wait again. */
const healthyMs = 60_000;

/** There is one thread at most in every state. */
type State =
  | { readonly name: "idle" }
  /** `begin` is pending. */
  | { readonly name: "beginning"; readonly thread: Thread; readonly isFirst: boolean }
  | { readonly name: "working"; readonly thread: Thread; readonly since: number }
  /** `begin` has failed: the thread is being ended before another one takes its place. */
  | { readonly name: "ending"; readonly ended: Promise<void> }
  | { readonly name: "waiting"; readonly cancel: () => void }
  /** `stop` was called: the thread does what is left to do. */
  | { readonly name: "finishing"; readonly thread: Thread }
  | { readonly name: "stopped" };

/**
 *     idle ─ start ─→ beginning ── begin resolves ──→ working
 *                      ↑  │  └─ begin rejects → ending   │
 *                      │  │ dies                  │      │ dies
 *                      │  ↓                       ↓      │
 *                      └─ waiting ←───────────────┴──────┘       stop: each → stopped, working → finishing → stopped
 *
 * What arrives for a thread that is not the one of the state (a `begin` that settles late, a death after the end) changes
 * nothing. At the first start, a failure leads to `stopped`.
 */
export function superviseThread(options: SupervisionOptions): SupervisedThread {
  const { make, begin, onChange, log, timers = systemTimers } = options;
  let state: State = { name: "idle" };
  let failures = 0;
  // Calls change the state: TypeScript must not believe what it saw before.
  const current = (): State => state;

  const makeOne = (isFirst: boolean): Thread => {
    const thread = make(() => died(thread));
    state = { name: "beginning", thread, isFirst };
    return thread;
  };

  /** @returns false when the thread is not wanted any more. */
  const works = (thread: Thread): boolean => {
    if (state.name !== "beginning" || state.thread !== thread) return false;
    state = { name: "working", thread, since: timers.now() };
    return true;
  };

  const died = (thread: Thread): void => {
    if (!("thread" in state) || state.thread !== thread) return;
    if (state.name === "finishing") {
      state = { name: "stopped" };
    } else if (state.name === "beginning") {
      if (state.isFirst) state = { name: "stopped" };
      else waitToBegin();
    } else {
      if (timers.now() - state.since > healthyMs) failures = 0;
      waitToBegin();
      onChange(false);
    }
  };

  const waitToBegin = (): void => {
    const ms = restartMs[Math.min(failures++, restartMs.length - 1)] ?? 0;
    state = { name: "waiting", cancel: timers.after(ms, () => void beginAgain()) };
  };

  const beginAgain = async (): Promise<void> => {
    let thread: Thread | undefined;
    try {
      thread = makeOne(false);
      await begin(thread);
    } catch (error) {
      // When it died or was stopped, that has been dealt with.
      if (thread !== undefined && (state.name !== "beginning" || state.thread !== thread)) return;
      log.error({ error }, "a thread could not be started again, trying again");
      const ending = { name: "ending", ended: thread?.end() ?? Promise.resolve() } as const;
      state = ending;
      await ending.ended;
      if (current() === ending) waitToBegin();
      return;
    }
    if (works(thread)) onChange(true);
  };

  return {
    async start() {
      try {
        const thread = makeOne(true);
        await begin(thread);
        if (!works(thread)) throw new Error("a thread was stopped before it had begun its work");
      } catch (error) {
        const failed = current();
        state = { name: "stopped" };
        if (failed.name === "beginning") await failed.thread.end();
        throw error;
      }
    },
    thread: () => (state.name === "working" || state.name === "finishing" ? state.thread : undefined),
    async stop(finish, ms) {
      const last = state;
      if (last.name === "working") {
        state = { name: "finishing", thread: last.thread };
        await finishing(finish(last.thread), ms, timers, log);
      }
      state = { name: "stopped" };
      if (last.name === "waiting") last.cancel();
      else if (last.name === "ending") await last.ended;
      else if ("thread" in last) await last.thread.end();
    },
  };
}

/** Waits until it has finished, whatever the result, or this many milliseconds have passed. */
async function finishing(finish: Promise<void>, ms: number, timers: Timers, log: Log): Promise<void> {
  let cancel = (): void => {};
  const late = new Promise<true>((resolve) => (cancel = timers.after(ms, () => resolve(true))));
  try {
    if ((await Promise.race([finish, late])) === true) {
      log.error({ seconds: ms / 1000 }, "a thread did not finish in time; its remaining work is lost");
    }
  } catch (error) {
    log.error({ error }, "a thread could not finish; its remaining work is lost");
  } finally {
    cancel();
  }
}
