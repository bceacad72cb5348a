import type { Family } from "../../ip/index.ts";
import { findCovering4, findCovering6 } from "./find-covering.ts";
import { rootOf } from "./snapshot-record.ts";

/** Finds items by the words of an address ({@link KeyWords}) in a state that is held or pinned. */
export interface CoveringSearch {
  /** The items found last, in list order; those beyond the count are left over from before. */
  readonly items: Int32Array;
  /** @returns how many there are. */
  find(snapshot: number, family: Family, address: Int32Array): number;
}

export function createCoveringSearch(words: Int32Array): CoveringSearch {
  const search = (root: number, family: Family, p: Int32Array): number =>
    family === 4
      ? findCovering4(words, root, p[0] as number, found.items, 0)
      : findCovering6(words, root, p[0] as number, p[1] as number, p[2] as number, p[3] as number, found.items, 0);
  const found = {
    items: new Int32Array(64),
    find(snapshot: number, family: Family, address: Int32Array) {
      const root = rootOf(words, snapshot, family);
      if (root === 0) return 0;
      const count = search(root, family, address);
      if (count <= found.items.length) return count;
      found.items = new Int32Array(2 * count);
      return search(root, family, address);
    },
  };
  return found;
}
