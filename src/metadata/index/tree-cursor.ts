import {
  commonWords,
  headWords,
  isLeaf,
  itemAt,
  itemCount,
  leafBit,
  maxLevels,
  rowsOf,
  rowWords,
  type NodeLayout,
} from "./node-layout.ts";
import { compareFirst, compareLast, compareLeast } from "./node-words.ts";

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
  // The way from the root down, and in each of its nodes the next place.
  const nodes = [root];
  const places = [root === 0 || bounds === undefined ? 0 : startIn(words, layout, root, bounds.first)];
  let level = root === 0 ? -1 : 0;
  /** From which level on all lies within the bounds. */
  let wholeFrom = bounds === undefined ? 0 : maxLevels;

  return {
    next(out) {
      let filled = 0;
      while (level >= 0 && filled < out.length) {
        if (level < wholeFrom && bounds !== undefined) wholeFrom = maxLevels;
        const isWhole = level >= wholeFrom;
        const node = nodes[level] as number;
        if (isLeaf(words, node)) {
          const count = itemCount(words, node);
          const row = rowWords(layout, words[node] as number);
          let i = places[level] as number;
          for (let at = rowsOf(words, node) + i * row; i < count && filled < out.length; i++, at += row) {
            if (!isWhole && bounds !== undefined) {
              if (compareFirst(words, layout, node, i, bounds.last) > 0) {
                level = -1;
                return filled;
              }
              if (compareLast(words, layout, node, i, bounds.last) > 0) continue;
            }
            out[filled++] = words[at] as number;
          }
          places[level] = i;
          if (i === count) level--;
          continue;
        }
        const i = places[level] as number;
        if (i === itemCount(words, node)) {
          level--;
          continue;
        }
        places[level] = i + 1;
        const child = itemAt(words, layout, node, i);
        if (bounds === undefined || isWhole) {
          nodes[++level] = child;
          places[level] = 0;
          continue;
        }
        if (compareFirst(words, layout, node, i, bounds.last) > 0) {
          level = -1;
          return filled;
        }
        // All below it end after the bounds.
        if (compareLeast(words, layout, node, i, bounds.last) > 0) continue;
        const startsIn = compareFirst(words, layout, node, i, bounds.first) >= 0;
        if (startsIn && compareLast(words, layout, node, i, bounds.last) <= 0) wholeFrom = level + 1;
        nodes[++level] = child;
        places[level] = startsIn ? 0 : startIn(words, layout, child, bounds.first);
      }
      return filled;
    },
  };
}

/** Gives items that were found already. */
export function cursorOver(items: ArrayLike<number>): TreeCursor {
  let from = 0;
  return {
    next(out) {
      let filled = 0;
      while (filled < out.length && from < items.length) out[filled++] = items[from++] as number;
      return filled;
    },
  };
}

/** Where the first entry that starts at `first` or later is, or may be: in a branch the child before one that starts so. */
function startIn(words: Int32Array, layout: NodeLayout, node: number, first: Int32Array): number {
  const head = words[node] as number;
  const common = commonWords(head);
  const column = node + headWords + common;
  const p = first[common] as number;
  let low = 0;
  let high = head >>> 16;
  for (let w = 0; w < common; w++) {
    const word = words[node + headWords + w] as number;
    if (word === first[w]) continue;
    if (word < (first[w] as number)) low = high;
    else high = low;
    break;
  }
  while (low < high) {
    const middle = (low + high) >> 1;
    const word = words[column + middle] as number;
    if (word < p || (word === p && compareFirst(words, layout, node, middle, first) < 0)) low = middle + 1;
    else high = middle;
  }
  return (head & leafBit) !== 0 ? low : Math.max(low - 1, 0);
}
