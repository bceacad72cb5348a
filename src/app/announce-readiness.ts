import type { Health, Log, LogFields } from "../report/index.ts";

type State = "ready" | "degraded" | "not ready";

/**
 * Logs whether the collector is ready, and each later change of that. The line names the checks; what is wrong with them has
 * been logged by the part itself and is shown by `/readyz`.
 *
 * @param where fields of the first line: the version, the ports.
 * @returns what ends it.
 */
export function announceReadiness(health: Health, log: Log, where: LogFields): () => void {
  let state = stateOf(health);
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
  return health.watch(() => {
    const before = state;
    state = stateOf(health);
    if (state !== before) say({});
  });
}

function stateOf(health: Health): State {
  if (!health.isReady()) return "not ready";
  return health.isDegraded() ? "degraded" : "ready";
}
