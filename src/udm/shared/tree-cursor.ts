import { firstColumn, headWords, isLeaf, itemCount, lastColumn, leastColumn, type NodeLayout } from "./node-layout.ts";

/** Reads the entries of one tree in list order, some at a time. */
export interface TreeCursor {
  /**
   * Writes the next items into `out`.
   *
   * @returns how many; fewer than `out` holds only at the end.
   */
  next(out: Int32Array): number;
}

/** Of entries to read: those whose first and last address lie within these words. */
export interface Bounds {
  readonly first: Int32Array;
  readonly last: Int32Array;
}

/** The tree must not be given up while the cursor is used. @param bounds undefined for all. */
export function createCursor(words: Int32Array, layout: NodeLayout, root: number, bounds?: Bounds): TreeCursor {
  const { width } = layout;
  // The way from the root down, and in each of its nodes the next place.
  const nodes = [root];
  const places = [root === 0 || bounds === undefined ? 0 : startIn(words, layout, root, bounds.first)];
  let level = root === 0 ? -1 : 0;

  return {
    next(out) {
      let filled = 0;
      while (level >= 0 && filled < out.length) {
        const node = nodes[level] as number;
        const count = itemCount(words, node);
        const items = node + headWords + 2 * count;
        let i = places[level] as number;
        if (isLeaf(words, node)) {
          for (; i < count && filled < out.length; i++) {
            if (bounds !== undefined) {
              const columns = node + headWords + i;
              if (compareFirst(words, columns, count, bounds.last, width) > 0) {
                level = -1;
                return filled;
              }
              if (compareLast(words, columns, count, bounds.last, width) > 0) continue;
            }
            out[filled++] = words[items + i] as number;
          }
          places[level] = i;
          if (i === count) level--;
          continue;
        }
        if (i === count) {
          level--;
          continue;
        }
        places[level] = i + 1;
        const child = words[items + i] as number;
        if (bounds === undefined) {
          nodes[++level] = child;
          places[level] = 0;
          continue;
        }
        if (compareFirst(words, node + headWords + i, count, bounds.last, width) > 0) {
          level = -1;
          return filled;
        }
        // All below it end after the bounds.
        if (compareLeast(words, node + headWords + i, count, bounds.last, layout) > 0) continue;
        nodes[++level] = child;
        places[level] = startIn(words, layout, child, bounds.first);
      }
      return filled;
    },
  };
}

/** Gives items that were found already. */
export function cursorOver(items: Int32Array): TreeCursor {
  let from = 0;
  return {
    next(out) {
      const some = items.subarray(from, from + out.length);
      out.set(some);
      from += some.length;
      return some.length;
    },
  };
}

/** Where the first entry that starts at `first` or later is, or may be: in a branch the child before one that starts so. */
function startIn(words: Int32Array, { width }: NodeLayout, node: number, first: Int32Array): number {
  const count = itemCount(words, node);
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareFirst(words, node + headWords + middle, count, first, width) < 0) low = middle + 1;
    else high = middle;
  }
  return isLeaf(words, node) ? low : Math.max(low - 1, 0);
}

function compareFirst(words: Int32Array, at: number, count: number, other: Int32Array, width: number): number {
  for (let w = 0; w < width; w++) {
    const a = words[at + firstColumn(w) * count] as number;
    const b = other[w] as number;
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}

function compareLast(words: Int32Array, at: number, count: number, other: Int32Array, width: number): number {
  for (let w = 0; w < width; w++) {
    const a = words[at + lastColumn(w) * count] as number;
    const b = other[w] as number;
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}

function compareLeast(words: Int32Array, at: number, count: number, other: Int32Array, layout: NodeLayout): number {
  for (let w = 0; w < layout.width; w++) {
    const a = words[at + leastColumn(w, layout) * count] as number;
    const b = other[w] as number;
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}
