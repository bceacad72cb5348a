/** The parts of a value to read: some keys of a map; the value itself where it has a slot. Slots count from 0. */
export interface Wanted {
  /** The slot that takes what was found; absent where only keys are wanted. */
  readonly slot?: number;
  /** The same for a text or a number where a map with `keys` is expected. */
  readonly scalar?: number;
  readonly keys?: readonly (readonly [key: string, wanted: Wanted])[];
}

// The data of the MaxMind DB File Format 2.0: a control byte with the type and the size, more bytes of both, then the content.
const [pointer, text, double, uint16, uint32, map, int32, array, boolean, float] = [1, 2, 3, 5, 6, 7, 8, 11, 14, 15];
const lastType = float;
/** The values of pointers of several bytes begin where those of fewer end. */
const pointerBases = [0, 2048, 526_336, 0];
/** Sizes from here on are in the bytes that follow. */
const firstLongSize = 29;
const sizeBases = [29, 285, 65_821];
/** A damaged file may claim maps and lists of any size. */
const maxValues = 65_536;
/** The longest text that is a number or a code, bytes. */
const longestText = 32;
const nothing: NonNullable<Wanted["keys"]> = [];

/**
 * Reads of a value in the data of a database what is wanted: a database has names in many languages. What was found is kept by its
 * slot and read where it lies.
 */
export class DataReader {
  /** The bytes that hold texts, in UTF-8. */
  readonly bytes: Buffer;
  readonly #wanted: Wanted;
  readonly #types: Uint8Array;
  readonly #starts: Float64Array;
  readonly #sizes: Float64Array;
  #at = 0;
  #type = 0;
  /** Bytes of the value, pairs of a map, items of a list, or where a pointer leads. */
  #size = 0;
  #left = 0;

  /**
   * @param bytes the data: pointers count from its first byte.
   * @param slots how many there are.
   */
  constructor(bytes: Buffer, wanted: Wanted, slots: number) {
    this.bytes = bytes;
    this.#wanted = wanted;
    this.#types = new Uint8Array(slots);
    this.#starts = new Float64Array(slots);
    this.#sizes = new Float64Array(slots);
  }

  /**
   * Reads what is wanted in place of what was read before.
   *
   * @param at where the value begins in the data.
   * @throws Error where the file is damaged.
   */
  read(at: number): void {
    this.#types.fill(0);
    this.#at = at;
    this.#left = maxValues;
    this.#readValue(this.#wanted);
  }

  /** Tells whether there is anything: a map where keys are wanted, else a text or a number. */
  has(slot: number): boolean {
    return this.#types[slot] !== 0;
  }

  /** Returns where a text begins. */
  start(slot: number): number {
    return this.#starts[slot] as number;
  }

  /** Returns how many bytes a text has; 0 where there is none. */
  length(slot: number): number {
    return this.#types[slot] === text ? (this.#sizes[slot] as number) : 0;
  }

  /** Returns a short text of ASCII; "" where there is none. */
  text(slot: number): string {
    const size = this.#sizes[slot] as number;
    if (this.#types[slot] !== text || size > longestText) return "";
    const start = this.start(slot);
    return this.bytes.toString("latin1", start, start + size);
  }

  number(slot: number): number | undefined {
    const start = this.start(slot);
    switch (this.#types[slot]) {
      case double:
        return this.bytes.readDoubleBE(start);
      case float:
        return this.bytes.readFloatBE(start);
      case uint16:
      case uint32:
      case int32: {
        this.#at = start;
        const value = this.#readUint(this.#sizes[slot] as number);
        return this.#types[slot] === int32 ? value | 0 : value;
      }
      case undefined:
      default:
        return undefined;
    }
  }

  #readValue({ slot, scalar, keys = nothing }: Wanted): void {
    this.#readHead();
    let after = -1;
    if (this.#type === pointer) {
      after = this.#at;
      this.#at = this.#size;
      this.#readHead();
    }
    if (keys !== nothing && this.#type === map) {
      this.#note(slot);
      for (let pairs = this.#size; pairs > 0; pairs--) {
        const found = this.#readKey(keys);
        if (found !== undefined) this.#readValue(found);
        else {
          this.#readHead();
          this.#skipContent();
        }
      }
    } else {
      this.#noteScalar(keys === nothing ? slot : scalar);
      this.#skipContent();
    }
    if (after >= 0) this.#at = after;
  }

