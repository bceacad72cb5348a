import {
  boundsWords,
  branchRow,
  commonWords,
  headWords,
  infoWords,
  lastsBit,
  layouts,
  leafBit,
  leafRowHead,
  rowWords,
} from "./tree-nodes.ts";
import type { Family } from "../../base/ip/index.ts";
import { rootOf } from "./snapshots.ts";

// These functions run for every uncached address of a flow. So each family has its own code, without objects or loops over the words
// of an address. A processor predicts badly where an address lies among others, so positions are counted with few branches.
// Before a position, only items that may reach it are checked.

const highest = 0x7fff_ffff;

/**
 * Writes the leaves that may have entries covering an IPv4 address into `out`, from position `found` on, in list order. Branches stay in
 * the processor's caches, but leaves do not. A list of leaves lets the caller wait for all of them together.
 *
 * @param root not 0.
 * @returns the position after the last. More than `out` holds means that the rest is missing.
 */
function listLeaves4(words: Int32Array, root: number, p: number, out: Int32Array, found: number): number {
  let node = root;
  let n = found;
  for (;;) {
    const head = words[node] as number;
    if ((head & leafBit) !== 0) {
      out[n++] = node;
      return n;
    }
    const count = head >>> 16;
    const firsts = node + headWords;
    const starts = countUpTo(words, firsts, count, p);
    if (starts === 0) return n;
    const rows = firsts + count;
    const row = rows + branchRow * (starts - 1);
    let at = row;
    while (at > rows && (words[at + 2] as number) >= p) at -= branchRow;
    for (; at < row; at += branchRow) {
      if ((words[at + 1] as number) >= p) n = listLeaves4(words, words[at] as number, p, out, n);
    }
    if ((words[row + 1] as number) < p) return n;
    node = words[row] as number;
  }
}

/**
 * Writes the items of all entries of a leaf that cover an IPv4 address into `out`, from position `found` on, in list order.
 *
 * @returns as {@link listLeaves4}.
 */
function findInLeaf4(words: Int32Array, node: number, p: number, out: Int32Array, found: number): number {
  const head = words[node] as number;
  const count = head >>> 16;
  const firsts = node + headWords;
  const infos = firsts + count;
  const rows = infos + infoWords(count);
  const hasLasts = (head & lastsBit) !== 0;
  const starts = countUpTo(words, firsts, count, p);
  let n = found;
  for (let next = starts; next > 0;) {
    const i = next - 1;
    const info = (words[infos + (i >>> 1)] as number) >>> ((i & 1) << 4);
    next = (info >>> 8) & 255;
    if (Math.clz32((words[firsts + i] as number) ^ p) < (info & 255)) continue;
    // A range is smaller than the prefix that its ends have in common.
    if (hasLasts && (words[rows + count + i] as number) < p) continue;
    out[n++] = words[rows + i] as number;
  }
  return n - found < 2 ? n : reverse(out, found, n);
}

/** {@link listLeaves4} for an IPv6 address of four words. */
function listLeaves6(
  words: Int32Array,
  root: number,
  p0: number,
  p1: number,
  p2: number,
  p3: number,
  out: Int32Array,
  found: number,
): number {
  let node = root;
  let n = found;
  for (;;) {
    const head = words[node] as number;
    if ((head & leafBit) !== 0) {
      out[n++] = node;
      return n;
    }
    const count = head >>> 16;
    const common = commonWords(head);
    const order = common === 0 ? 0 : compareSome(words, node + headWords, common, p0, p1, p2);
    const firsts = node + headWords + common;
    const rows = firsts + count;
    const further = rows + branchRow * count;
    const stride = boundsWords(layouts[6], head);
    const starts = countStarts6(words, order, firsts, count, common, further, stride, p0, p1, p2, p3);
    if (starts === 0) return n;
    // All items start before the address, so only those that reach beyond the common words count.
    const p = order < 0 ? highest : common === 0 ? p0 : common === 1 ? p1 : common === 2 ? p2 : p3;
    const greatest = further + 3 - common;
    const row = rows + branchRow * (starts - 1);
    let i = starts - 1;
    while (i > 0 && (words[rows + branchRow * i + 2] as number) >= p) i--;
    for (; i < starts - 1; i++) {
      const reach = words[rows + branchRow * i + 1] as number;
      if (reach < p) continue;
      if (reach === p && compareAll(words, greatest + i * stride, p0, p1, p2, p3) < 0) continue;
      n = listLeaves6(words, words[rows + branchRow * i] as number, p0, p1, p2, p3, out, n);
    }
    const reach = words[row + 1] as number;
    if (reach < p) return n;
    if (reach === p && compareAll(words, greatest + (starts - 1) * stride, p0, p1, p2, p3) < 0) return n;
    node = words[row] as number;
  }
}

