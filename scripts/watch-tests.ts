// Ends the process of tests that would not end by itself: a test that hangs, or one that leaves something open.
import { ChildProcess } from "node:child_process";
import { Server, Socket } from "node:net";
import { after, afterEach, beforeEach } from "node:test";
import { inspect } from "node:util";

/** How long the process may go on after its last test, seconds in which its event loop runs. */
const graceSeconds = 15;

/**
 * Fails the process when no test began or ended for a time, naming the tests that run; and when the tests are done and
 * something keeps the process, naming what. Seconds in which the event loop stands still count as one: a busy host is no fault.
 *
 * @param files what runs in this process, for the message.
 * @param silentSeconds how long a test may take.
 * @param failsAtErrors whether an error that nothing catches fails the process, too, naming the tests that run.
 * @returns what to call when all files are loaded.
 */
export function watchTests(
  files: readonly string[],
  silentSeconds: number,
  failsAtErrors: boolean,
): { readonly loaded: () => void } {
  const running = new Set<string>();
  let isDone = false;
  let silent = 0;
  const runningTests = (): string => [...running].join(" > ") || "no test";
  const fail = (what: string): never => {
    console.error(`${files.join(", ")}: ${what}`);
    killChildren();
    process.exit(1);
  };
  beforeEach((t) => {
    running.add(t.name);
    silent = 0;
  });
  afterEach((t) => {
    running.delete(t.name);
    silent = 0;
  });
  setInterval(() => {
    silent++;
    if (silent <= (isDone ? Math.min(graceSeconds, silentSeconds) : silentSeconds)) return;
    const what = isDone
      ? "the tests are done and the process does not end"
      : `nothing has begun or ended for ${silentSeconds} s; running: ${runningTests()}`;
    fail(`${what}; open: ${openResources().join(", ") || "nothing that is known"}`);
  }, 1000).unref();
  const uncaught = (error: unknown): void => fail(`nothing catches ${inspect(error)}; running: ${runningTests()}`);
  if (failsAtErrors) process.on("uncaughtException", uncaught).on("unhandledRejection", uncaught);
  return {
    // Hooks run when all tests known by then are done, this one last.
    loaded: () =>
      after(() => {
        isDone = true;
        silent = 0;
      }),
  };
}

/** What keeps the process, in words: each kind with its number, and what is known of servers, connections and processes. */
function openResources(): readonly string[] {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const details = activeHandles().flatMap((handle) => {
    if (handle instanceof ChildProcess) return [`process ${handle.pid}: ${handle.spawnargs.join(" ")}`];
    if (handle instanceof Server) return [`server at ${JSON.stringify(handle.address())}`];
    if (handle instanceof Socket && handle.remotePort !== undefined) {
      return [`connection ${handle.localPort} to ${handle.remoteAddress} ${handle.remotePort}`];
    }
    return [];
  });
  return [...[...counts].map(([kind, count]) => `${count} ${kind}`), ...details];
}

/** They would outlive the tests, and those that write to the terminal would keep the runner. */
function killChildren(): void {
  for (const handle of activeHandles()) if (handle instanceof ChildProcess) handle.kill("SIGKILL");
}

function activeHandles(): readonly unknown[] {
  const { _getActiveHandles: read } = process as { _getActiveHandles?: () => unknown[] };
  return read?.call(process) ?? [];
}
