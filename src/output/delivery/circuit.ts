/**
 * Who may try a store. While it works, all may. While it is away, one batch at a time tries, waits after a failure and lets
 * the next one try: the store is not pressed, few batches are encoded in vain, and a batch that always fails does not keep
 * the others back.
 */
export interface Circuit {
  /**
   * Resolves when this caller may try. It calls what it is given when its try, and the wait after it, are over.
   *
   * @param isFirst whether it has not tried before: then it comes before those that have, which may be at fault themselves.
   */
  enter(isFirst: boolean): Promise<() => void>;
  /** The store took something. */
  worked(): void;
  failed(): void;
  /** Lets everybody through, as nothing is tried any more. */
  end(): void;
  readonly isAway: boolean;
  /** Tries that failed one after the other while the store was away. */
  readonly probes: number;
}

/** How many failures in a row mean that the store is away. */
const awayAfter = 2;

export function createCircuit(): Circuit {
  let failures = 0;
  let probes = 0;
  let isEnded = false;
  let isProbing = false;
  type Enter = (leave: () => void) => void;
  const first: Enter[] = [];
  const others: Enter[] = [];

  const isAway = (): boolean => failures >= awayAfter;

  const letIn = (): void => {
    while (first.length + others.length > 0) {
      const isProbe = isAway() && !isEnded;
      if (isProbe && isProbing) return;
      const enter = (first.shift() ?? others.shift()) as Enter;
      if (!isProbe) {
        enter(() => {});
        continue;
      }
      isProbing = true;
      enter(() => {
        isProbing = false;
        letIn();
      });
    }
  };

  return {
    enter: (isFirst) =>
      new Promise((resolve) => {
        (isFirst ? first : others).push(resolve);
        letIn();
      }),
    worked() {
      failures = 0;
      probes = 0;
      letIn();
    },
    failed() {
      failures++;
      if (isProbing) probes++;
    },
    end() {
      isEnded = true;
      letIn();
    },
    get isAway() {
      return isAway();
    },
    get probes() {
      return probes;
    },
  };
}