/**
 * Counts the items of a node that start at or before an address.
 *
 * @param order how the common words compare with those of the address.
 * @param further the position of the first item's further words, and the distance to those of the next item.
 */
function countStarts6(
  words: Int32Array,
  order: number,
  firsts: number,
  count: number,
  common: number,
  further: number,
  stride: number,
  p0: number,
  p1: number,
  p2: number,
  p3: number,
): number {
  if (order !== 0) return order > 0 ? 0 : count;
  const p = common === 0 ? p0 : common === 1 ? p1 : common === 2 ? p2 : p3;
  let starts = countUpTo(words, firsts, count, p);
  while (starts > 0 && (words[firsts + starts - 1] as number) === p) {
    if (compareFurther(words, further + (starts - 1) * stride, common, p1, p2, p3) <= 0) break;
    starts--;
  }
  return starts;
}

/** {@link findInLeaf4} for an IPv6 address of four words. */
function findInLeaf6(
  words: Int32Array,
  node: number,
  p0: number,
  p1: number,
  p2: number,
  p3: number,
  out: Int32Array,
  found: number,
): number {
  const head = words[node] as number;
  const count = head >>> 16;
  const common = commonWords(head);
  const firsts = node + headWords + common;
  const infos = firsts + count;
  const rows = infos + infoWords(count);
  const rowSize = rowWords(layouts[6], head);
  const hasLasts = (head & lastsBit) !== 0;
  const p = common === 0 ? p0 : common === 1 ? p1 : common === 2 ? p2 : p3;
  const order = common === 0 ? 0 : compareSome(words, node + headWords, common, p0, p1, p2);
  const isOther = order !== 0;
  const starts = countStarts6(words, order, firsts, count, common, rows + leafRowHead, rowSize, p0, p1, p2, p3);
  // The number of bits in which the common words and the address are the same.
  const same = isOther ? sameBits(words, node + headWords, p0, p1, p2) : 32 * common;
  let n = found;
  for (let next = starts; next > 0;) {
    const i = next - 1;
    const row = rows + i * rowSize;
    const info = (words[infos + (i >>> 1)] as number) >>> ((i & 1) << 4);
    const length = info & 255;
    next = (info >>> 8) & 255;
    if (same < length) {
      if (isOther) continue;
      const difference = (words[firsts + i] as number) ^ p;
      if (difference !== 0) {
        if (same + Math.clz32(difference) < length) continue;
      } else if (!isSameFurther(words, row + leafRowHead, common, length, p1, p2, p3)) continue;
    }
    // A range is smaller than the prefix that its ends have in common.
    if (hasLasts && compareAll(words, rows + count * rowSize + 4 * i, p0, p1, p2, p3) < 0) continue;
    out[n++] = words[row] as number;
  }
  return n - found < 2 ? n : reverse(out, found, n);
}

