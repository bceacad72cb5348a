import { UdmError } from "../model/udm-store.ts";

const slabWords = 16_384;
const slabShift = 14;
export const slabBytes = slabWords * 4;

/** The most words of a block that shares a slab. Bigger blocks get their own slabs. */
const maxSmallWords = slabWords / 4;
/** The sizes of blocks in words: steps of 4 up to 64, then 16 steps for each doubling, so that rounding wastes little. */
const classWords: readonly number[] = makeClasses();
/** The size class of a block with its own slabs. */
const bigClass = 255;
/** The smallest class for each number of 4-word units. */
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

/** The reserved bytes for each entry. They are enough for two states that differ in all entries of an address plan. */
const bytesAnEntry = 1024;
const leastBytes = 16 * 1024 * 1024;
/** The most bytes that one view of a buffer may cover in every supported version of Node, less a slab. */
const mostBytes = 2 ** 32 - slabBytes;

/**
 * Reserves address space for this many entries. Where the system refuses it, tries half of that, and so on.
 *
 * @param onSmaller is called when less was reserved.
 * @throws Error when even the smallest size is refused.
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

/** The limits, for the error when there is no room for an entry. */
export interface IndexLimits {
  readonly maxEntries: number;
  /** The name of the limit, for a message about raising it. */
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

/** The slabs in which another thread may allocate. It can be sent by `postMessage`. */
export interface HeapLease {
  readonly buffer: SharedArrayBuffer;
  /** Holds 1 for each slab that is leased. */
  readonly leased: Uint8Array;
  /** The first slab that has never been used. */
  readonly top: number;
}

/** The result of a thread for its leased slabs. */
export interface HeapReturn {
  readonly slabClass: Int16Array;
  readonly slabUsed: Int32Array;
  readonly slabFree: Int32Array;
  readonly slabBump: Int32Array;
  readonly top: number;
  /** Words in use of each part. */
  readonly used: readonly [number, number];
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

/**
 * The memory of blocks in one shared buffer. All threads may read it; one thread allocates and frees. Only that thread has
 * the lists of free blocks, in plain arrays.
 *
 *     buffer  │ 0 │ slab: blocks of 64 bytes │ slab: blocks of 288 bytes │ a big block of 3 slabs │ untouched …
 *
 * A slab has blocks of one size. When its last block is freed, the slab can be used for any size, so that memory does not stay
 * tied to sizes that are no longer common. The whole buffer is reserved, but unused parts cost only address space.
 *
 * A block begins with two words. The first has its size class (bits 0 to 7) and its part (bit 8); the user may set
 * the other bits. The second word belongs to the user.
 */
export class Heap {
  readonly buffer: SharedArrayBuffer;
  /** The whole buffer. The index of its first word, a multiple of 4 other than 0, identifies a block. */
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly #slabs: number;
  /** The size class of each slab, or a mark: unused, a later slab of a big block, or leased to another thread. */
  readonly #slabClass: Int16Array<ArrayBuffer>;
  readonly #slabUsed: Int32Array<ArrayBuffer>;
  readonly #slabFree: Int32Array<ArrayBuffer>;
  readonly #slabBump: Int32Array<ArrayBuffer>;
  readonly #next: Int32Array<ArrayBuffer>;
  readonly #previous: Int32Array<ArrayBuffer>;
  /** The first slab of each class with a free block; 0 for none. The last list has the unused slabs below `top`. */
  readonly #heads = new Int32Array(classWords.length + 1);
  readonly #unusedList = classWords.length;
  // The first slab stays unused, so that 0 is never a block.
  #top = 1;
  #unusedSlabs = 0;
  #heldSlabs = 0;
  readonly #used: [number, number] = [0, 0];

