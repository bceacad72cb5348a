/** The steps of a window: it slides by one of them. */
export const windowSteps = 10;

/** Exporters report a long flow once a minute or so, and then of all that time. */
const lateMs = 60_000;
const mostSteps = 80;

/** Returns a longer array that begins with the values of another one. */
export function longer<T extends Float32Array | Float64Array | Uint8Array | Uint16Array | Uint32Array>(
  before: T,
  length: number,
): T {
  const after = new (before.constructor as new (length: number) => T)(length);
  after.set(before);
  return after;
}

/** Windows of sums by slot, and of the time before the present one, for records that report what is over. */
export class SumWindows {
  readonly stepMs: number;
  /** Sums of each step by slot, in a ring. */
  readonly #steps: Float32Array[];
  #capacity = 0;
  /** The number of the present step since the epoch, and its place in the ring. */
  #now: number;
  #place: number;
  /** The slot that was asked for last, as long as nothing has changed: it is asked for by each condition of a rule. */
  #asked = -1;
  readonly #sums: Float64Array;
  readonly #after: Float64Array;
  readonly #windows: Float64Array;

  /** @param overMs the length of a window. @param now milliseconds since the epoch. */
  constructor(overMs: number, now: number) {
    this.stepMs = overMs / windowSteps;
    const steps = Math.min(mostSteps, windowSteps + Math.max(windowSteps, Math.ceil(lateMs / this.stepMs)));
    this.#steps = Array.from({ length: steps }, () => new Float32Array(0));
    this.#now = Math.floor(now / this.stepMs);
    this.#place = this.#now % steps;
    this.#sums = new Float64Array(steps);
    this.#after = new Float64Array(steps);
    this.#windows = new Float64Array(steps - windowSteps + 1);
  }

  /** The number of the present step. */
  get now(): number {
    return this.#now;
  }

  /** How long after it was counted something may be in a window, milliseconds. */
  get keptMs(): number {
    return this.#steps.length * this.stepMs;
  }

