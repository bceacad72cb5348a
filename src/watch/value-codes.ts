import type { BatchColumn, Column } from "../record/index.ts";
import { longer, mixed } from "./windows.ts";

/** Numbers below this are their own codes, plus one: ports, protocols, flags. */
const plainNumbers = 65_536;
/** Maximum number of remembered values. When there are more, all codes are assigned again. */
const maxValues = 1 << 15;
const fewestCells = 1 << 10;
/** Maximum length of a remembered text. Exporters also send texts of 60 KB. */
const maxTextLength = 256;

/** Codes for the values of a column, so that a decision about a value is made only once. */
export class ValueCodes {
  /** Codes by row of the batch in use; 0: the row has no value. */
  rows = new Uint32Array(0);
  /** Codes keep their meaning while this number stays the same. */
  epoch = 0;
  readonly #seed = Math.floor(Math.random() * 2 ** 32);
  readonly #texts = new Map<string, number>();
  /** Codes by the code of a text in the batch. */
  #ofTexts = new Uint32Array(0);
  /** A hash table of codes; 0 marks a free cell. */
  #cells = new Uint32Array(fewestCells);
  /** Values by code, each as a fixed number of 32-bit words. */
  #values = new Uint32Array(0);
  #count = 0;

  /**
   * Reads the codes of a batch.
   *
   * @param column undefined where no row has a value.
   * @param words the values as 32-bit numbers, where they can be read so.
   * @returns false where its values have no codes: a row has several values.
   */
  use(
    column: BatchColumn | undefined,
    rows: number,
    words: Uint32Array | undefined,
    texts: { readonly count: number; text(this: void, code: number): string },
  ): boolean {
    if (this.rows.length < rows) this.rows = new Uint32Array(rows);
    if (column === undefined) {
      this.rows.fill(0);
      return true;
    }
    const { type, isArray } = column.column;
    if (isArray) return false;
    if (this.#count + rows > maxValues) this.#restart();
    if (type === "boolean") this.#useFlags(column, rows);
    else if (words === undefined) return false;
    else if (type === "text") this.#useTexts(column.presence, rows, words, texts);
    else this.#useWords(type, column.presence, rows, words);
    return true;
  }

  #restart(): void {
    this.epoch++;
    this.#count = 0;
    this.#texts.clear();
    this.#cells.fill(0);
  }

  #useFlags({ presence, data }: BatchColumn, rows: number): void {
    for (let row = 0; row < rows; row++) this.rows[row] = hasValue(presence, row) ? Number(data[row]) + 1 : 0;
  }

  #useTexts(
    presence: Uint8Array,
    rows: number,
    words: Uint32Array,
    { count, text }: { readonly count: number; text(this: void, code: number): string },
  ): void {
    if (this.#ofTexts.length < count) this.#ofTexts = new Uint32Array(2 * count);
    const known = this.#ofTexts.fill(0, 0, count);
    for (let row = 0; row < rows; row++) {
      const given = words[row] as number;
      let code = 0;
      if (hasValue(presence, row)) code = known[given] || (known[given] = this.#codeOfText(text(given)));
      this.rows[row] = code;
    }
  }

  #codeOfText(text: string): number {
    let code = this.#texts.get(text);
    if (code !== undefined) return code;
    code = ++this.#count;
    if (text.length <= maxTextLength) this.#texts.set(text, code);
    return code;
  }

  #useWords(type: Column["type"], presence: Uint8Array, rows: number, words: Uint32Array): void {
    const width = type === "address" ? 4 : 2;
    const isPlain = type === "integer" || type === "unsigned";
    const first = isPlain ? plainNumbers : 0;
    const codes = this.rows;
    // Neighbouring rows often have equal values, for example exporters and times.
    let [before, code] = [-1, 0];
    for (let row = 0; row < rows; row++) {
      const at = row * width;
      if (!hasValue(presence, row)) codes[row] = 0;
      else if (isPlain && words[at + 1] === 0 && (words[at] as number) < plainNumbers)
        codes[row] = (words[at] as number) + 1;
      else {
        if (before < 0 || !isSame(words, before, words, at, width)) code = first + this.#codeOf(words, at, width);
        before = at;
        codes[row] = code;
      }
    }
  }

  #codeOf(words: Uint32Array, at: number, width: number): number {
    const [cells, values] = [this.#cells, this.#values];
    const mask = cells.length - 1;
    let cell = this.#cellOf(words, at, width) & mask;
    for (; cells[cell] !== 0; cell = (cell + 1) & mask) {
      const known = cells[cell] as number;
      if (isSame(values, known * width, words, at, width)) return known;
    }
    const code = (cells[cell] = ++this.#count);
    if (values.length < (code + 1) * width) this.#values = longer(values, 2 * (code + 1) * width);
    this.#values.set(words.subarray(at, at + width), code * width);
    if (2 * code > cells.length) this.#grow(width);
    return code;
  }

  #cellOf(words: Uint32Array, at: number, width: number): number {
    let hash = this.#seed;
    for (let i = 0; i < width; i++) {
      hash = Math.imul(hash ^ (words[at + i] as number), 0x9e3779b1);
      hash ^= hash >>> 16;
    }
    return mixed(hash);
  }

  #grow(width: number): void {
    const cells = (this.#cells = new Uint32Array(2 * this.#cells.length));
    const mask = cells.length - 1;
    for (let code = 1; code <= this.#count; code++) {
      let cell = this.#cellOf(this.#values, code * width, width) & mask;
      while (cells[cell] !== 0) cell = (cell + 1) & mask;
      cells[cell] = code;
    }
  }
}

