import { compareKeys, type Family, type Key } from "../ip/index.ts";
import type { UdmEntry } from "./udm-entry.ts";
import type { UdmEdit, UdmIndex } from "./udm-index.ts";
import {
  allEntries,
  buildTree,
  coveringEntries,
  deleteEntry,
  entriesWithin,
  getEntry,
  putEntry,
  type UdmTree,
} from "./udm-tree.ts";

type Trees = Readonly<Record<Family, UdmTree>>;

/** The index of no entries, version 0. */
export function emptyIndex(): UdmIndex {
  return createIndex({ 4: undefined, 6: undefined }, 0, 0);
}

/**
 * An index of many entries at once, in any order; entries that come in list order cost no sorting.
 *
 * @throws Error when two entries have one key.
 */
export function buildIndex(entries: Iterable<UdmEntry>, version = 1): UdmIndex {
  const sorted = inListOrder([...entries]);
  const split = sorted.findIndex(({ key }) => key.family === 6);
  const ipv4Count = split < 0 ? sorted.length : split;
  const trees: Trees = { 4: buildTree(sorted.slice(0, ipv4Count)), 6: buildTree(sorted.slice(ipv4Count)) };
  return createIndex(trees, sorted.length, version);
}

function createIndex(trees: Trees, size: number, version: number): UdmIndex {
  return {
    version,
    size,
    get: (key) => getEntry(trees[key.family], key),
    covering: ({ family, value }) => coveringEntries(trees[family], value),
    within: ({ family, first, last }) => iterable(() => entriesWithin(trees[family], first, last)),
    entries: () => iterable(() => entriesOf(trees)),
    edit: () => createEdit(trees, size, version),
  };
}

function createEdit(before: Trees, sizeBefore: number, version: number): UdmEdit {
  const trees = { ...before };
  let size = sizeBefore;
  let isDone = false;
  const change = (key: Key, made: UdmTree, growth: number): void => {
    if (isDone) throw new Error("this edit is done");
    trees[key.family] = made;
    size += growth;
  };
  return {
    get: (key) => getEntry(trees[key.family], key),
    put(entry) {
      const tree = trees[entry.key.family];
      const growth = getEntry(tree, entry.key) === undefined ? 1 : 0;
      change(entry.key, putEntry(tree, entry), growth);
    },
    delete(key) {
      const tree = trees[key.family];
      const rest = deleteEntry(tree, key);
      if (rest === tree) return false;
      change(key, rest, -1);
      return true;
    },
    done() {
      isDone = true;
      return createIndex({ ...trees }, size, version + 1);
    },
  };
}

function* entriesOf(trees: Trees): Generator<UdmEntry, void> {
  yield* allEntries(trees[4]);
  yield* allEntries(trees[6]);
}

/** Unlike a generator it may be iterated more than once. */
function iterable(start: () => Iterator<UdmEntry>): Iterable<UdmEntry> {
  return { [Symbol.iterator]: start };
}

function inListOrder(entries: UdmEntry[]): UdmEntry[] {
  let isSorted = true;
  for (let i = 1; i < entries.length && isSorted; i++) {
    isSorted = compareKeys((entries[i - 1] as UdmEntry).key, (entries[i] as UdmEntry).key) < 0;
  }
  if (isSorted) return entries;
  const sorted = entries.toSorted((a, b) => compareKeys(a.key, b.key));
  for (let i = 1; i < sorted.length; i++) {
    const { key } = sorted[i] as UdmEntry;
    if (compareKeys((sorted[i - 1] as UdmEntry).key, key) === 0)
      throw new Error(`two entries have the key ${key.text}`);
  }
  return sorted;
}
