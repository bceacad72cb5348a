import type { TestContext } from "node:test";
import type { Clock } from "../../src/base/report/index.ts";
import { cleanUp } from "./clean-up.ts";

/** What a turn of the event loop takes, milliseconds. */
const turn = 5;

/**
 * A clock that counts turns of the event loop, 5 ms each, however long they take: a slow or busy host does the same work in a second of
 * it as a fast one, so that a test can ask what is missed without asking how fast the host is.
 */
export function startPatientClock(t: TestContext): Clock {
  let passed = 0;
  const timer = setInterval(() => (passed += turn), turn);
  cleanUp(t, () => clearInterval(timer));
  const start = Date.now();
  return { now: () => start + passed, monotonic: () => passed };
}