/** Compares numbers from the last to the first: the first words of addresses are mostly equal. */
function isSame(some: Uint32Array, from: number, others: Uint32Array, at: number, width: number): boolean {
  for (let i = width - 1; i >= 0; i--) if (some[from + i] !== others[at + i]) return false;
  return true;
}

function hasValue(presence: Uint8Array, row: number): boolean {
  return ((presence[row >> 3] as number) & (1 << (row & 7))) !== 0;
}

const fewestKeys = 64;
const mostKeys = 1 << 16;
/** A rule with few keys must not reserve memory for all codes. */
const [fewestDirect, directOfKey] = [1024, 16];
/** Number of cells to try for a key: several keys can share a first cell. */
const probes = 4;

/** A cache from the codes of a key's values to its slot, so that a repeated key needs no text. */
export class KeyCache {
  readonly #seed: number;
  #cells = fewestKeys;
  /** The codes of the key in each cell. */
  #keys: Uint32Array;
  /** The slot of each cell; -1: the cell is free. */
  #slots = new Int32Array(fewestKeys).fill(-1);
  /** For keys of one value: slots plus one, by code, as far as the codes are small enough. */
  #direct = new Uint32Array(0);
  /** The codes of each value of a key, by row in use; undefined where a value has none. */
  #codes: readonly Uint32Array[] | undefined;
  /** The sum of the epochs of the known codes. */
  #epoch = 0;
  /** The codes of the key that is looked up. */
  readonly #key: Uint32Array;
  /** True where a known slot may belong to another key now. */
  #isStale = false;

  /** @param width the number of values in a key. @param seed a secret number. */
  constructor(width: number, seed: number) {
    this.#seed = seed;
    this.#key = new Uint32Array(width);
    this.#keys = new Uint32Array(fewestKeys * width);
  }

  /** Selects the rows that are in use now. @param given the codes of each value; undefined for a value without codes. */
  use(given: readonly (ValueCodes | undefined)[]): void {
    const codes = given.filter((each) => each !== undefined);
    this.#codes = codes.length < given.length ? undefined : codes.map(({ rows }) => rows);
    if (this.#codes === undefined) return;
    const epoch = codes.reduce((sum, each) => sum + each.epoch, 0);
    if (epoch !== this.#epoch || this.#isStale) this.#clear();
    this.#epoch = epoch;
  }

  /** Returns the slot of a row whose key is known; -1 where its key must be read. */
  find(row: number): number {
    const [given, key, width] = [this.#codes, this.#key, this.#key.length];
    if (given === undefined) return -1;
    for (let i = 0; i < width; i++) key[i] = (given[i] as Uint32Array)[row] as number;
    const code = key[0] as number;
    if (width === 1 && code < this.#direct.length) {
      const slot = this.#direct[code] as number;
      if (slot > 0) return slot - 1;
    }
    const keys = this.#keys;
    let cell = this.#cellOf(key);
    for (let i = 0; i < probes; i++, cell = (cell + 1) & (this.#cells - 1)) {
      const at = cell * width;
      let same = 0;
      while (same < width && keys[at + same] === key[same]) same++;
      if (same === width) return this.#slots[cell] as number;
    }
    return -1;
  }

  /** Stores the slot of the key that was looked up last; undefined where it has none. @param keys the number of keys, which sets the size of the cache. */
  put(slot: number | undefined, keys: number): void {
    if (this.#codes === undefined) return;
    if (this.#isStale) this.#clear();
    if (slot === undefined) return;
    const width = this.#key.length;
    const code = this.#key[0] as number;
    if (width === 1 && code < fewestDirect + directOfKey * keys) {
      if (code >= this.#direct.length) this.#direct = longer(this.#direct, Math.max(fewestDirect, 2 * code));
      this.#direct[code] = slot + 1;
      return;
    }
    if (this.#cells < mostKeys && keys > this.#cells / 4) {
      while (this.#cells < mostKeys && keys > this.#cells / 8) this.#cells *= 2;
      this.#keys = new Uint32Array(this.#cells * width);
      this.#slots = new Int32Array(this.#cells).fill(-1);
    }
    const home = this.#cellOf(this.#key);
    let cell = home;
    for (let i = 1; i < probes && this.#slots[cell] !== -1; i++) cell = (cell + 1) & (this.#cells - 1);
    if (this.#slots[cell] !== -1) cell = home;
    this.#slots[cell] = slot;
    this.#keys.set(this.#key, cell * width);
  }

  /** Records that a slot has gone to another key. */
  forget(): void {
    this.#isStale = true;
  }

  #clear(): void {
    this.#isStale = false;
    this.#direct.fill(0);
    this.#keys.fill(0);
    this.#slots.fill(-1);
  }

  #cellOf(key: Uint32Array): number {
    let hash = this.#seed;
    for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ (key[i] as number), 0x9e3779b1) ^ (hash >>> 15);
    return mixed(hash) & (this.#cells - 1);
  }
}
