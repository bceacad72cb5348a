import { Worker } from "node:worker_threads";
import type { Log } from "../../base/report/index.ts";
import type { Call, FromThread } from "./thread-messages.ts";

export interface ThreadOptions {
  /** For the log. */
  readonly name: string;
  /** The file that the thread runs; it serves calls by `serveThread`. */
  readonly entry: URL;
  /** What the thread is given. */
  readonly data: unknown;
  readonly log: Log;
  readonly onNote?: (note: unknown) => void;
  /** Called once when the thread has ended without being asked to. */
  readonly onDeath?: (error: Error) => void;
}

/** A thread that serves calls. */
export interface Thread {
  /** @throws what the call threw in the thread; Error when the thread has ended. */
  call<T>(name: string, argument?: unknown): Promise<T>;
  /** A call whose answer nobody waits for; none once the thread has ended. */
  post(name: string, argument?: unknown): void;
  /** Ends the thread, whatever it does. Calls under way fail. */
  end(): Promise<void>;
}

/**
 * Megabytes for what lives shortly. The records of some milliseconds fit, so that a collection finds little alive; with the
 * default of 16 the collector spends a tenth of its time on copying them.
 */
const youngGenerationMb = 64;

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

export function startThread(options: ThreadOptions): Thread {
  const { name, entry, data, log, onNote, onDeath } = options;
  const worker = new Worker(entry, {
    name,
    workerData: data,
    resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMb },
  });
  const waiting = new Map<number, Waiting>();
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
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
    if (isEnding) return;
    log.error({ thread: name, error }, "a thread has ended unexpectedly");
    onDeath?.(error);
  };
  worker.on("message", take);
  worker.on("messageerror", died);
  worker.on("error", (error) => died(error instanceof Error ? error : new Error(String(error))));
  worker.on("exit", (code) => died(new Error(`thread ${name} has ended (code ${code})`)));

  return {
    async call<T>(called: string, argument?: unknown) {
      if (death !== undefined) throw death;
      const id = number++;
      const answer = new Promise<unknown>((resolve, reject) => waiting.set(id, { resolve, reject }));
      worker.postMessage({ call: called, id, argument } satisfies Call);
      return (await answer) as T;
    },
    post(called, argument) {
      worker.postMessage({ call: called, argument } satisfies Call);
    },
    async end() {
      isEnding = true;
      await worker.terminate();
    },
  };
}
