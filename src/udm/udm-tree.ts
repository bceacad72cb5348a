import { compareKeys, type Key } from "../ip/index.ts";
import type { UdmEntry } from "./udm-entry.ts";

/**
 * Entries of one family in list order, as a B+tree that never changes: a change copies the nodes from the root to the
 * leaf and shares the rest. Undefined is the empty tree.
 *
 * Keys are intervals. They are ordered by their first address, and each node knows the least and the greatest last
 * address below it, so that a search passes by every node that holds no answer:
 *
 *     node   [10.0.0.0/8 … 10.9.0.0/16]     [10.9.1.0/24 … 10.40.0.7]     [172.16.0.0/12 … 192.0.2.9]
 *     last    10.9.255.255 – 10.255.255.255  10.9.1.255 – 10.47.255.255    172.31.255.255 – 192.0.2.255
 *
 *     what covers 10.200.0.1?  into the first node (greatest last ≥ 10.200.0.1), past the second (greatest last is
 *     less), and no further than the third, which starts after it
 */
export type UdmTree = UdmNode | undefined;

export type UdmNode = Leaf | Branch;

interface Node<Item> {
  /** Least key below, in list order. */
  readonly lowest: Key;
  /** Least and greatest of the last addresses below. */
  readonly minLast: bigint;
  readonly maxLast: bigint;
  /** In list order; never empty. */
  readonly items: readonly Item[];
}

interface Leaf extends Node<UdmEntry> {
  readonly isLeaf: true;
}

interface Branch extends Node<UdmNode> {
  readonly isLeaf: false;
}

/** Most items of a node; every node but the root has at least a quarter of it. */
const maxItems = 32;
const minItems = maxItems / 4;

/** Builds a tree of entries that are in list order and have distinct keys. */
export function buildTree(entries: readonly UdmEntry[]): UdmTree {
  if (entries.length === 0) return undefined;
  let level: UdmNode[] = pack(entries, leaf);
  while (level.length > 1) level = pack(level, branch);
  return level[0];
}

export function getEntry(tree: UdmTree, key: Key): UdmEntry | undefined {
  let node = tree;
  while (node !== undefined && !node.isLeaf) node = node.items[childFor(node, key)];
  if (node === undefined) return undefined;
  const entry = node.items[position(node, key)];
  return entry !== undefined && compareKeys(entry.key, key) === 0 ? entry : undefined;
}

/** The tree with the entry added, or put in the place of the one with its key. */
export function putEntry(tree: UdmTree, entry: UdmEntry): UdmNode {
  if (tree === undefined) return leaf([entry]);
  const nodes = put(tree, entry);
  return nodes.length === 1 ? (nodes[0] as UdmNode) : branch(nodes);
}

/** The tree without the entry of this key; the same tree when there is none. */
export function deleteEntry(tree: UdmTree, key: Key): UdmTree {
  if (tree === undefined || getEntry(tree, key) === undefined) return tree;
  if (tree.isLeaf && tree.items.length === 1) return undefined;
  let root = remove(tree, key);
  while (!root.isLeaf && root.items.length === 1) root = root.items[0] as UdmNode;
  return root;
}

/** Every entry whose interval holds the address, in list order. */
export function coveringEntries(tree: UdmTree, address: bigint): UdmEntry[] {
  const found: UdmEntry[] = [];
  if (tree !== undefined) collectCovering(tree, address, found);
  return found;
}

/** Every entry whose interval lies within `first` to `last`, in list order. */
export function* entriesWithin(tree: UdmTree, first: bigint, last: bigint): Generator<UdmEntry, void> {
  if (tree === undefined) return;
  for (const { items } of leavesWithin(tree, first, last)) {
    for (const entry of items) {
      if (entry.key.first >= first && entry.key.last <= last) yield entry;
    }
  }
}

export function* allEntries(tree: UdmTree): Generator<UdmEntry, void> {
  if (tree === undefined) return;
  if (tree.isLeaf) yield* tree.items;
  else for (const child of tree.items) yield* allEntries(child);
}

