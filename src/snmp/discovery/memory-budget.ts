/** A bound on the memory that rows take between reading and writing. In bytes. */
export interface MemoryBudget {
  readonly used: number;
  lease(): MemoryLease;
}

/** What one table takes of a budget. */
export interface MemoryLease {
  /** Adds to what the table takes. @returns false when there is not so much left; then nothing is added. */
  take(bytes: number): boolean;
  /** Gives back everything. */
  end(): void;
}

/** How much of each lease does not count: an endless table elsewhere must not cost an ordinary one its rows. */
export const freeOfEachLease = 96 * 1024;

/** @param outer the budget that this one is a part of. */
export function createMemoryBudget(limit: number, outer?: MemoryBudget): MemoryBudget {
  let used = 0;
  return {
    get used() {
      return used;
    },
    lease() {
      const outerLease = outer?.lease();
      let taken = 0;
      return {
        take(bytes) {
          const counted = Math.max(0, taken + bytes - freeOfEachLease) - Math.max(0, taken - freeOfEachLease);
          if (used + counted > limit || outerLease?.take(bytes) === false) return false;
          taken += bytes;
          used += counted;
          return true;
        },
        end() {
          outerLease?.end();
          used -= Math.max(0, taken - freeOfEachLease);
          taken = 0;
        },
      };
    },
  };
}
