/** Polls of an object from one look at all zeros to the next. */
const pollsBetweenLooks = 16;

/**
 * Cells of overridden columns that count although the overriding column has a value, because that value stays 0: agents
 * have wide counters that never move, and a speed in megabits that is 0. To look at a zero costs a value, and most zeros are
 * right, so all are looked at in the first poll and in every sixteenth, and in the others those that were stuck then.
 */
export interface StuckZeros {
  /** Begins a poll of an object. */
  begin(objectId: string): ZeroLook;
}

export interface ZeroLook {
  /** No zero is looked at. */
  readonly isOff: boolean;
  /** Whether to read what stands behind a zero. @param cell of the overridden column. */
  isLookedAt(cell: string): boolean;
  /** The cell has more than 0. */
  isStuck(cell: string): void;
}

export function createStuckZeros(): StuckZeros {
  const objects = new Map<string, { polls: number; stuck: Set<string> }>();
  return {
    begin(objectId) {
      const known = objects.get(objectId) ?? { polls: 0, stuck: new Set() };
      objects.set(objectId, known);
      const isDue = known.polls++ % pollsBetweenLooks === 0;
      if (isDue) known.stuck = new Set();
      const { stuck } = known;
      return {
        isOff: !isDue && stuck.size === 0,
        isLookedAt: (cell) => isDue || stuck.has(cell),
        isStuck: (cell) => void stuck.add(cell),
      };
    },
  };
}
