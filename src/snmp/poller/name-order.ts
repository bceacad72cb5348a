/** Makes the records of one poll wait until the names of interfaces that it reads are known. */
export interface NameOrder {
  /**
   * Called for each type when it is due, in one turn of the event loop for all that are due at the same time.
   *
   * @param due milliseconds of the monotonic clock; types with the same one are one poll.
   * @param naming how many of its objects give names.
   */
  begin(due: number, naming: number): NameTurn;
}

export interface NameTurn {
  /** One of the objects that give names has been read, or could not be. */
  learned(): void;
  /** Resolves when all names of the poll are known. */
  known(): Promise<void>;
  /** The type is done: nobody waits for it any more. */
  end(): void;
}

interface Reading {
  readonly due: number;
  readonly done: Promise<void>;
}

/** Types whose times differ by less are due at the same time, milliseconds. */
const sameMs = 1;

export function createNameOrder(): NameOrder {
  const underWay = new Set<Reading>();
  return {
    begin(due, naming) {
      let left = naming;
      let finish = (): void => {};
      const reading: Reading = { due, done: new Promise((resolve) => (finish = resolve)) };
      const end = (): void => {
        underWay.delete(reading);
        finish();
      };
      if (naming > 0) underWay.add(reading);
      return {
        learned() {
          if (--left === 0) end();
        },
        async known() {
          const same = [...underWay].filter((other) => Math.abs(other.due - due) < sameMs);
          await Promise.all(same.map(({ done }) => done));
        },
        end,
      };
    },
  };
}