/** Counts the words of an ascending column that are not greater than another. */
function countUpTo(words: Int32Array, column: number, count: number, p: number): number {
  if (count < 8) {
    let some = 0;
    while (some < count && (words[column + some] as number) <= p) some++;
    return some;
  }
  // Find the first group of eight words whose last one may be greater, then search in it.
  let from = 0;
  for (let i = 7; i < count; i += 8) from += Number((words[column + i] as number) <= p) << 3;
  if (from > count - 8) from = count - 8;
  let at = column + from;
  at += Number((words[at + 3] as number) <= p) << 2;
  at += Number((words[at + 1] as number) <= p) << 1;
  at += Number((words[at] as number) <= p);
  return at - column + Number((words[at] as number) <= p);
}

/** Reverses the items of a leaf, which is searched from the end. @returns the end. */
function reverse(items: Int32Array, from: number, to: number): number {
  for (let i = from, j = to - 1; i < j; i++, j--) {
    const item = items[i] as number;
    items[i] = items[j] as number;
    items[j] = item;
  }
  return to;
}

/** Compares one to three words with the first ones of an address. */
function compareSome(words: Int32Array, at: number, count: number, p0: number, p1: number, p2: number): number {
  const word0 = words[at] as number;
  if (word0 !== p0 || count === 1) return word0 < p0 ? -1 : Number(word0 > p0);
  const word1 = words[at + 1] as number;
  if (word1 !== p1 || count === 2) return word1 < p1 ? -1 : Number(word1 > p1);
  const word2 = words[at + 2] as number;
  return word2 < p2 ? -1 : Number(word2 > p2);
}

/** Compares the words of an address that come after the common ones and the one in the column. */
function compareFurther(words: Int32Array, at: number, common: number, p1: number, p2: number, p3: number): number {
  let next = at;
  if (common === 0) {
    const word1 = words[next++] as number;
    if (word1 !== p1) return word1 < p1 ? -1 : 1;
  }
  if (common <= 1) {
    const word2 = words[next++] as number;
    if (word2 !== p2) return word2 < p2 ? -1 : 1;
  }
  if (common === 3) return 0;
  const word3 = words[next] as number;
  return word3 < p3 ? -1 : Number(word3 > p3);
}

function compareAll(words: Int32Array, at: number, p0: number, p1: number, p2: number, p3: number): number {
  const order = compareSome(words, at, 3, p0, p1, p2);
  if (order !== 0) return order;
  const word3 = words[at + 3] as number;
  return word3 < p3 ? -1 : Number(word3 > p3);
}

/** Returns the number of leading bits that words and an address have in common. At least one word must differ. */
function sameBits(words: Int32Array, at: number, p0: number, p1: number, p2: number): number {
  const difference0 = (words[at] as number) ^ p0;
  if (difference0 !== 0) return Math.clz32(difference0);
  const difference1 = (words[at + 1] as number) ^ p1;
  if (difference1 !== 0) return 32 + Math.clz32(difference1);
  return 64 + Math.clz32((words[at + 2] as number) ^ p2);
}

/** Reports whether {@link compareFurther}'s words and those of the address are the same up to `length` bits of the whole address. */
function isSameFurther(
  words: Int32Array,
  at: number,
  common: number,
  length: number,
  p1: number,
  p2: number,
  p3: number,
): boolean {
  if (length <= 32 * (common + 1)) return true;
  let next = at;
  if (common === 0) {
    const difference = (words[next++] as number) ^ p1;
    if (difference !== 0) return 32 + Math.clz32(difference) >= length;
    if (length <= 64) return true;
  }
  if (common <= 1) {
    const difference = (words[next++] as number) ^ p2;
    if (difference !== 0) return 64 + Math.clz32(difference) >= length;
    if (length <= 96) return true;
  }
  return 96 + Math.clz32((words[next] as number) ^ p3) >= length;
}

const firstLength = 64;
/** The words of a processor cache line, and of the largest leaves of both families. */
const lineWords = 16;
const leafWords4 = 64;
const leafWords6 = 128;

/**
 * Finds the items that cover addresses, given as words ({@link KeyWords}), in states that are held or pinned. In a batch of searches, all
 * leaves are read from memory in parallel.
 */
