import { parentPort } from "node:worker_threads";
import { logLevels, type Log, type LogFields, type LogLevel } from "../../base/report/index.ts";
import type { Call, FromThread } from "./thread-messages.ts";

/** What a thread answers, by name. What a handler returns or throws is copied to the caller. */
export type Handlers = Readonly<Record<string, (argument: never) => unknown>>;

/** Serves the calls of the thread that started this one. */
export function serveThread(handlers: Handlers): void {
  const run = async ({ call, argument }: Call): Promise<unknown> => {
    const handler = handlers[call];
    if (handler === undefined) throw new Error(`a thread was asked for ${call}, which it does not have`);
    return handler(argument as never);
  };
  const answer = async (call: Call): Promise<void> => {
    const { id } = call;
    // An error that nobody waits for ends the thread, as any other that nobody caught.
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

/** A log whose lines are written by the thread that started this one. */
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