  /** How long after it happened something may be told and still be in all windows that it was in, milliseconds. */
  get reachMs(): number {
    return (this.#steps.length - windowSteps) * this.stepMs;
  }

  /** The number of the first step that is kept. */
  get first(): number {
    return this.#now - this.#steps.length + 1;
  }

  /** Makes room for slots below a number. */
  reserve(capacity: number): void {
    if (capacity <= this.#capacity) return;
    this.#capacity = capacity;
    for (const [i, before] of this.#steps.entries()) this.#steps[i] = longer(before, capacity);
  }

  /** Goes on to a time; what is older than the ring is forgotten. A clock that goes back changes nothing. */
  advance(now: number): void {
    const step = Math.floor(now / this.stepMs);
    const passed = step - this.#now;
    if (passed <= 0) return;
    this.#asked = -1;
    const count = this.#steps.length;
    for (let i = Math.max(0, passed - count); i < passed; i++) this.#steps[(this.#now + 1 + i) % count]?.fill(0);
    this.#now = step;
    this.#place = step % count;
  }

  /** Adds an amount at the present step. @returns the sum of that step. */
  add(slot: number, amount: number): number {
    this.#asked = -1;
    const step = this.#steps[this.#place] as Float32Array;
    return (step[slot] = (step[slot] as number) + amount);
  }

  /**
   * Spreads an amount over a time, milliseconds since the epoch. The part of it that is before the ring is left out; nothing is later
   * than the present step.
   *
   * @returns the greatest sum of a step that it changed.
   */
  spread(slot: number, from: number, to: number, amount: number): number {
    const last = Math.min(this.#now, Math.floor(to / this.stepMs));
    const began = Math.floor(from / this.stepMs);
    if (last < this.first) return 0;
    if (began >= last) return this.#addAt(last, slot, amount);
    const rate = amount / (to - from);
    const whole = rate * this.stepMs;
    this.#asked = -1;
    let most = 0;
    for (let step = Math.max(began, this.first); step <= last; step++) {
      let part = whole;
      if (step === began || step === last) {
        const until = step === this.#now ? to : Math.min(to, (step + 1) * this.stepMs);
        part = rate * Math.max(0, until - Math.max(from, step * this.stepMs));
      }
      const sums = this.#at(step);
      const sum = (sums[slot] = (sums[slot] as number) + part);
      if (sum > most) most = sum;
    }
    return most;
  }

  /** The sum of the window that ends with a step. */
  sum(slot: number, end: number): number {
    let sum = 0;
    for (let step = Math.max(this.first, end - windowSteps + 1); step <= end; step++)
      sum += this.#at(step)[slot] as number;
    return sum;
  }

  /** The sums of all windows that are kept, oldest first: the first one ends with step `first + windowSteps - 1`. They hold until the next call. */
  windows(slot: number): Float64Array {
    const [windows, sums, after] = [this.#windows, this.#sums, this.#after];
    if (this.#asked === slot) return windows;
    this.#asked = slot;
    const count = sums.length;
    // Of each block of a window's length the sums up to a step, and from a step on: a window is one of each, and nothing is subtracted.
    for (let i = 0, step = this.first; i < count; i++, step++) {
      const value = this.#at(step)[slot] as number;
      after[i] = value;
      sums[i] = i % windowSteps === 0 ? value : (sums[i - 1] as number) + value;
    }
    for (let i = count - 2; i >= 0; i--)
      if (i % windowSteps !== windowSteps - 1) after[i] = (after[i] as number) + (after[i + 1] as number);
    for (let i = 0; i < windows.length; i++) {
      const last = sums[i + windowSteps - 1] as number;
      windows[i] = i % windowSteps === 0 ? last : (after[i] as number) + last;
    }
    return windows;
  }

  /** The sum of one step. */
  step(slot: number, step: number): number {
    return this.#at(step)[slot] as number;
  }

  /** Forgets a slot. */
  clear(slot: number): void {
    this.#asked = -1;
    for (const step of this.#steps) step[slot] = 0;
  }

  #addAt(step: number, slot: number, amount: number): number {
    this.#asked = -1;
    const sums = this.#at(step);
    return (sums[slot] = (sums[slot] as number) + amount);
  }

  /** @param step that is kept. */
  #at(step: number): Float32Array {
    // Numbers of steps are large, and a remainder of each would cost more than all else.
    const place = this.#place - (this.#now - step);
    return this.#steps[place < 0 ? place + this.#steps.length : place] as Float32Array;
  }
}

/** Bits of the set of one slot; linear counting (Whang et al., 1990) is within some percent up to four times as many values. */
const setBits = 2048;
const setWords = setBits / 32;

/** Estimates how many different values a slot had: in the half of the window that is over, and in the one that goes on. */
export class DistinctWindows {
  readonly #halfMs: number;
  #sets: readonly [Uint32Array, Uint32Array] = [new Uint32Array(0), new Uint32Array(0)];
  /** By slot the bits of each set. */
  #bits: readonly [Uint16Array, Uint16Array] = [new Uint16Array(0), new Uint16Array(0)];
  #half: number;

  constructor(overMs: number, now: number) {
    this.#halfMs = overMs / 2;
    this.#half = Math.floor(now / this.#halfMs);
  }

  reserve(capacity: number): void {
    const [present, past] = this.#sets;
    const slots = Math.max(present.length / setWords, capacity);
    this.#sets = [longer(present, slots * setWords), longer(past, slots * setWords)];
    this.#bits = [longer(this.#bits[0], slots), longer(this.#bits[1], slots)];
  }

  advance(now: number): void {
    const half = Math.floor(now / this.#halfMs);
    if (half <= this.#half) return;
    for (const [present, past] of [this.#sets, this.#bits]) {
      if (half > this.#half + 1) present.fill(0);
      past.fill(0);
    }
    this.#sets = [this.#sets[1], this.#sets[0]];
    this.#bits = [this.#bits[1], this.#bits[0]];
    this.#half = half;
  }

  /** Adds a value by its hash of 32 bits. @returns no less than the bits that are set of the slot. */
  add(slot: number, hash: number): number {
    const at = slot * setWords + ((hash >>> 5) & (setWords - 1));
    const [present] = this.#sets;
    const [bits, pastBits] = this.#bits;
    const before = present[at] as number;
    const after = (before | (1 << (hash & 31))) >>> 0;
    present[at] = after;
    if (after !== before) bits[slot] = (bits[slot] as number) + 1;
    return (bits[slot] as number) + (pastBits[slot] as number);
  }

  /** The bits that are set where the estimate is a number: with fewer it is smaller. */
  static bitsOf(count: number): number {
    return Math.floor(setBits * (1 - Math.exp(-Math.max(0, count - 0.5) / setBits)));
  }

  /** The number of different values, an estimate. */
  count(slot: number): number {
    const [present, past] = this.#sets;
    let empty = 0;
    for (let i = slot * setWords; i < (slot + 1) * setWords; i++)
      empty += 32 - bitsOf((present[i] ?? 0) | (past[i] ?? 0));
    return Math.round(setBits * Math.log(setBits / Math.max(1, empty)));
  }

  clear(slot: number): void {
    for (const set of this.#sets) set.fill(0, slot * setWords, (slot + 1) * setWords);
    for (const bits of this.#bits) bits[slot] = 0;
  }
}

function bitsOf(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return (((bits + (bits >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
}

const sketchCells = 1 << 16;

/** Estimates the sums of keys that have no slot: a count-min sketch (Cormode and Muthukrishnan, 2005) of two halves of a window. */
export class KeySketch {
  readonly #halfMs: number;
  #halves: readonly [Float32Array, Float32Array] = [
    new Float32Array(2 * sketchCells),
    new Float32Array(2 * sketchCells),
  ];
  #half: number;

  constructor(overMs: number, now: number) {
    this.#halfMs = overMs / 2;
    this.#half = Math.floor(now / this.#halfMs);
  }

  /** Adds an amount to a key. @param hash of the key, 32 bits. @returns no less than its sum in the window. */
  add(hash: number, amount: number, now: number): number {
    const half = Math.floor(now / this.#halfMs);
    if (half > this.#half) {
      const [present, past] = this.#halves;
      if (half > this.#half + 1) present.fill(0);
      past.fill(0);
      this.#halves = [past, present];
      this.#half = half;
    }
    const [present, past] = this.#halves;
    const other = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    const [a, b] = [hash & (sketchCells - 1), sketchCells + ((other >>> 12) & (sketchCells - 1))];
    const [first, second] = [(present[a] as number) + amount, (present[b] as number) + amount];
    present[a] = first;
    present[b] = second;
    return Math.min(first + (past[a] as number), second + (past[b] as number));
  }
}

/** FNV-1a with a final mix: neighbouring texts are to be far apart. @param seed nobody outside knows, where texts may be hostile. */
export function hashOf(text: string, seed = 0): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return mixed(hash);
}

/** The last steps of MurmurHash3: each bit changes half of those of the result. */
export function mixed(given: number): number {
  let hash = Math.imul(given ^ (given >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Values that are watched by themselves, each with a number, its slot. */
export class Keys {
  readonly #slots = new Map<string, number>();
  readonly #names: (string | undefined)[] = [];
  readonly #free: number[] = [];
  readonly #max: number;
  #end = 0;
  /** Records of keys for which there was no place. */
  refused = 0;

  /** @param max keys at a time. */
  constructor(max: number) {
    this.#max = max;
  }

  get count(): number {
    return this.#slots.size;
  }

  /** The number behind the largest slot that was ever used. */
  get end(): number {
    return this.#end;
  }

  /** The slot that a key has. */
  find(key: string): number | undefined {
    return this.#slots.get(key);
  }

  /** The slot of a key, which it is given if need be; undefined where there is no place. */
  slot(key: string): number | undefined {
    const known = this.#slots.get(key);
    if (known !== undefined) return known;
    if (this.#slots.size >= this.#max) {
      this.refused++;
      return undefined;
    }
    const slot = this.#free.pop() ?? this.#end++;
    this.#slots.set(key, slot);
    this.#names[slot] = key;
    return slot;
  }

  /** The key of a slot; undefined where it is free. */
  name(slot: number): string | undefined {
    return this.#names[slot];
  }

  forget(slot: number): void {
    const key = this.#names[slot];
    if (key === undefined) return;
    this.#slots.delete(key);
    this.#names[slot] = undefined;
    this.#free.push(slot);
  }
}
