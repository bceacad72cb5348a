import { setTimeout as sleep } from "node:timers/promises";

/** Waits until `probe` gives something other than undefined or false. @throws Error naming `what` after the deadline. */
export async function until<T>(
  what: string,
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  deadlineMs = 60_000,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`waited ${deadlineMs / 1000} s in vain for: ${what}`);
    await sleep(20);
  }
}
