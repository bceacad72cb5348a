import { UdmError } from "../model/udm-store.ts";

const slabWords = 16_384;
const slabShift = 14;
export const slabBytes = slabWords * 4;

/** Bigger blocks get slabs of their own. */
const maxSmallWords = slabWords / 4;
/** Sizes of blocks in words: steps of 4 up to 64, then 16 steps for each doubling, so that little is lost by rounding. */
const classWords: readonly number[] = makeClasses();
/** The size class of a block that has slabs of its own. */
const bigClass = 255;
/** By the number of 4-word units: the smallest class that holds them. */
const classOfUnits = makeClassTable();

function makeClasses(): number[] {
  const sizes: number[] = [];
  for (let words = 4; words <= 64; words += 4) sizes.push(words);
  for (let base = 64; base < maxSmallWords; base *= 2) {
    for (let step = 1; step <= 16; step++) sizes.push(base + (base / 16) * step);
  }
  return sizes;
}

function makeClassTable(): Uint8Array {
  const table = new Uint8Array(maxSmallWords / 4 + 1);
  let sizeClass = 0;
  for (let units = 0; units < table.length; units++) {
    while ((classWords[sizeClass] as number) < units * 4) sizeClass++;
    table[units] = sizeClass;
  }
  return table;
}

/** Generous for an entry of address plans, and for two states that differ in all of them. */
const bytesAnEntry = 1024;
const leastBytes = 16 * 1024 * 1024;
/** What one view of a buffer may cover in every supported version of Node, less a slab. */
const mostBytes = 2 ** 32 - slabBytes;

/**
 * Address space for this many entries. Where the system refuses it, half of that, and so on.
 *
 * @param onSmaller is called when it became less.
 * @throws Error when there is not even a little.
 */
