import { exitCodes, type SignalSource } from "./cli/terminal.ts";
import { isExpected, type Clock, type Component, type Log } from "../base/report/index.ts";
import { SettingsError } from "./settings/index.ts";

export interface RunOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly signals: SignalSource;
  /** Ends the process at once. */
  readonly exit: (code: number) => void;
  /** Called when the component has started. What it returns is called before the component is stopped. */
  readonly started?: () => (() => void) | undefined;
  /** SIGHUP. */
  readonly reload?: () => void;
  /** SIGUSR2. */
  readonly reopen?: () => void;
}

/** How long a stop may take before the process ends without it. */
const stopWithinMs = 10_000;

/** On Ctrl-C under npm the signal comes twice: from the terminal and from npm, which passes it on. `timeout` sends its signal twice, too. */
const sameRequestMs = 500;

/**
 * Runs a component as the one purpose of the process: starts it, waits for SIGTERM or SIGINT, stops it. A second
 * signal half a second later or more, or a stop that takes longer than ten seconds, ends the process at once. An error
 * that nobody caught is a bug: it is logged and ends the process.
 *
 * After a stop that a signal asked for, it still listens for SIGTERM and SIGINT: without a listener, the same request, which comes
 * again, would kill a process that is about to end with exit code 0.
 *
 * @returns the exit code; after a SettingsError of the start that of bad settings.
 */
export async function runComponent(component: Component, options: RunOptions): Promise<number> {
  const { log, clock, signals, exit, started, reload, reopen } = options;
  let stopAskedAt: number | undefined;
  let wake = (): void => {};
  const asked = new Promise<void>((resolve) => (wake = resolve));

  const stop = (signal: unknown): void => {
    const now = clock.monotonic();
    if (stopAskedAt === undefined) {
      stopAskedAt = now;
      log.info({ signal }, "stopping");
      wake();
    } else if (now - stopAskedAt >= sameRequestMs) {
      log.warn({ signal }, "second signal, ending at once");
      exit(exitCodes.failure);
    }
  };
  const bug = (error: unknown): void => {
    log.error({ error }, "unexpected error, ending");
    exit(exitCodes.failure);
  };
  const listeners: [string, (value: unknown) => void][] = [
    ["SIGTERM", stop],
    ["SIGINT", stop],
    ["SIGHUP", () => reload?.()],
    ["SIGUSR2", () => reopen?.()],
    ["uncaughtException", bug],
    ["unhandledRejection", bug],
  ];
  for (const [event, listener] of listeners) signals.on(event, listener);
  try {
    try {
      await component.start();
    } catch (error) {
      return logFailedStart(error, log);
    }
    const stopping = stopAskedAt === undefined ? started?.() : undefined;
    await asked;
    stopping?.();
    const deadline = setTimeout(() => {
      log.error({ seconds: stopWithinMs / 1000 }, "not stopped in time, ending at once");
      exit(exitCodes.failure);
    }, stopWithinMs);
    await component.stop();
    clearTimeout(deadline);
    log.info({}, "stopped");
    return exitCodes.ok;
  } finally {
    for (const [event, listener] of listeners) {
      if (listener !== stop || stopAskedAt === undefined) signals.off(event, listener);
    }
  }
}

/** Says why something cannot start. @returns the exit code; after a SettingsError that of bad settings. */
export function logFailedStart(error: unknown, log: Log): number {
  if (error instanceof SettingsError) {
    for (const problem of error.problems) log.error({ error: problem }, "cannot start");
    return exitCodes.config;
  }
  log.error({ error: isExpected(error) ? error.message : error }, "cannot start");
  return exitCodes.failure;
}