function collectCovering(node: UdmNode, address: bigint, found: UdmEntry[]): void {
  if (node.isLeaf) {
    for (const entry of node.items) {
      if (entry.key.first > address) return;
      if (entry.key.last >= address) found.push(entry);
    }
    return;
  }
  for (const child of node.items) {
    if (child.lowest.first > address) return;
    if (child.maxLast >= address) collectCovering(child, address, found);
  }
}

function* leavesWithin(node: UdmNode, first: bigint, last: bigint): Generator<Leaf, void> {
  if (node.isLeaf) {
    yield node;
    return;
  }
  for (const [i, child] of node.items.entries()) {
    if (child.lowest.first > last) return;
    // All of a child starts before `first` when the next one does.
    const next = node.items[i + 1];
    if (next !== undefined && next.lowest.first < first) continue;
    if (child.minLast <= last) yield* leavesWithin(child, first, last);
  }
}

/** One node, or the two into which it had to be split. */
function put(node: UdmNode, entry: UdmEntry): UdmNode[] {
  if (!node.isLeaf) {
    const i = childFor(node, entry.key);
    return pack(node.items.toSpliced(i, 1, ...put(node.items[i] as UdmNode, entry)), branch);
  }
  const i = position(node, entry.key);
  const current = node.items[i];
  const replaced = current !== undefined && compareKeys(current.key, entry.key) === 0 ? 1 : 0;
  return pack(node.items.toSpliced(i, replaced, entry), leaf);
}

/** The node without the key, which is known to be there beside others. */
function remove(node: UdmNode, key: Key): UdmNode {
  if (node.isLeaf) return leaf(node.items.toSpliced(position(node, key), 1));
  const i = childFor(node, key);
  const child = remove(node.items[i] as UdmNode, key);
  if (child.items.length >= minItems) return branch(node.items.with(i, child));
  // A child that has become small shares its items with the one beside it; a branch has at least two.
  const left = Math.max(i - 1, 0);
  const pair = left < i ? join(node.items[left] as UdmNode, child) : join(child, node.items[i + 1] as UdmNode);
  return branch(node.items.toSpliced(left, 2, ...pair));
}

/** One or two nodes of the items of two neighbours, which are of one level. */
function join(left: UdmNode, right: UdmNode): UdmNode[] {
  if (left.isLeaf && right.isLeaf) return pack([...left.items, ...right.items], leaf);
  return pack([...(left as Branch).items, ...(right as Branch).items], branch);
}

/** As few nodes as hold the items, of about equal size. */
function pack<Item, Made>(items: readonly Item[], make: (items: readonly Item[]) => Made): Made[] {
  const count = Math.ceil(items.length / maxItems);
  if (count === 1) return [make(items)];
  return Array.from({ length: count }, (_, i) => {
    const from = Math.floor((i * items.length) / count);
    const to = Math.floor(((i + 1) * items.length) / count);
    return make(items.slice(from, to));
  });
}

function leaf(items: readonly UdmEntry[]): Leaf {
  const { key } = items[0] as UdmEntry;
  let minLast = key.last;
  let maxLast = key.last;
  for (const {
    key: { last },
  } of items) {
    if (last < minLast) minLast = last;
    if (last > maxLast) maxLast = last;
  }
  return { isLeaf: true, lowest: key, minLast, maxLast, items };
}

function branch(items: readonly UdmNode[]): Branch {
  let { lowest, minLast, maxLast } = items[0] as UdmNode;
  for (const child of items) {
    if (child.minLast < minLast) minLast = child.minLast;
    if (child.maxLast > maxLast) maxLast = child.maxLast;
  }
  return { isLeaf: false, lowest, minLast, maxLast, items };
}

/** The last child that starts at or before the key, else the first. */
function childFor(node: Branch, key: Key): number {
  let low = 0;
  let high = node.items.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (compareKeys((node.items[middle] as UdmNode).lowest, key) <= 0) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Where the key is, or would be put. */
function position(node: Leaf, key: Key): number {
  let low = 0;
  let high = node.items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareKeys((node.items[middle] as UdmEntry).key, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
