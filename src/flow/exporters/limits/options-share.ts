/** How much of something is in use, and how much may be. */
export interface Budget {
  used: number;
  readonly max: number;
}

/** What an exporter's options may fill: entries of all tables of all its domains. */
export interface OptionsShare {
  /** Takes room for one entry. Returns whether there was any. */
  take(): boolean;
  give(entries: number): void;
  /** Counts what entries take, in bytes; negative is given back. */
  addBytes(bytes: number): void;
  /** Counts an entry that gave way, or found no room. */
  evicted(): void;
}

/** @param budgets all that an entry must fit into: the exporter's and that of all exporters together. */
export function createOptionsShare(
  budgets: readonly Budget[],
  addBytes: (bytes: number) => void,
  evicted: () => void,
): OptionsShare {
  return {
    addBytes,
    take() {
      if (budgets.some(({ used, max }) => used >= max)) return false;
      for (const budget of budgets) budget.used++;
      return true;
    },
    give(entries) {
      for (const budget of budgets) budget.used -= entries;
    },
    evicted,
  };
}
