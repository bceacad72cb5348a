import type { Family } from "../../ip/index.ts";
import { findInLeaf4, findInLeaf6, listLeaves4, listLeaves6 } from "./find-covering.ts";
import { rootOf } from "./snapshot-record.ts";

/**
 * Finds the items that cover addresses, given as words ({@link KeyWords}), in states that are held or pinned. Searches can be batched: the
 * leaves of all of them are read from memory in parallel.
 */
export interface CoveringSearch {
  /** The items found last, in list order; those beyond the end are left over from before. */
  readonly items: Int32Array;
  /** Of each search of the batch: where its items end. */
  readonly ends: readonly number[];
  /** Begins a new batch. */
  begin(): void;
  /** Adds a search to the batch. Searches are numbered from 0. */
  add(snapshot: number, family: Family, address: Int32Array): void;
  /** Runs the searches of the batch. @returns where the items of the last one end. */
  findAll(): number;
  /** One search alone. @returns how many items there are. */
  find(snapshot: number, family: Family, address: Int32Array): number;
}

const firstLength = 64;
/** Words of a line of the processor's cache, and of the largest leaves of both families. */
const lineWords = 16;
const leafWords4 = 64;
const leafWords6 = 128;

export function createCoveringSearch(words: Int32Array): CoveringSearch {
  let leaves = new Int32Array(firstLength);
  let count = 0;
  let leavesEnd = 0;
  /** Of each search: where its leaves end, its family, and four words of its address. */
  const leafEnds: number[] = [];
  const families: Family[] = [];
  const asked: number[] = [];
  const ends: number[] = [];
  /** What is read ahead is read only if something follows from it. */
  const reads = { sum: 0 };

  const list = (root: number, family: Family, p: Int32Array): number =>
    family === 4
      ? listLeaves4(words, root, p[0] as number, leaves, leavesEnd)
      : listLeaves6(words, root, p[0] as number, p[1] as number, p[2] as number, p[3] as number, leaves, leavesEnd);

  const findIn = (leaf: number, i: number, from: number): number => {
    const at = 4 * i;
    const p = asked[at] as number;
    if (families[i] === 4) return findInLeaf4(words, leaf, p, search.items, from);
    return findInLeaf6(
      words,
      leaf,
      p,
      asked[at + 1] as number,
      asked[at + 2] as number,
      asked[at + 3] as number,
      search.items,
      from,
    );
  };

  /** Reads a word of each line over which the leaves lie: they come from memory side by side. */
  const touchLeaves = (): void => {
    const size = families[0] === 4 ? leafWords4 : leafWords6;
    let sum = 0;
    for (let i = 0; i < leavesEnd; i++) {
      const leaf = leaves[i] as number;
      for (let at = leaf; at < leaf + size; at += lineWords) sum |= words[at] as number;
    }
    reads.sum = sum;
  };

  const search = {
    items: new Int32Array(firstLength),
    ends,
    begin() {
      count = 0;
      leavesEnd = 0;
    },
    add(snapshot: number, family: Family, p: Int32Array) {
      const root = rootOf(words, snapshot, family);
      if (root !== 0) {
        let end = list(root, family, p);
        if (end > leaves.length) {
          const before = leaves;
          leaves = new Int32Array(2 * end);
          leaves.set(before.subarray(0, leavesEnd));
          end = list(root, family, p);
        }
        leavesEnd = end;
      }
      for (let w = 0; w < 4; w++) asked[4 * count + w] = p[w] as number;
      families[count] = family;
      leafEnds[count++] = leavesEnd;
    },
    findAll() {
      if (leavesEnd > 0) touchLeaves();
      let end = 0;
      let next = 0;
      for (let i = 0; i < count; i++) {
        for (; next < (leafEnds[i] as number); next++) {
          const leaf = leaves[next] as number;
          let to = findIn(leaf, i, end);
          if (to > search.items.length) {
            const before = search.items;
            search.items = new Int32Array(2 * to);
            search.items.set(before.subarray(0, end));
            to = findIn(leaf, i, end);
          }
          end = to;
        }
        ends[i] = end;
      }
      return end;
    },
    find(snapshot: number, family: Family, address: Int32Array) {
      search.begin();
      search.add(snapshot, family, address);
      return search.findAll();
    },
  };
  return search;
}
