/** Time that passes, for what waits. Tests pass their own. */
export interface Timers {
  /** Milliseconds of a clock that never goes back; only differences mean something. */
  now(): number;
  /** Calls `action` once after `ms` milliseconds, in a later turn of the event loop. @returns what cancels the call. */
  after(ms: number, action: () => void): () => void;
}

/** The time of the system. What waits does not keep the process alive. */
export const systemTimers: Timers = {
  now: () => performance.now(),
  after(ms, action) {
    const timer = setTimeout(action, ms).unref();
    return () => clearTimeout(timer);
  },
};
