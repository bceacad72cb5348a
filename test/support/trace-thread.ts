// Loaded into each thread of a traced collector by `--import`: V8 counts the calls of every function from the first line on, and the
// thread says on demand which functions were called since the last time.
import { Session, type Profiler } from "node:inspector";
import { BroadcastChannel, isMainThread, threadId } from "node:worker_threads";
import { fileURLToPath } from "node:url";
import { join, relative } from "node:path";

/** What a thread was called for: by its path below `dist/src/`, and the place of each function in it. */
export interface CalledFunctions {
  readonly [file: string]: readonly number[];
}

type Message =
  | { readonly kind: "hello" | "gone"; readonly thread: number }
  | { readonly kind: "take"; readonly request: number }
  | { readonly kind: "taken"; readonly request: number; readonly called: CalledFunctions };

// What a part does now and then is no part of a trip.
const never = (): NodeJS.Timeout => setTimeout(() => {}, 0x7fffffff).unref();
globalThis.setInterval = never;

const compiled = join(import.meta.dirname, "../../src");
const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
const channel = new BroadcastChannel("trace of calls");
channel.unref();
const say = (message: Message): void => channel.postMessage(message);

if (isMainThread) {
  const threads = new Set<number>();
  const waiting = new Map<number, { rest: number; readonly called: CalledFunctions[] }>();
  const note = (request: number, called: CalledFunctions): void => {
    const answer = waiting.get(request);
    if (answer === undefined) return;
    answer.called.push(called);
    if (--answer.rest === 0) process.send?.({ request, called: answer.called });
  };
  channel.addEventListener("message", (event) => {
    const message = (event as MessageEvent).data as Message;
    if (message.kind === "hello") threads.add(message.thread);
    if (message.kind === "taken") note(message.request, message.called);
  });
  process.on("message", (request: number) => {
    waiting.set(request, { rest: threads.size + 1, called: [] });
    say({ kind: "take", request });
    note(request, calledFunctions());
  });
} else {
  channel.addEventListener("message", (event) => {
    const message = (event as MessageEvent).data as Message;
    if (message.kind === "take") say({ kind: "taken", request: message.request, called: calledFunctions() });
  });
  say({ kind: "hello", thread: threadId });
}

/** Reads the counters, which sets them back. The body of a module is no function of it. */
function calledFunctions(): CalledFunctions {
  let scripts: Profiler.ScriptCoverage[] = [];
  session.post("Profiler.takePreciseCoverage", (error, answer) => {
    if (error !== null) throw error;
    scripts = answer.result;
  });
  const called: Record<string, number[]> = {};
  for (const { url, functions } of scripts) {
    if (!url.startsWith("file:")) continue;
    const path = relative(compiled, fileURLToPath(url));
    if (path.startsWith("..")) continue;
    const places = functions
      .filter(
        ({ functionName, ranges: [range] }) =>
          (range?.count ?? 0) > 0 && (functionName !== "" || range?.startOffset !== 0),
      )
      .map(({ ranges: [range] }) => range?.startOffset ?? 0);
    if (places.length > 0) called[path] = places;
  }
  return called;
}
