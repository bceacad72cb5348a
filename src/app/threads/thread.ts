import { parentPort, Worker } from "node:worker_threads";
import { type LogFields, type LogLevel, type Log, logLevels } from "../../base/report/index.ts";

/** A message to a thread: a call, which it answers if it has a number. */
interface Call {
  readonly call: string;
  readonly id?: number;
  readonly argument: unknown;
}

/** A message from a thread: the answer to a call, a line for the log, or a note for the thread that started it. */
type FromThread =
  | { readonly reply: number; readonly result: unknown }
  | { readonly reply: number; readonly error: Error }
  | { readonly log: Exclude<LogLevel, "silent">; readonly fields: LogFields; readonly message: string }
  | { readonly note: unknown };

/** A clock with timers. Tests pass their own. */
export interface Timers {
  /** Returns milliseconds of a clock that never goes back; only differences are meaningful. */
  now(): number;
  /** Calls `action` once after `ms` milliseconds, in a later cycle of the event loop. @returns a function that cancels the call. */
  after(ms: number, action: () => void): () => void;
}

/** The clock of the system. Its timers do not keep the process alive. */
export const systemTimers: Timers = {
  now: () => performance.now(),
  after(ms, action) {
    const timer = setTimeout(action, ms).unref();
    return () => clearTimeout(timer);
  },
};

/** The functions that make a thread, and replace it. */
interface Supervision {
  /** Makes a new thread. It must call `onDeath` in a later cycle, once, when it has ended without being asked to. */
  readonly make: (onDeath: () => void) => Thread;
  /** Starts the thread's work. An error at the first start fails that start. */
  readonly begin: (thread: Thread) => Promise<void>;
  /** Called when the working thread has died, and when another one works in its place. */
  readonly onChange: (isAlive: boolean) => void;
  readonly log: Log;
}

/** The waits before a dead thread is restarted, milliseconds: longer each time, up to the last. */
const restartMs = [0, 100, 1000, 10_000] as const;
/** The working time after which a death is followed by the shortest wait again. */
const healthyMs = 60_000;

/** The states; there is at most one thread in each. */
type State =
  | { readonly name: "idle" }
  /** `begin` is pending. */
  | { readonly name: "beginning"; readonly thread: Thread; readonly isFirst: boolean }
  | { readonly name: "working"; readonly thread: Thread; readonly since: number }
  /** `begin` has failed: the thread is being ended before another one takes its place. */
  | { readonly name: "ending"; readonly ended: Promise<void> }
  | { readonly name: "waiting"; readonly cancel: () => void }
  /** `stop` was called: the thread does its remaining work. */
  | { readonly name: "finishing"; readonly thread: Thread }
  | { readonly name: "stopped" };

/**
 * A thread that is restarted if it dies.
 *
 *     idle ─ start ─→ beginning ── begin resolves ──→ working
 *                      ↑  │  └─ begin rejects → ending   │
 *                      │  │ dies                  │      │ dies
 *                      │  ↓                       ↓      │
 *                      └─ waiting ←───────────────┴──────┘       stop: each → stopped, working → finishing → stopped
 *
 * An event of a thread other than the state's (a `begin` that completes late, a death after the end) changes
 * nothing. At the first start, a failure leads to `stopped`.
 */
export class SupervisedThread {
  readonly #supervision: Supervision;
  readonly #timers: Timers;
  #state: State = { name: "idle" };
  #failures = 0;

  constructor(supervision: Supervision, timers = systemTimers) {
    this.#supervision = supervision;
    this.#timers = timers;
  }

  /** Starts it for the first time; called once. @throws the error of `begin`, or Error when the thread was stopped meanwhile. */
  async start(): Promise<void> {
    try {
      const thread = this.#make(true);
      await this.#supervision.begin(thread);
      if (!this.#works(thread)) throw new Error("a thread was stopped before it had begun its work");
    } catch (error) {
      const failed = this.#current();
      this.#state = { name: "stopped" };
      if (failed.name === "beginning") await failed.thread.end();
      throw error;
    }
  }

  /** Returns the thread; undefined while it does not work. */
  thread(): Thread | undefined {
    const state = this.#state;
    return state.name === "working" || state.name === "finishing" ? state.thread : undefined;
  }

  /**
   * Ends it, after `finish` is done or `ms` have passed. A thread that is only beginning is ended at once.
   * When the promise resolves, no thread is left and none will be started.
   */
  async stop(finish: (thread: Thread) => Promise<void>, ms: number): Promise<void> {
    const last = this.#state;
    if (last.name === "working") {
      this.#state = { name: "finishing", thread: last.thread };
      await finishing(finish(last.thread), ms, this.#timers, this.#supervision.log);
    }
    this.#state = { name: "stopped" };
    if (last.name === "waiting") last.cancel();
    else if (last.name === "ending") await last.ended;
    else if ("thread" in last) await last.thread.end();
  }

  /** Returns the state. Calls change it, so TypeScript must not assume the value seen before. */
  #current(): State {
    return this.#state;
  }

  #make(isFirst: boolean): Thread {
    const thread = this.#supervision.make(() => this.#died(thread));
    this.#state = { name: "beginning", thread, isFirst };
    return thread;
  }

  /** @returns false when the thread is not wanted any more. */
  #works(thread: Thread): boolean {
    if (this.#state.name !== "beginning" || this.#state.thread !== thread) return false;
    this.#state = { name: "working", thread, since: this.#timers.now() };
    return true;
  }

  #died(thread: Thread): void {
    const state = this.#state;
    if (!("thread" in state) || state.thread !== thread) return;
    if (state.name === "finishing") {
      this.#state = { name: "stopped" };
    } else if (state.name === "beginning") {
      if (state.isFirst) this.#state = { name: "stopped" };
      else this.#waitToBegin();
    } else {
      if (this.#timers.now() - state.since > healthyMs) this.#failures = 0;
      this.#waitToBegin();
      this.#supervision.onChange(false);
    }
  }

