/** Which objects of a device were larger than what is read of one, and when they are tried again. */
export interface OversizedObjects {
  /** Called once for each poll of the object. @returns whether it is to be read this time. */
  mayRead(objectId: string): boolean;
  /** The object was cut off. @returns how many of its next polls are left out. */
  cut(objectId: string): number;
  /** The object was read to its end. */
  fits(objectId: string): void;
}

/** How many polls are left out at most: an hour at a minute's interval. */
const mostLeftOut = 64;

/** Twice as many polls are left out each time, because an endless table costs as much as a thousand devices. */
export function createOversizedObjects(): OversizedObjects {
  const oversized = new Map<string, { step: number; left: number }>();
  return {
    mayRead(objectId) {
      const known = oversized.get(objectId);
      if (known === undefined || known.left === 0) return true;
      known.left--;
      return false;
    },
    cut(objectId) {
      const step = Math.min(mostLeftOut, (oversized.get(objectId)?.step ?? 1) * 2);
      oversized.set(objectId, { step, left: step });
      return step;
    },
    fits: (objectId) => void oversized.delete(objectId),
  };
}
