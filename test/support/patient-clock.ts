import type { TestContext } from "node:test";
import type { Clock } from "../../src/base/report/index.ts";
import { cleanUp } from "./clean-up.ts";

/** What one turn of the event loop may take, milliseconds. */
const most = 20;

/**
 * A clock on which a turn of the event loop takes 20 ms at most: on a host that is busy with something else time passes
 * more slowly, so that a test can ask what is missed without asking how fast the host is.
 */
export function startPatientClock(t: TestContext): Clock {
  let passed = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    passed += Math.min(most, now - last);
    last = now;
  }, most / 4);
  cleanUp(t, () => clearInterval(timer));
  const start = Date.now();
  return { now: () => start + Math.round(passed), monotonic: () => passed };
}
