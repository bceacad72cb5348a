import type { AsyncHook } from "node:async_hooks";
import { setFlagsFromString } from "node:v8";

/** V8 of Node 24 and later has no such flag. */
const hasInterruptBudget = Number(process.versions.node.split(".")[0]) < 24;

/**
 * Loads `node:test` so that it costs tests little. To be called before anything else imports it.
 *
 * The runner follows every promise and every resource to find the test of an error that nothing catches, and the suite of a
 * test: a tenth of all work. It needs that only until all tests are known: `watchTests` names those that run. A suite that waits
 * before it defines its tests would lose them.
 *
 * V8 optimises code that ran 15 times as much as usual. Most tests end before optimised code pays.
 *
 * @returns what to call when all files are loaded.
 */
export async function loadTestRunner(): Promise<{ readonly allAreKnown: () => void }> {
  if (hasInterruptBudget) setFlagsFromString("--interrupt-budget=1000000");
  const hooks = process.getBuiltinModule("node:async_hooks") as { createHook: (...args: unknown[]) => AsyncHook };
  const { createHook } = hooks;
  const created: AsyncHook[] = [];
  hooks.createHook = (...args) => {
    const hook = createHook(...args);
    created.push(hook);
    return hook;
  };
  await import("node:test");
  hooks.createHook = createHook;
  return { allAreKnown: () => created.forEach((hook) => hook.disable()) };
}