export function reserveHeap(
  maxEntries: number,
  onSmaller: (bytes: number, askedFor: number) => void = () => {},
): SharedArrayBuffer {
  const wanted = Math.min(Math.max(maxEntries * bytesAnEntry, leastBytes), mostBytes);
  const askedFor = Math.ceil(wanted / slabBytes) * slabBytes;
  for (let bytes = askedFor; bytes >= leastBytes; bytes = Math.ceil(bytes / 2 / slabBytes) * slabBytes) {
    try {
      const buffer = new SharedArrayBuffer(bytes);
      if (bytes < askedFor) onSmaller(bytes, askedFor);
      return buffer;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  throw new Error(`the system gives no memory for metadata, not even ${leastBytes / 1024 / 1024} MB`);
}

/** What is said when there is no room for an entry. */
export interface IndexLimits {
  readonly maxEntries: number;
  /** What a message says of how to raise it. */
  readonly limitName: string;
}

export function fullError({ buffer }: Heap, { limitName }: IndexLimits): UdmError {
  return new UdmError(
    "resource_exhausted",
    `the memory for metadata is full (${Math.round(buffer.byteLength / 1e6)} MB): raise ${limitName}`,
  );
}

export function tooManyError({ maxEntries, limitName }: IndexLimits): UdmError {
  return new UdmError("resource_exhausted", `there may be ${maxEntries} metadata entries at most: raise ${limitName}`);
}

/**
 * Memory of blocks in one shared buffer. All threads may read it; one thread allocates and frees. What is free and what
 * is not is known to that thread alone, in plain arrays.
 *
 *     buffer  │ 0 │ slab: blocks of 64 bytes │ slab: blocks of 288 bytes │ a big block of 3 slabs │ untouched …
 *
 * A slab holds blocks of one size and goes back to the others when its last block is freed, so that memory does not stay
 * tied to sizes that were common once. The buffer is reserved whole: what was never used costs address space only.
 *
 * A block begins with two words of its own: in the first its size class (bits 0 to 7) and its part (bit 8), next to
 * whatever its user puts into the other bits; the second is the user's.
 */
export interface Heap {
  readonly buffer: SharedArrayBuffer;
  /** The whole buffer. A block is named by the index of its first word, a multiple of 4 other than 0. */
  readonly words: Int32Array;
  /** @returns a block whose first word has no other bits set; the other words are as they were left. @throws HeapFullError */
  allocate(words: number, part: HeapPart): number;
  free(block: number): void;
  /** Whether this many further allocations of blocks up to {@link maxSmallWords} will succeed. */
  hasRoom(allocations: number): boolean;
  /** Bytes of blocks in use, rounding included. */
  usedBytes(part: HeapPart): number;
  /** Bytes of slabs that belong to blocks of some size; what is not in use of them is free for that size. */
  heldBytes(): number;
  /** Lends all slabs that are unused: until they are taken back there is little room here, but blocks may be freed. */
  lend(): HeapLoan;
  /** @param used what happened to the slabs; undefined when all of them are unused again. Nobody may write to others. */
  takeBack(loan: HeapLoan, used?: HeapReturn): void;
}

/** Slabs in which another thread may allocate meanwhile; goes through `postMessage`. */
export interface HeapLoan {
  readonly buffer: SharedArrayBuffer;
  /** Of each slab: 1 when it is lent. */
  readonly lent: Uint8Array;
  /** The first slab that was never used. */
  readonly top: number;
}

/** What a thread made of the slabs that it was lent. */
export interface HeapReturn {
  readonly slabClass: Int16Array;
  readonly slabUsed: Int32Array;
  readonly slabFree: Int32Array;
  readonly slabBump: Int32Array;
  readonly top: number;
  /** Words in use of each part. */
  readonly used: readonly [number, number];
}

/** A heap on slabs that were lent. */
interface LentHeap extends Heap {
  giveBack(): HeapReturn;
}

type HeapPart = 0 | 1;
export const treePart = 0;
export const entryPart = 1;

/** Thrown when no memory is left. Nothing has changed. */
export class HeapFullError extends Error {
  constructor() {
    super("the reserved memory is full");
    this.name = "HeapFullError";
  }
}

const inUseByOthers = -2;
const unused = -1;

/** @param buffer whole slabs. */
export function createHeap(buffer: SharedArrayBuffer): Heap {
  return makeHeap(buffer, undefined);
}

/** A heap for the thread that the loan was made to, which must not use it once it has given it back. */
export function createLentHeap(loan: HeapLoan): LentHeap {
  return makeHeap(loan.buffer, loan);
}

function makeHeap(buffer: SharedArrayBuffer, loan: HeapLoan | undefined): LentHeap {
  const words = new Int32Array(buffer);
  const slabs = words.length >>> slabShift;
  /** Of each slab: its size class, or that it is unused, or that it is a later one of a big block or another thread's. */
  const slabClass = new Int16Array(slabs).fill(unused);
  const slabUsed = new Int32Array(slabs);
  const slabFree = new Int32Array(slabs);
  const slabBump = new Int32Array(slabs);
  const next = new Int32Array(slabs);
  const previous = new Int32Array(slabs);
  /** First slab of each class that has a free block; 0 for none. The last list is that of unused slabs below `top`. */
  const heads = new Int32Array(classWords.length + 1);
  const unusedList = classWords.length;
  // The first slab stays unused, so that 0 is no block.
  let top = 1;
  let unusedSlabs = 0;
  let heldSlabs = 0;
  const used: [number, number] = [0, 0];

  const link = (list: number, slab: number): void => {
    const head = heads[list] as number;
    next[slab] = head;
    previous[slab] = 0;
    if (head !== 0) previous[head] = slab;
    heads[list] = slab;
  };

  const unlink = (list: number, slab: number): void => {
    const before = previous[slab] as number;
    const after = next[slab] as number;
    if (before === 0) heads[list] = after;
    else next[before] = after;
    if (after !== 0) previous[after] = before;
  };

  const takeUnused = (slab: number): void => {
    unlink(unusedList, slab);
    unusedSlabs--;
  };

  const giveBack = (slab: number): void => {
    keepUnused(slab);
    heldSlabs--;
  };

  const keepUnused = (slab: number): void => {
    slabClass[slab] = unused;
    link(unusedList, slab);
    unusedSlabs++;
  };

  const openSlab = (sizeClass: number): number => {
    let slab = heads[unusedList] as number;
    if (slab !== 0) takeUnused(slab);
    else if (top < slabs) slab = top++;
    else throw new HeapFullError();
    slabClass[slab] = sizeClass;
    slabUsed[slab] = 0;
    slabFree[slab] = 0;
    slabBump[slab] = 0;
    heldSlabs++;
    link(sizeClass, slab);
    return slab;
  };

  /** The first of `count` slabs in a row. */
  const openRun = (count: number): number => {
    let run = 0;
    for (let slab = 1; slab < top; slab++) {
      run = slabClass[slab] === unused ? run + 1 : 0;
      if (run === count) return slab - count + 1;
    }
    // What is unused just below the top counts too.
    if (top - run + count > slabs) throw new HeapFullError();
    const first = top - run;
    while (top < first + count) {
      link(unusedList, top++);
      unusedSlabs++;
    }
    return first;
  };

  const allocateBig = (size: number, part: HeapPart): number => {
    const count = Math.ceil(size / slabWords);
    const first = openRun(count);
    for (let slab = first; slab < first + count; slab++) {
      takeUnused(slab);
      slabClass[slab] = inUseByOthers;
    }
    slabUsed[first] = count;
    heldSlabs += count;
    used[part] += count * slabWords;
    const block = first << slabShift;
    words[block] = bigClass | (part << 8);
    return block;
  };

  const adopt = (slab: number, from: HeapReturn): void => {
    const sizeClass = from.slabClass[slab] as number;
    if (sizeClass === unused) {
      keepUnused(slab);
      return;
    }
    slabClass[slab] = sizeClass;
    slabUsed[slab] = from.slabUsed[slab] as number;
    slabFree[slab] = from.slabFree[slab] as number;
    slabBump[slab] = from.slabBump[slab] as number;
    heldSlabs++;
    const blockWords = classWords[sizeClass];
    if (blockWords !== undefined && hasFreeBlock(slab, blockWords)) link(sizeClass, slab);
  };

  const hasFreeBlock = (slab: number, blockWords: number): boolean =>
    slabFree[slab] !== 0 || (slabBump[slab] as number) + blockWords <= slabWords;

  if (loan !== undefined) {
    top = loan.top;
    for (let slab = 1; slab < top; slab++) {
      if (loan.lent[slab] === 1) keepUnused(slab);
      else slabClass[slab] = inUseByOthers;
    }
  }

  return {
    buffer,
    words,

    allocate(size, part) {
      if (size > maxSmallWords) return allocateBig(size, part);
      const sizeClass = classOfUnits[(size + 3) >>> 2] as number;
      const blockWords = classWords[sizeClass] as number;
      const slab = (heads[sizeClass] as number) || openSlab(sizeClass);
      let block = slabFree[slab] as number;
      if (block !== 0) {
        slabFree[slab] = words[block] as number;
      } else {
        block = (slab << slabShift) + (slabBump[slab] as number);
        (slabBump[slab] as number) += blockWords;
      }
      (slabUsed[slab] as number)++;
      if (!hasFreeBlock(slab, blockWords)) unlink(sizeClass, slab);
      used[part] += blockWords;
      words[block] = sizeClass | (part << 8);
      return block;
    },

    free(block) {
      const head = words[block] as number;
      const sizeClass = head & 255;
      const part = ((head >>> 8) & 1) as HeapPart;
      const slab = block >>> slabShift;
      if (sizeClass === bigClass) {
        const count = slabUsed[slab] as number;
        used[part] -= count * slabWords;
        for (let i = 0; i < count; i++) giveBack(slab + i);
        return;
      }
      const blockWords = classWords[sizeClass] as number;
      const wasFull = !hasFreeBlock(slab, blockWords);
      used[part] -= blockWords;
      words[block] = slabFree[slab] as number;
      slabFree[slab] = block;
      (slabUsed[slab] as number)--;
      if (wasFull) link(sizeClass, slab);
      if (slabUsed[slab] !== 0) return;
      unlink(sizeClass, slab);
      giveBack(slab);
    },

    hasRoom: (allocations) => unusedSlabs + slabs - top >= allocations,
    usedBytes: (part) => used[part] * 4,
    heldBytes: () => heldSlabs * slabBytes,

    lend() {
      const lent = new Uint8Array(slabs);
      const lentTop = top;
      for (let slab = 1; slab < slabs; slab++) {
        if (slabClass[slab] !== unused) continue;
        if (slab < top) takeUnused(slab);
        slabClass[slab] = inUseByOthers;
        lent[slab] = 1;
      }
      top = slabs;
      return { buffer, lent, top: lentTop };
    },

    takeBack({ lent, top: lentTop }, from) {
      top = from?.top ?? lentTop;
      for (let slab = 1; slab < slabs; slab++) {
        if (lent[slab] !== 1) continue;
        if (slab >= top) slabClass[slab] = unused;
        else if (from === undefined) keepUnused(slab);
        else adopt(slab, from);
      }
      if (from === undefined) return;
      used[treePart] += from.used[treePart];
      used[entryPart] += from.used[entryPart];
    },

    giveBack: () => ({ slabClass, slabUsed, slabFree, slabBump, top, used: [used[0], used[1]] }),
  };
}