  /** Reads what stands before a value. */
  #readHead(): void {
    if (this.#left-- === 0) this.#fail("too many values");
    this.#need(1);
    const control = this.bytes[this.#at++] as number;
    this.#type = control >>> 5;
    if (this.#type === pointer) {
      const more = (control >>> 3) & 3;
      const upper = more === 3 ? 0 : (control & 7) * 2 ** (8 * (more + 1));
      this.#size = upper + this.#readUint(more + 1) + (pointerBases[more] as number);
      return;
    }
    if (this.#type === 0) this.#type = 7 + this.#readUint(1);
    if (this.#type > lastType) this.#fail("an unknown type");
    this.#size = control & 31;
    if (this.#size < firstLongSize) return;
    const more = this.#size - firstLongSize;
    this.#size = this.#readUint(more + 1) + (sizeBases[more] as number);
  }

  /** Leaves out what belongs to a head. */
  #skipContent(): void {
    for (let values = 1; ; this.#readHead()) {
      const type = this.#type;
      if (type === map) values += 2 * this.#size;
      else if (type === array) values += this.#size;
      else if (type !== pointer && type !== boolean) {
        this.#need(this.#size);
        this.#at += this.#size;
      }
      if (--values === 0) return;
    }
  }

  /** Reads the key of a pair. @returns what is wanted of its value. */
  #readKey(keys: NonNullable<Wanted["keys"]>): Wanted | undefined {
    this.#readHead();
    const after = this.#at;
    const isElsewhere = this.#type === pointer;
    if (isElsewhere) {
      this.#at = this.#size;
      this.#readHead();
    }
    if (this.#type !== text) this.#fail("a key that is no text");
    const size = this.#size;
    this.#need(size);
    let found: Wanted | undefined;
    // By position: an iterator would be an object for each key.
    for (let i = 0; i < keys.length && found === undefined; i++) {
      const pair = keys[i] as (typeof keys)[number];
      if (pair[0].length === size && this.#isKey(pair[0])) [, found] = pair;
    }
    this.#at = isElsewhere ? after : this.#at + size;
    return found;
  }

  #isKey(key: string): boolean {
    for (let i = 0; i < key.length; i++) if (key.charCodeAt(i) !== this.bytes[this.#at + i]) return false;
    return true;
  }

  /** Puts down the value of a head, if it is of a type that anything is made of. */
  #noteScalar(slot: number | undefined): void {
    const type = this.#type;
    if (type === double || type === float) {
      if (this.#size !== (type === double ? 8 : 4)) this.#fail("a number of a wrong size");
    } else if (type === uint16 || type === uint32 || type === int32) {
      if (this.#size > 4) this.#fail("a number of a wrong size");
    } else if (type !== text) return;
    this.#need(this.#size);
    this.#note(slot);
  }

  #note(slot: number | undefined): void {
    if (slot === undefined) return;
    this.#types[slot] = this.#type;
    this.#starts[slot] = this.#at;
    this.#sizes[slot] = this.#size;
  }

  #readUint(count: number): number {
    this.#need(count);
    let value = 0;
    for (let i = 0; i < count; i++) value = value * 256 + (this.bytes[this.#at++] as number);
    return value;
  }

  #need(count: number): void {
    if (!(this.#at + count <= this.bytes.length)) this.#fail("data is cut");
  }

  #fail(what: string): never {
    throw new Error(`${what} at byte ${this.#at} of the data`);
  }
}
