import { createLineBudget, type Clock, type Health, type Log, type LogFields } from "../base/report/index.ts";

type State = "ready" | "degraded" | "not ready";

/** Changes logged at once; the later ones of this many milliseconds share a line. */
const burst = 3;
const quietMs = 30_000;

/**
 * Logs whether the collector is ready, and each later change of that, at a limited rate: a line says how often it changed since the one
 * before. The line names the checks; what is wrong with them has been logged by the part itself and is shown by `/readyz`.
 *
 * @param where fields of the first line: the version, the ports.
 * @returns what ends it.
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
  /** Since the line before. */
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
