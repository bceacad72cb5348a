/** The parts of a value to read: some keys of a map, or the value itself if it has a slot. Slots count from 0. */
export interface Wanted {
  /** The slot for the value; absent if only keys are wanted. */
  readonly slot?: number;
  /** The slot for a text or a number that stands in place of a map with `keys`. */
  readonly scalar?: number;
  readonly keys?: readonly (readonly [key: string, wanted: Wanted])[];
}

// The types of the MaxMind DB File Format 2.0. A value is a control byte with type and size, further bytes of both, and the content.
const [pointer, text, double, uint16, uint32, map, int32, array, boolean, float] = [1, 2, 3, 5, 6, 7, 8, 11, 14, 15];
const lastType = float;
/** The least value of a pointer by its number of further bytes: each range begins where the shorter one ends. */
const pointerBases = [0, 2048, 526_336, 0];
/** The least size that is written in further bytes. */
const firstLongSize = 29;
const sizeBases = [29, 285, 65_821];
/** The most values to read, because a damaged file may claim maps and lists of any size. */
const maxValues = 65_536;
/** The longest text that is a number or a code, in bytes. */
const longestText = 32;
const nothing: NonNullable<Wanted["keys"]> = [];

/**
 * Reads the wanted parts of a value in a database, and skips the rest, such as names in other languages. It notes the place of each
 * part by its slot; callers read the part there.
 */
export class DataReader {
  /** The bytes that contain the texts, in UTF-8. */
  readonly bytes: Buffer;
  readonly #wanted: Wanted;
  readonly #types: Uint8Array;
  readonly #starts: Float64Array;
  readonly #sizes: Float64Array;
  #at = 0;
  #type = 0;
  /** The bytes of the value, the pairs of a map, the items of a list, or the target of a pointer. */
  #size = 0;
  #left = 0;

  /**
   * @param bytes the data: pointers count from its first byte.
   * @param slots the number of slots.
   */
  constructor(bytes: Buffer, wanted: Wanted, slots: number) {
    this.bytes = bytes;
    this.#wanted = wanted;
    this.#types = new Uint8Array(slots);
    this.#starts = new Float64Array(slots);
    this.#sizes = new Float64Array(slots);
  }

  /**
   * Reads the wanted parts of a value and forgets those of the value before.
   *
   * @param at the offset of the value in the data.
   * @throws Error if the file is damaged.
   */
  read(at: number): void {
    this.#types.fill(0);
    this.#at = at;
    this.#left = maxValues;
    this.#readValue(this.#wanted);
  }

  /** Reports whether the slot was found: a map if keys are wanted, else a text or a number. */
  has(slot: number): boolean {
    return this.#types[slot] !== 0;
  }

  /** Returns the offset at which a text begins. */
  start(slot: number): number {
    return this.#starts[slot] as number;
  }

  /** Returns the length of a text in bytes; 0 if there is none. */
  length(slot: number): number {
    return this.#types[slot] === text ? (this.#sizes[slot] as number) : 0;
  }

  /** Returns a short ASCII text; "" if there is none. */
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

  /** Reads the type and size of a value. */
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

  /** Skips the content of the value whose head was read last. */
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

  /** Reads the key of a pair. @returns the wanted parts of its value; undefined if there are none. */
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
    // An index, because an iterator would create an object for each key.
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

  /** Notes the place of a text or a number after its head was read, and ignores other types. */
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
