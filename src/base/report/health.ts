export interface Check {
  readonly name: string;
  /** Whether the part does its work. One that is not ready makes `/readyz` answer 503. */
  readonly ready: boolean;
  /** It is ready, but something is lost or missing: `detail` says what. */
  readonly degraded?: boolean;
  /** What an operator should know, one line. */
  readonly detail?: string;
}

/** Readiness by named checks. The collector is ready when every check is. */
export interface Health {
  /** Sets or replaces the check of this name. */
  set(check: Check): void;
  isReady(): boolean;
  /** Whether it is ready, but not all of it works. */
  isDegraded(): boolean;
  /** All checks, in the order in which they were first set. */
  checks(): readonly Check[];
  /** Calls the listener after each change. @returns what ends that. */
  watch(listener: () => void): () => void;
}

export function createHealth(): Health {
  const checks = new Map<string, Check>();
  const listeners = new Set<() => void>();
  const isReady = (): boolean => [...checks.values()].every((check) => check.ready);
  return {
    set(check) {
      checks.set(check.name, check);
      for (const listener of listeners) listener();
    },
    isReady,
    isDegraded: () => isReady() && [...checks.values()].some((check) => check.degraded === true),
    checks: () => [...checks.values()],
    watch(listener) {
      const own = (): void => listener();
      listeners.add(own);
      return () => void listeners.delete(own);
    },
  };
}
