import { describeError, type Health, type Log } from "../base/report/index.ts";

/** How a process says something to systemd: each text is an assignment such as `READY=1`. */
export type Notify = (assignments: readonly string[]) => Promise<void>;

export interface ServiceManagerOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly health: Health;
  readonly log: Log;
  /** Default: the program `systemd-notify`, because Node has no Unix datagram sockets. */
  readonly notify?: Notify;
}

/**
 * Says to systemd that the collector has started, how it is whenever that changes, and that it lives: twice in each `WatchdogSec` of the unit, from the
 * main thread. Does nothing where no service manager listens (`NOTIFY_SOCKET` of sd_notify(3)). A manager that does not get the word
 * is logged once; the collector runs on.
 *
 * @returns what says that the collector stops.
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

/** What `systemctl status` shows, one line. */
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

/** The longest silence that the service manager allows, milliseconds; 0 when it watches another process, or none. */
function watchdogMs(env: ServiceManagerOptions["env"], pid: number): number {
  const watched = env["WATCHDOG_PID"] ?? "";
  if (watched !== "" && Number(watched) !== pid) return 0;
  const ms = Number(env["WATCHDOG_USEC"] ?? 0) / 1000;
  return Number.isFinite(ms) ? ms : 0;
}

/** How long `systemd-notify` may take, milliseconds. */
const notifyWithin = 10_000;

function runSystemdNotify(env: ServiceManagerOptions["env"]): Notify {
  return async (assignments) => {
    const [{ execFile }, { promisify }] = await Promise.all([import("node:child_process"), import("node:util")]);
    const { NOTIFY_SOCKET, PATH } = env;
    await promisify(execFile)("systemd-notify", assignments, { env: { NOTIFY_SOCKET, PATH }, timeout: notifyWithin });
  };
}
