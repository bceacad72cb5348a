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
} from "./node-layout.ts";

// Written out for each family, without objects or loops over the words of an address: these run for every address of a
// flow that no cache knows. A processor guesses badly where an address lies among others; so places are counted with
// few branches, and of what lies before a place only that is looked at which may reach it.

const highest = 0x7fff_ffff;

/**
 * Writes the items of all entries that cover an IPv4 address into `out`, from position `found` on, in list order.
 *
 * @param root not 0.
 * @returns the position after the last. More than `out` holds means that the rest is missing.
 */
export function findCovering4(words: Int32Array, root: number, p: number, out: Int32Array, found: number): number {
  let node = root;
  let n = found;
  for (;;) {
    const head = words[node] as number;
    const count = head >>> 16;
    const firsts = node + headWords;
    const starts = countUpTo(words, firsts, count, p);
    if (starts === 0) return n;
    if ((head & leafBit) !== 0) return findInLeaf4(words, node, starts, p, out, n);
    const rows = firsts + count;
    const row = rows + branchRow * (starts - 1);
    if ((words[row + 2] as number) >= p) {
      for (let at = rows; at < row; at += branchRow) {
        if ((words[at + 1] as number) >= p) n = findCovering4(words, words[at] as number, p, out, n);
      }
    }
    if ((words[row + 1] as number) < p) return n;
    node = words[row] as number;
  }
}

/** @param starts how many start at or before the address; not 0. */
function findInLeaf4(
  words: Int32Array,
  node: number,
  starts: number,
  p: number,
  out: Int32Array,
  found: number,
): number {
  const head = words[node] as number;
  const count = head >>> 16;
  const firsts = node + headWords;
  const infos = firsts + count;
  const rows = infos + infoWords(count);
  const hasLasts = (head & lastsBit) !== 0;
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

/** {@link findCovering4} for an IPv6 address of four words. */
export function findCovering6(
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
    const count = head >>> 16;
    const common = commonWords(head);
    const firsts = node + headWords + common;
    const isLeaf = (head & leafBit) !== 0;
    const rows = isLeaf ? firsts + count + infoWords(count) : firsts + count;
    const further = isLeaf ? rows + leafRowHead : rows + branchRow * count;
    if (isLeaf && readAhead(words, node) === 0 && count === 0) return n;
    const stride = isLeaf ? rowWords(layouts[6], head) : boundsWords(layouts[6], head);
    let p = common === 0 ? p0 : common === 1 ? p1 : common === 2 ? p2 : p3;
    let starts = count;
    const order = common === 0 ? 0 : compareSome(words, node + headWords, common, p0, p1, p2);
    // All start after it.
    if (order > 0) return n;
    if (order === 0) {
      starts = countUpTo(words, firsts, count, p);
      while (starts > 0 && (words[firsts + starts - 1] as number) === p) {
        if (compareFurther(words, further + (starts - 1) * stride, common, p1, p2, p3) <= 0) break;
        starts--;
      }
      if (starts === 0) return n;
    }
    if (isLeaf) return findInLeaf6(words, node, starts, order !== 0, p0, p1, p2, p3, out, n);
    // All start before it: only those count that reach beyond the common words.
    if (order < 0) p = highest;
    const greatest = further + 3 - common;
    const row = rows + branchRow * (starts - 1);
    if ((words[row + 2] as number) >= p) {
      for (let i = 0; i < starts - 1; i++) {
        const reach = words[rows + branchRow * i + 1] as number;
        if (reach < p) continue;
        if (reach === p && compareAll(words, greatest + i * stride, p0, p1, p2, p3) < 0) continue;
        n = findCovering6(words, words[rows + branchRow * i] as number, p0, p1, p2, p3, out, n);
      }
    }
    const reach = words[row + 1] as number;
    if (reach < p) return n;
    if (reach === p && compareAll(words, greatest + (starts - 1) * stride, p0, p1, p2, p3) < 0) return n;
    node = words[row] as number;
  }
}

/** @param isOther whether the address has other words than those that are common. */
function findInLeaf6(
  words: Int32Array,
  node: number,
  starts: number,
  isOther: boolean,
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
  // Of how many bits the common words and the address are the same.
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

/**
 * Reads a word of each line of the processor's cache over which a full leaf of IPv6 lies. They come from memory side by side,
 * whereas the search waits for one before it knows the next: that is a quarter of its time among a million entries.
 *
 * @returns something that depends on all of them, because otherwise nothing would be read.
 */
function readAhead(words: Int32Array, node: number): number {
  return (
    (words[node + 16] as number) |
    (words[node + 32] as number) |
    (words[node + 48] as number) |
    (words[node + 64] as number) |
    (words[node + 80] as number) |
    (words[node + 96] as number) |
    (words[node + 112] as number)
  );
}

/** How many words of an ascending column are not greater than another. */
function countUpTo(words: Int32Array, column: number, count: number, p: number): number {
  if (count < 8) {
    let some = 0;
    while (some < count && (words[column + some] as number) <= p) some++;
    return some;
  }
  // The first of eight words of which the last may be greater, then among these.
  let from = 0;
  for (let i = 7; i < count; i += 8) from += Number((words[column + i] as number) <= p) << 3;
  if (from > count - 8) from = count - 8;
  let at = column + from;
  at += Number((words[at + 3] as number) <= p) << 2;
  at += Number((words[at + 1] as number) <= p) << 1;
  at += Number((words[at] as number) <= p);
  return at - column + Number((words[at] as number) <= p);
}

/** A leaf is searched from the end. @returns the end. */
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

/** With how many bits some words and an address begin alike; not all of the words are those of the address. */
function sameBits(words: Int32Array, at: number, p0: number, p1: number, p2: number): number {
  const difference0 = (words[at] as number) ^ p0;
  if (difference0 !== 0) return Math.clz32(difference0);
  const difference1 = (words[at + 1] as number) ^ p1;
  if (difference1 !== 0) return 32 + Math.clz32(difference1);
  return 64 + Math.clz32((words[at + 2] as number) ^ p2);
}

/** Whether {@link compareFurther}'s words and those of the address are the same up to `length` bits of the whole address. */
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