  /** @param buffer a whole number of slabs. @param lease the leased slabs, for a heap in the thread that leases them. */
  constructor(buffer: SharedArrayBuffer, lease?: HeapLease) {
    this.buffer = buffer;
    this.words = new Int32Array(buffer);
    this.#slabs = this.words.length >>> slabShift;
    this.#slabClass = new Int16Array(this.#slabs).fill(unused);
    this.#slabUsed = new Int32Array(this.#slabs);
    this.#slabFree = new Int32Array(this.#slabs);
    this.#slabBump = new Int32Array(this.#slabs);
    this.#next = new Int32Array(this.#slabs);
    this.#previous = new Int32Array(this.#slabs);
    if (lease !== undefined) {
      this.#top = lease.top;
      for (let slab = 1; slab < this.#top; slab++) {
        if (lease.leased[slab] === 1) this.#keepUnused(slab);
        else this.#slabClass[slab] = inUseByOthers;
      }
    }
  }

  /** Allocates a block. The first word has no other bits set; the other words have old contents. @throws HeapFullError */
  allocate(size: number, part: HeapPart): number {
    if (size > maxSmallWords) return this.#allocateBig(size, part);
    const sizeClass = classOfUnits[(size + 3) >>> 2] as number;
    const blockWords = classWords[sizeClass] as number;
    const slab = (this.#heads[sizeClass] as number) || this.#openSlab(sizeClass);
    let block = this.#slabFree[slab] as number;
    if (block !== 0) {
      this.#slabFree[slab] = this.words[block] as number;
    } else {
      block = (slab << slabShift) + (this.#slabBump[slab] as number);
      (this.#slabBump[slab] as number) += blockWords;
    }
    (this.#slabUsed[slab] as number)++;
    if (!this.#hasFreeBlock(slab, blockWords)) this.#unlink(sizeClass, slab);
    this.#used[part] += blockWords;
    this.words[block] = sizeClass | (part << 8);
    return block;
  }

  free(block: number): void {
    const head = this.words[block] as number;
    const sizeClass = head & 255;
    const part = ((head >>> 8) & 1) as HeapPart;
    const slab = block >>> slabShift;
    if (sizeClass === bigClass) {
      const count = this.#slabUsed[slab] as number;
      this.#used[part] -= count * slabWords;
      for (let i = 0; i < count; i++) this.#giveSlabBack(slab + i);
      return;
    }
    const blockWords = classWords[sizeClass] as number;
    const wasFull = !this.#hasFreeBlock(slab, blockWords);
    this.#used[part] -= blockWords;
    this.words[block] = this.#slabFree[slab] as number;
    this.#slabFree[slab] = block;
    (this.#slabUsed[slab] as number)--;
    if (wasFull) this.#link(sizeClass, slab);
    if (this.#slabUsed[slab] !== 0) return;
    this.#unlink(sizeClass, slab);
    this.#giveSlabBack(slab);
  }

  /** Reports whether this many further allocations of blocks up to {@link maxSmallWords} will succeed. */
  hasRoom(allocations: number): boolean {
    return this.#unusedSlabs + this.#slabs - this.#top >= allocations;
  }

  /** Returns the bytes of blocks in use, including rounding. */
  usedBytes(part: HeapPart): number {
    return this.#used[part] * 4;
  }

  /** Returns the bytes of slabs that are assigned to a block size. Their unused bytes are free for that size. */
  heldBytes(): number {
    return this.#heldSlabs * slabBytes;
  }

  /** Leases all unused slabs. Until they come back there is little room here, but blocks may be freed. */
  lease(): HeapLease {
    const leased = new Uint8Array(this.#slabs);
    const topBefore = this.#top;
    for (let slab = 1; slab < this.#slabs; slab++) {
      if (this.#slabClass[slab] !== unused) continue;
      if (slab < this.#top) this.#takeUnused(slab);
      this.#slabClass[slab] = inUseByOthers;
      leased[slab] = 1;
    }
    this.#top = this.#slabs;
    return { buffer: this.buffer, leased, top: topBefore };
  }

  /** Ends a lease. @param from the result of the thread; undefined where all leased slabs are unused again. */
  endLease({ leased, top: topBefore }: HeapLease, from?: HeapReturn): void {
    this.#top = from?.top ?? topBefore;
    for (let slab = 1; slab < this.#slabs; slab++) {
      if (leased[slab] !== 1) continue;
      if (slab >= this.#top) this.#slabClass[slab] = unused;
      else if (from === undefined) this.#keepUnused(slab);
      else this.#takeOver(slab, from);
    }
    if (from === undefined) return;
    this.#used[treePart] += from.used[treePart];
    this.#used[entryPart] += from.used[entryPart];
  }

  /** Returns the leased slabs. The heap must not be used afterwards. */
  giveBack(): HeapReturn {
    return {
      slabClass: this.#slabClass,
      slabUsed: this.#slabUsed,
      slabFree: this.#slabFree,
      slabBump: this.#slabBump,
      top: this.#top,
      used: [this.#used[0], this.#used[1]],
    };
  }

  #link(list: number, slab: number): void {
    const head = this.#heads[list] as number;
    this.#next[slab] = head;
    this.#previous[slab] = 0;
    if (head !== 0) this.#previous[head] = slab;
    this.#heads[list] = slab;
  }

  #unlink(list: number, slab: number): void {
    const before = this.#previous[slab] as number;
    const after = this.#next[slab] as number;
    if (before === 0) this.#heads[list] = after;
    else this.#next[before] = after;
    if (after !== 0) this.#previous[after] = before;
  }

  #takeUnused(slab: number): void {
    this.#unlink(this.#unusedList, slab);
    this.#unusedSlabs--;
  }

  #giveSlabBack(slab: number): void {
    this.#keepUnused(slab);
    this.#heldSlabs--;
  }

  #keepUnused(slab: number): void {
    this.#slabClass[slab] = unused;
    this.#link(this.#unusedList, slab);
    this.#unusedSlabs++;
  }

  #openSlab(sizeClass: number): number {
    let slab = this.#heads[this.#unusedList] as number;
    if (slab !== 0) this.#takeUnused(slab);
    else if (this.#top < this.#slabs) slab = this.#top++;
    else throw new HeapFullError();
    this.#slabClass[slab] = sizeClass;
    this.#slabUsed[slab] = 0;
    this.#slabFree[slab] = 0;
    this.#slabBump[slab] = 0;
    this.#heldSlabs++;
    this.#link(sizeClass, slab);
    return slab;
  }

  /** Returns the first of `count` adjacent slabs. */
  #openRun(count: number): number {
    let run = 0;
    for (let slab = 1; slab < this.#top; slab++) {
      run = this.#slabClass[slab] === unused ? run + 1 : 0;
      if (run === count) return slab - count + 1;
    }
    // Unused slabs just below the top count, too.
    if (this.#top - run + count > this.#slabs) throw new HeapFullError();
    const first = this.#top - run;
    while (this.#top < first + count) {
      this.#link(this.#unusedList, this.#top++);
      this.#unusedSlabs++;
    }
    return first;
  }

  #allocateBig(size: number, part: HeapPart): number {
    const count = Math.ceil(size / slabWords);
    const first = this.#openRun(count);
    for (let slab = first; slab < first + count; slab++) {
      this.#takeUnused(slab);
      this.#slabClass[slab] = inUseByOthers;
    }
    this.#slabUsed[first] = count;
    this.#heldSlabs += count;
    this.#used[part] += count * slabWords;
    const block = first << slabShift;
    this.words[block] = bigClass | (part << 8);
    return block;
  }

  #takeOver(slab: number, from: HeapReturn): void {
    const sizeClass = from.slabClass[slab] as number;
    if (sizeClass === unused) {
      this.#keepUnused(slab);
      return;
    }
    this.#slabClass[slab] = sizeClass;
    this.#slabUsed[slab] = from.slabUsed[slab] as number;
    this.#slabFree[slab] = from.slabFree[slab] as number;
    this.#slabBump[slab] = from.slabBump[slab] as number;
    this.#heldSlabs++;
    const blockWords = classWords[sizeClass];
    if (blockWords !== undefined && this.#hasFreeBlock(slab, blockWords)) this.#link(sizeClass, slab);
  }

  #hasFreeBlock(slab: number, blockWords: number): boolean {
    return this.#slabFree[slab] !== 0 || (this.#slabBump[slab] as number) + blockWords <= slabWords;
  }
}
