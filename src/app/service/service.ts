import { setFlagsFromString } from "node:v8";
import {
  describeError,
  type Health,
  type Log,
  createLineBudget,
  type Clock,
  type LogFields,
  isExpected,
  type Component,
} from "../../base/report/index.ts";
import { exitCodes, type SignalSource } from "../cli/terminal.ts";
import { SettingsError } from "../settings/index.ts";

/** The growth of the heap over its live objects that triggers a collection of old objects, percent. */
const growth = 30;

/**
 * Makes the collector collect garbage earlier, for the whole process. V8 lets a heap of hundreds of megabytes grow to a multiple before it
 * collects it. Rows of SNMP tables live as long as a table takes to read, and templates of hostile exporters until others replace
 * them, so they all become old objects.
 */
export function limitHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${growth}`);
}

/** Sends messages of a process to systemd: each text is an assignment such as `READY=1`. */
type Notify = (assignments: readonly string[]) => Promise<void>;

export interface ServiceManagerOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly health: Health;
  readonly log: Log;
  /** Default: the program `systemd-notify`, because Node has no Unix datagram sockets. */
  readonly notify?: Notify;
}

/**
 * Notifies systemd that the collector has started, of each change of its state, and that it is alive: twice in each `WatchdogSec` of the
 * unit, from the main thread. Does nothing where no service manager listens (`NOTIFY_SOCKET` of sd_notify(3)). A failed notification
 * is logged once; the collector runs on.
 *
 * @returns a function that announces the stop of the collector.
 */
export function announceToServiceManager(options: ServiceManagerOptions): () => void {
  const { env, pid, health, log, notify = runSystemdNotify(env) } = options;
  if ((env["NOTIFY_SOCKET"] ?? "") === "") return () => {};

  let saying = Promise.resolve();
  let hasFailed = false;
  const say = (...assignments: readonly string[]): void => {
    saying = saying
      .then(() => notify(assignments))
      .catch((error: unknown) => {
        if (!hasFailed) log.warn({ reason: describeError(error) }, "the service manager cannot be notified");
        hasFailed = true;
      });
  };

  let status = statusOf(health);
  say("READY=1", `STATUS=${status}`);
  const unwatch = health.watch(() => {
    const before = status;
    status = statusOf(health);
    if (status !== before) say(`STATUS=${status}`);
  });
  const everyMs = watchdogMs(env, pid) / 2;
  const watchdog = everyMs > 0 ? setInterval(() => say("WATCHDOG=1"), everyMs) : undefined;
  return () => {
    unwatch();
    clearInterval(watchdog);
    say("STOPPING=1", "STATUS=stopping");
  };
}

/** Returns the status that `systemctl status` shows, one line. */
function statusOf(health: Health): string {
  const checks = health.checks();
  const names = (isMeant: (check: (typeof checks)[number]) => boolean): string =>
    checks
      .filter(isMeant)
      .map(({ name }) => name)
      .join(", ");
  if (!health.isReady()) return `not ready: ${names(({ ready }) => !ready)}`;
  return health.isDegraded() ? `degraded: ${names(({ degraded }) => degraded === true)}` : "ready";
}

/** Returns the longest silence that the service manager allows, milliseconds; 0 when it watches another process, or none. */
function watchdogMs(env: ServiceManagerOptions["env"], pid: number): number {
  const watched = env["WATCHDOG_PID"] ?? "";
  if (watched !== "" && Number(watched) !== pid) return 0;
  const ms = Number(env["WATCHDOG_USEC"] ?? 0) / 1000;
  return Number.isFinite(ms) ? ms : 0;
}

/** The longest time that `systemd-notify` may take, milliseconds. */
const notifyWithin = 10_000;

function runSystemdNotify(env: ServiceManagerOptions["env"]): Notify {
  return async (assignments) => {
    const [{ execFile }, { promisify }] = await Promise.all([import("node:child_process"), import("node:util")]);
    const { NOTIFY_SOCKET, PATH } = env;
    await promisify(execFile)("systemd-notify", assignments, { env: { NOTIFY_SOCKET, PATH }, timeout: notifyWithin });
  };
}

type State = "ready" | "degraded" | "not ready";

/** The number of changes logged at once; later ones within this many milliseconds share a line. */
const burst = 3;
const quietMs = 30_000;

/**
 * Logs whether the collector is ready, and each later change of that, at a limited rate: a line has the number of changes since the one
 * before. The line names the checks; each part logs its own faults, and `/readyz` shows them.
 *
 * @param where fields of the first line: the version, the ports.
 * @returns a function that ends the logging.
 */
export function announceReadiness(
  health: Health,
  log: Log,
  where: LogFields,
  {
    clock,
    after,
  }: { readonly clock: Pick<Clock, "monotonic">; readonly after: (action: () => void, ms: number) => () => void },
): () => void {
  let state = stateOf(health);
  const hasBudget = createLineBudget(clock, burst, 1000 / quietMs);
  /** The number of changes since the line before. */
  let changes = 0;
  let callOff: (() => void) | undefined;

  const tell = (): void => {
    const fields = changes > 1 ? { changes } : {};
    changes = 0;
    say(fields);
  };

  const changed = (): void => {
    changes++;
    if (callOff !== undefined) return;
    if (hasBudget()) return tell();
    callOff = after(() => {
      callOff = undefined;
      hasBudget();
      tell();
    }, quietMs);
  };

  const say = (fields: LogFields): void => {
    const checks = health.checks();
    const notReady = checks.filter(({ ready }) => !ready).map(({ name }) => name);
    const degraded = checks.filter((check) => check.ready && check.degraded === true).map(({ name }) => name);
    const works = checks.filter((check) => check.ready && check.degraded !== true).map(({ name }) => name);
    if (state === "ready") log.info(fields, "netgloss is ready");
    else if (state === "degraded")
      log.warn({ ...fields, degraded, works }, "netgloss is ready, but not all of it works");
    else log.warn({ ...fields, notReady, degraded, works }, "netgloss runs, but it is not ready");
  };
  say(where);
  const end = health.watch(() => {
    const before = state;
    state = stateOf(health);
    if (state !== before) changed();
  });
  return () => {
    end();
    callOff?.();
  };
}

function stateOf(health: Health): State {
  if (!health.isReady()) return "not ready";
  return health.isDegraded() ? "degraded" : "ready";
}

export interface RunOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly signals: SignalSource;
  /** Ends the process at once. */
  readonly exit: (code: number) => void;
  /** Called when the component has started. The function it returns is called before the component is stopped. */
  readonly started?: () => (() => void) | undefined;
  /** Called on SIGHUP. */
  readonly reload?: () => void;
  /** Called on SIGUSR2. */
  readonly reopen?: () => void;
}

/** The longest time that a stop may take before the process ends without it, milliseconds. */
const stopWithinMs = 10_000;

/**
 * The time within which a repeated signal counts as the same request, milliseconds. Ctrl-C under npm sends two: the terminal's, and
 * npm's copy. `timeout` sends its signal twice, too.
 */
const sameRequestMs = 500;

/**
 * Runs a component as the only purpose of the process: starts it, waits for SIGTERM or SIGINT, stops it. A second
 * signal half a second later or more, or a stop that takes longer than ten seconds, ends the process at once. An uncaught
 * error is a bug: it is logged and ends the process.
 *
 * After a stop by a signal, it still listens for SIGTERM and SIGINT. Without a listener, the repeated signal would kill a process
 * that is about to end with exit code 0.
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

/** Logs why something cannot start. @returns the exit code; after a SettingsError that of bad settings. */
export function logFailedStart(error: unknown, log: Log): number {
  if (error instanceof SettingsError) {
    for (const problem of error.problems) log.error({ error: problem }, "cannot start");
    return exitCodes.config;
  }
  log.error({ error: isExpected(error) ? error.message : error }, "cannot start");
  return exitCodes.failure;
}