export class CoveringSearch {
  readonly #words: Int32Array;
  /** The items found last, in list order. Items beyond the end are left over from earlier searches. */
  items = new Int32Array(firstLength);
  /** The end of the items of each search of the batch. */
  readonly ends: number[] = [];
  #leaves = new Int32Array(firstLength);
  #count = 0;
  #leavesEnd = 0;
  /** The end of the leaves of each search, its family, and four words of its address. */
  readonly #leafEnds: number[] = [];
  readonly #families: Family[] = [];
  readonly #asked: number[] = [];
  /** The sum of words read ahead. Without a use of the words, the compiler would remove the reads. */
  readSum = 0;

  constructor(words: Int32Array) {
    this.#words = words;
  }

  /** Begins a new batch. */
  begin(): void {
    this.#count = 0;
    this.#leavesEnd = 0;
  }

  /** Adds a search to the batch. Searches are numbered from 0. */
  add(snapshot: number, family: Family, p: Int32Array): void {
    const root = rootOf(this.#words, snapshot, family);
    if (root !== 0) {
      let end = this.#list(root, family, p);
      if (end > this.#leaves.length) {
        const before = this.#leaves;
        this.#leaves = new Int32Array(2 * end);
        this.#leaves.set(before.subarray(0, this.#leavesEnd));
        end = this.#list(root, family, p);
      }
      this.#leavesEnd = end;
    }
    const at = 4 * this.#count;
    const asked = this.#asked;
    for (let w = 0; w < 4; w++) asked[at + w] = p[w] as number;
    this.#families[this.#count] = family;
    this.#leafEnds[this.#count++] = this.#leavesEnd;
  }

  /** Runs the searches of the batch. @returns the end of the items of the last one. */
  findAll(): number {
    if (this.#leavesEnd > 0) this.#touchLeaves();
    const [leaves, leafEnds, ends, count] = [this.#leaves, this.#leafEnds, this.ends, this.#count];
    let end = 0;
    let next = 0;
    for (let i = 0; i < count; i++) {
      const leavesEnd = leafEnds[i] as number;
      for (; next < leavesEnd; next++) {
        const leaf = leaves[next] as number;
        let to = this.#findIn(leaf, i, end);
        if (to > this.items.length) {
          const before = this.items;
          this.items = new Int32Array(2 * to);
          this.items.set(before.subarray(0, end));
          to = this.#findIn(leaf, i, end);
        }
        end = to;
      }
      ends[i] = end;
    }
    return end;
  }

  /** Runs a single search. @returns the number of items. */
  find(snapshot: number, family: Family, address: Int32Array): number {
    this.begin();
    this.add(snapshot, family, address);
    return this.findAll();
  }

  #list(root: number, family: Family, p: Int32Array): number {
    const [words, leaves, end] = [this.#words, this.#leaves, this.#leavesEnd];
    return family === 4
      ? listLeaves4(words, root, p[0] as number, leaves, end)
      : listLeaves6(words, root, p[0] as number, p[1] as number, p[2] as number, p[3] as number, leaves, end);
  }

  #findIn(leaf: number, i: number, from: number): number {
    const asked = this.#asked;
    const at = 4 * i;
    const p = asked[at] as number;
    if (this.#families[i] === 4) return findInLeaf4(this.#words, leaf, p, this.items, from);
    const [p1, p2, p3] = [asked[at + 1] as number, asked[at + 2] as number, asked[at + 3] as number];
    return findInLeaf6(this.#words, leaf, p, p1, p2, p3, this.items, from);
  }

  /** Reads a word of each cache line of the leaves, so that memory delivers them in parallel. */
  #touchLeaves(): void {
    const [words, leaves, end] = [this.#words, this.#leaves, this.#leavesEnd];
    const size = this.#families[0] === 4 ? leafWords4 : leafWords6;
    let sum = 0;
    for (let i = 0; i < end; i++) {
      const leaf = leaves[i] as number;
      for (let at = leaf; at < leaf + size; at += lineWords) sum |= words[at] as number;
    }
    this.readSum = sum;
  }
}
