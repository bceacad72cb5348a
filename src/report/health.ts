export interface Check {
  readonly name: string;
  readonly ready: boolean;
  /** What an operator should know, one line. */
  readonly detail?: string;
}

/** Readiness by named checks. The collector is ready when every check is. */
export interface Health {
  /** Sets or replaces the check of this name. */
  set(check: Check): void;
  isReady(): boolean;
  /** All checks, in the order in which they were first set. */
  checks(): readonly Check[];
}

export function createHealth(): Health {
  const checks = new Map<string, Check>();
  return {
    set: (check) => void checks.set(check.name, check),
    isReady: () => [...checks.values()].every((check) => check.ready),
    checks: () => [...checks.values()],
  };
}
