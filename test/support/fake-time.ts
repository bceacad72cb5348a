import type { Clock } from "../../src/base/report/index.ts";

/** Time that passes only when a test says so. Actions run in their order, with what they have set off done in between. */
export interface FakeTime {
  readonly clock: Clock;
  readonly after: (action: () => void, ms: number) => () => void;
  pass(ms: number): Promise<void>;
  /** The clock of the host is set: monotonic time stays. */
  jump(ms: number): void;
  /** The host stands still: the wall clock goes on, the monotonic one and all timers do not. */
  sleep(ms: number): void;
}

export function createFakeTime(start = 1_800_000_000_000): FakeTime {
  let now = 0;
  let offset = start;
  const timers = new Set<{ readonly at: number; readonly action: () => void }>();
  return {
    clock: { now: () => now + offset, monotonic: () => now },
    after(action, ms) {
      const timer = { at: now + Math.max(0, ms), action };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    async pass(ms) {
      const end = now + ms;
      await settle();
      for (;;) {
        const [first] = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
        if (first === undefined) break;
        timers.delete(first);
        now = Math.max(now, first.at);
        first.action();
        await settle();
      }
      now = end;
    },
    jump: (ms) => void (offset += ms),
    sleep: (ms) => void (offset += ms),
  };
}

/** Lets everything that waits for nothing but promises happen. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
}
