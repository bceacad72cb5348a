/** How a discovery ended. */
export type DiscoveryOutcome = { readonly ok: true } | { readonly ok: false; readonly error: string };

export type DiscoveryState = "queued" | "running";

/** Runs discoveries: one at a time for a device, a limited number at the same time. */
export interface DiscoveryQueue {
  /**
   * Asks for a discovery. One that is queued is joined, and begins at the earlier time. One that is running is joined,
   * unless `afresh`: then another follows it, because what it looks for has changed.
   *
   * @param delayMs how long it waits at least.
   */
  request(deviceId: string, delayMs: number, afresh: boolean): Promise<DiscoveryOutcome>;
  /** undefined when there is none. */
  state(deviceId: string): DiscoveryState | undefined;
  /** Takes back what is queued for a device. */
  cancel(deviceId: string): void;
  /** Takes back everything and waits for what runs. */
  stop(): Promise<void>;
  counts(): { readonly queued: number; readonly running: number };
}

interface Job {
  readonly outcome: Promise<DiscoveryOutcome>;
  readonly resolve: (outcome: DiscoveryOutcome) => void;
  timer: NodeJS.Timeout | undefined;
  /** When the timer ends. */
  at: number;
}

const cancelled: DiscoveryOutcome = { ok: false, error: "cancelled" };

export function createDiscoveryQueue(
  run: (deviceId: string) => Promise<DiscoveryOutcome>,
  now: () => number,
  maxRunning: number,
): DiscoveryQueue {
  const waiting = new Map<string, Job>();
  const running = new Map<string, Job>();
  /** Whose time has come, in that order. */
  const ready: string[] = [];
  let isStopped = false;

  const runJob = async (deviceId: string, job: Job): Promise<void> => {
    job.resolve(await run(deviceId));
    running.delete(deviceId);
    startReady();
  };
  const startReady = (): void => {
    for (let i = 0; i < ready.length && running.size < maxRunning;) {
      const deviceId = ready[i] as string;
      if (running.has(deviceId)) {
        i++;
        continue;
      }
      ready.splice(i, 1);
      const job = waiting.get(deviceId);
      if (job === undefined) continue;
      waiting.delete(deviceId);
      running.set(deviceId, job);
      void runJob(deviceId, job);
    }
  };
  const schedule = (deviceId: string, job: Job, at: number): void => {
    job.at = at;
    clearTimeout(job.timer);
    job.timer = setTimeout(
      () => {
        job.timer = undefined;
        ready.push(deviceId);
        startReady();
      },
      Math.max(0, at - now()),
    );
  };
  const cancel = (deviceId: string): void => {
    const job = waiting.get(deviceId);
    if (job === undefined) return;
    waiting.delete(deviceId);
    clearTimeout(job.timer);
    const at = ready.indexOf(deviceId);
    if (at >= 0) ready.splice(at, 1);
    job.resolve(cancelled);
  };

  return {
    request(deviceId, delayMs, afresh) {
      if (isStopped) return Promise.resolve(cancelled);
      const active = running.get(deviceId);
      if (active !== undefined && !afresh) return active.outcome;
      const at = now() + delayMs;
      const queued = waiting.get(deviceId);
      if (queued !== undefined) {
        if (queued.timer !== undefined && at < queued.at) schedule(deviceId, queued, at);
        return queued.outcome;
      }
      let resolve: Job["resolve"] = () => {};
      const outcome = new Promise<DiscoveryOutcome>((settle) => (resolve = settle));
      const job: Job = { outcome, resolve, timer: undefined, at };
      waiting.set(deviceId, job);
      schedule(deviceId, job, at);
      return outcome;
    },
    state: (deviceId) => (running.has(deviceId) ? "running" : waiting.has(deviceId) ? "queued" : undefined),
    cancel,
    async stop() {
      isStopped = true;
      for (const deviceId of waiting.keys()) cancel(deviceId);
      await Promise.all([...running.values()].map((job) => job.outcome));
    },
    counts: () => ({ queued: waiting.size, running: running.size }),
  };
}
