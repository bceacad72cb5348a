/** The number of steps of a window, which slides by one step. */
export const windowSteps = 10;

/** Exporters report a long flow about once a minute, and then for all of that time. */
const lateMs = 60_000;
const mostSteps = 80;

/** Returns a longer array that begins with the values of another. */
export function longer<T extends Float32Array | Float64Array | Uint8Array | Uint16Array | Uint32Array>(
  before: T,
  length: number,
): T {
  const after = new (before.constructor as new (length: number) => T)(length);
  after.set(before);
  return after;
}

/** Windows of sums by slot. They also keep the time before the present window, for records that arrive late. */
export class SumWindows {
  readonly stepMs: number;
  /** The sums of each step by slot, in a ring. */
  readonly #steps: Float32Array[];
  #capacity = 0;
  /** The number of the present step since the epoch, and its place in the ring. */
  #now: number;
  #place: number;
  /** The slot of the last query while nothing has changed. Each condition of a rule asks for it again. */
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

  /** The time in milliseconds for which an amount may be in a window after it was counted. */
  get keptMs(): number {
    return this.#steps.length * this.stepMs;
  }

  /** The maximum delay in milliseconds at which an amount can still enter all of its windows. */
  get reachMs(): number {
    return (this.#steps.length - windowSteps) * this.stepMs;
  }

  /** The number of the first kept step. */
  get first(): number {
    return this.#now - this.#steps.length + 1;
  }

  /** Makes room for slots below a number. */
  reserve(capacity: number): void {
    if (capacity <= this.#capacity) return;
    this.#capacity = capacity;
    for (const [i, before] of this.#steps.entries()) this.#steps[i] = longer(before, capacity);
  }

  /** Advances to a time and forgets what is older than the ring. A clock that goes back changes nothing. */
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

  /** Adds an amount to the present step. @returns the sum of that step. */
  add(slot: number, amount: number): number {
    this.#asked = -1;
    const step = this.#steps[this.#place] as Float32Array;
    return (step[slot] = (step[slot] as number) + amount);
  }

  /**
   * Spreads an amount over a period, in milliseconds since the epoch. It drops the part before the ring; the rest ends with the present step at the
   * latest.
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

  /** Returns the sum of the window that ends with a step. */
  sum(slot: number, end: number): number {
    let sum = 0;
    for (let step = Math.max(this.first, end - windowSteps + 1); step <= end; step++)
      sum += this.#at(step)[slot] as number;
    return sum;
  }

  /**
   * Returns the sums of all kept windows, oldest first. The first window ends with step `first + windowSteps - 1`. The array is valid until the next
   * call.
   */
  windows(slot: number): Float64Array {
    const [windows, sums, after] = [this.#windows, this.#sums, this.#after];
    if (this.#asked === slot) return windows;
    this.#asked = slot;
    const count = sums.length;
    // For each block of a window's length there are sums up to a step and from a step on. A window is one of each, so nothing is subtracted.
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

  /** Returns the sum of one step. */
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

  /** @param step a kept step. */
  #at(step: number): Float32Array {
    // Step numbers are large: a modulo for each would cost more than all other work.
    const place = this.#place - (this.#now - step);
    return this.#steps[place < 0 ? place + this.#steps.length : place] as Float32Array;
  }
}

/** Bits of the set of one slot. Linear counting (Whang et al., 1990) is accurate to a few percent up to four times as many values. */
const setBits = 2048;
const setWords = setBits / 32;

/** Estimates the number of different values of a slot, from the finished half of the window and the present one. */
export class DistinctWindows {
  readonly #halfMs: number;
  #sets: readonly [Uint32Array, Uint32Array] = [new Uint32Array(0), new Uint32Array(0)];
  /** The bits of each set, by slot. */
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

  /** Adds a value by its 32-bit hash. @returns at least the number of bits that are set for the slot. */
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

  /** Returns the number of set bits at which the estimate is a number. With fewer bits it is smaller. */
  static bitsOf(count: number): number {
    return Math.floor(setBits * (1 - Math.exp(-Math.max(0, count - 0.5) / setBits)));
  }

  /** Returns an estimate of the number of different values. */
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

/** Estimates the sums of keys without a slot: a count-min sketch (Cormode and Muthukrishnan, 2005) of two halves of a window. */
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

  /** Adds an amount to a key. @param hash the 32-bit hash of the key. @returns at least its sum in the window. */
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

/** Returns an FNV-1a hash with a final mix, so that similar texts get distant hashes. @param seed a secret, where texts may be hostile. */
export function hashOf(text: string, seed = 0): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return mixed(hash);
}

/** Applies the final steps of MurmurHash3: each bit changes half of the bits of the result. */
export function mixed(given: number): number {
  let hash = Math.imul(given ^ (given >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The keys that are watched individually. Each has a number, its slot. */
export class Keys {
  readonly #slots = new Map<string, number>();
  readonly #names: (string | undefined)[] = [];
  readonly #free: number[] = [];
  readonly #max: number;
  #end = 0;
  /** The number of records whose keys had no room. */
  refused = 0;

  /** @param max maximum number of keys at a time. */
  constructor(max: number) {
    this.#max = max;
  }

  get count(): number {
    return this.#slots.size;
  }

  /** The number after the largest slot ever used. */
  get end(): number {
    return this.#end;
  }

  /** Returns the slot of a key, if it has one. */
  find(key: string): number | undefined {
    return this.#slots.get(key);
  }

  /** Returns the slot of a key, and assigns one if needed. Undefined where there is no room. */
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

  /** Returns the key of a slot; undefined for a free slot. */
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
