import type { Log } from "../../report/index.ts";

/** The work of a device that is under way. */
export interface RunningPolls {
  /** @returns what never rejects: a fault of the collector is noted and logged. */
  track(work: Promise<void>): Promise<void>;
  /** Resolves when all that runs now has ended. */
  settled(): Promise<unknown>;
}

export function createRunningPolls(deviceId: string, log: Log, note: (message: string) => void): RunningPolls {
  const running = new Set<Promise<void>>();
  return {
    track(work) {
      const tracked = work
        .catch((error: unknown) => {
          note(String(error));
          log.error({ device: deviceId, error }, "a poll failed by a fault of the collector");
        })
        .finally(() => running.delete(tracked));
      running.add(tracked);
      return tracked;
    },
    settled: () => Promise.allSettled(running),
  };
}