  #waitToBegin(): void {
    const ms = restartMs[Math.min(this.#failures++, restartMs.length - 1)] ?? 0;
    this.#state = { name: "waiting", cancel: this.#timers.after(ms, () => void this.#beginAgain()) };
  }

  async #beginAgain(): Promise<void> {
    let thread: Thread | undefined;
    try {
      thread = this.#make(false);
      await this.#supervision.begin(thread);
    } catch (error) {
      // If it died or was stopped, that has been handled already.
      const state = this.#current();
      if (thread !== undefined && (state.name !== "beginning" || state.thread !== thread)) return;
      this.#supervision.log.error({ error }, "a thread could not be started again, trying again");
      const ending = { name: "ending", ended: thread?.end() ?? Promise.resolve() } as const;
      this.#state = ending;
      await ending.ended;
      if (this.#current() === ending) this.#waitToBegin();
      return;
    }
    if (this.#works(thread)) this.#supervision.onChange(true);
  }
}

/** Waits until `finish` has settled, or `ms` milliseconds have passed. */
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

/** The handlers of a thread's calls, by name. The result or error of a handler is copied to the caller. */
type Handlers = Readonly<Record<string, (argument: never) => unknown>>;

/** Serves the calls of the thread that started this one. */
export function serveThread(handlers: Handlers): void {
  const run = async ({ call, argument }: Call): Promise<unknown> => {
    const handler = handlers[call];
    if (handler === undefined) throw new Error(`a thread was asked for ${call}, which it does not have`);
    return handler(argument as never);
  };
  const answer = async (call: Call): Promise<void> => {
    const { id } = call;
    // An error that nobody waits for ends the thread, like any other uncaught one.
    if (id === undefined) await run(call);
    else {
      await run(call).then(
        (result) => post({ reply: id, result }),
        (error: unknown) => post({ reply: id, error: error instanceof Error ? error : new Error(String(error)) }),
      );
    }
  };
  parentPort?.on("message", (message: Call) => void answer(message));
}

/** Sends a note to the thread that started this one. */
export function postNote(note: unknown): void {
  post({ note });
}

/** Creates a log whose lines are written by the thread that started this one. */
export function threadLog(level: LogLevel): Log {
  const least = logLevels.indexOf(level);
  const line = (of: Exclude<LogLevel, "silent">) => {
    if (logLevels.indexOf(of) < least) return () => {};
    return (fields: LogFields, message: string): void => post({ log: of, fields, message });
  };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

function post(message: FromThread): void {
  parentPort?.postMessage(message);
}

interface ThreadOptions {
  /** The name, for the log. */
  readonly name: string;
  /** The file that the thread runs; it serves calls by `serveThread`. */
  readonly entry: URL;
  /** The data for the thread. */
  readonly data: unknown;
  readonly log: Log;
  /**
   * A call that the thread answers before it is ended in any case. A native library with threads of its own needs it: if one of its calls
   * is under way at the end, the process aborts.
   */
  readonly lastCall?: string;
  readonly onNote?: (note: unknown) => void;
  /** Called once when the thread has ended without being asked to. */
  readonly onDeath?: (error: Error) => void;
}

/** A thread that serves calls. */
export interface Thread {
  /** Calls the thread. @throws the error of the call in the thread; Error when the thread has ended. */
  call<T>(name: string, argument?: unknown): Promise<T>;
  /** Calls the thread without waiting for an answer; does nothing once the thread has ended. */
  post(name: string, argument?: unknown): void;
  /** Ends the thread, whatever it does. Calls under way fail. */
  end(): Promise<void>;
}

/**
 * Megabytes for short-lived objects. The records of some milliseconds fit, so that a collection finds few live objects; with the
 * default of 16 the collector spends a tenth of its time on copying them.
 */
const youngGenerationMb = 64;

export function startThread(options: ThreadOptions): Thread {
  const { name, entry, data, log, lastCall, onNote, onDeath } = options;
  const worker = new Worker(entry, {
    name,
    workerData: data,
    resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMb },
  });
  const waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  let number = 0;
  let death: Error | undefined;
  let isEnding = false;

  const take = (message: FromThread): void => {
    if ("note" in message) onNote?.(message.note);
    else if ("log" in message) log[message.log](message.fields, message.message);
    else {
      const call = waiting.get(message.reply);
      waiting.delete(message.reply);
      if ("error" in message) call?.reject(message.error);
      else call?.resolve(message.result);
    }
  };
  const died = (error: Error): void => {
    if (death !== undefined) return;
    death = error;
    for (const call of waiting.values()) call.reject(error);
    waiting.clear();
    if (isEnding) return;
    log.error({ thread: name, error }, "a thread has ended unexpectedly");
    onDeath?.(error);
  };
  worker.on("message", take);
  worker.on("messageerror", died);
  worker.on("error", (error) => died(error instanceof Error ? error : new Error(String(error))));
  worker.on("exit", (code) => died(new Error(`thread ${name} has ended (code ${code})`)));

  const call = async <T>(called: string, argument?: unknown): Promise<T> => {
    if (death !== undefined) throw death;
    const id = number++;
    const answer = new Promise<unknown>((resolve, reject) => waiting.set(id, { resolve, reject }));
    worker.postMessage({ call: called, id, argument } satisfies Call);
    return (await answer) as T;
  };

  return {
    call,
    post(called, argument) {
      worker.postMessage({ call: called, argument } satisfies Call);
    },
    async end() {
      isEnding = true;
      if (lastCall !== undefined) await call(lastCall).catch(() => {});
      await worker.terminate();
    },
  };
}
