/** What is wanted of a value: of a map some of its keys; the value itself where it has a slot. Slots count from 0. */
export interface Wanted {
  /** Where what was found is put down; absent where only keys are wanted. */
  readonly slot?: number;
  /** The same for a text or a number where a map with `keys` is expected. */
  readonly scalar?: number;
  readonly keys?: readonly (readonly [key: string, wanted: Wanted])[];
}

/** What was found of a record: values by their slots, read where they lie. */
export interface FoundValues {
  /** Whether there is anything: a map where keys are wanted, else a text or a number. */
  has(slot: number): boolean;
  /** Where the bytes of texts lie, in UTF-8. */
  readonly bytes: Buffer;
  /** Where a text begins. */
  start(slot: number): number;
  /** How many bytes a text has; 0 where there is none. */
  length(slot: number): number;
  number(slot: number): number | undefined;
  /** A short text of ASCII; "" where there is none. */
  text(slot: number): string;
}

/**
 * Reads of a value in the data of a database what is wanted: a database has names in many languages.
 *
 * @param at where it begins in the data.
 * @returns what may be read until the next call.
 * @throws Error where the file is damaged.
 */
export type ReadData = (at: number) => FoundValues;

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
/** Of texts that are numbers or codes, bytes. */
const longestText = 32;
const nothing: NonNullable<Wanted["keys"]> = [];

/**
 * @param bytes the data: pointers count from its first byte.
 * @param slots how many there are.
 */
export function createDataReader(bytes: Buffer, wanted: Wanted, slots: number): ReadData {
  const types = new Uint8Array(slots);
  const starts = new Float64Array(slots);
  const sizes = new Float64Array(slots);
  let at = 0;
  let type = 0;
  /** Bytes of the value, pairs of a map, items of a list, or where a pointer leads. */
  let size = 0;
  let left = 0;

  const fail = (what: string): never => {
    throw new Error(`${what} at byte ${at} of the data`);
  };
  const need = (count: number): void => {
    if (!(at + count <= bytes.length)) fail("data is cut");
  };
  const readUint = (count: number): number => {
    need(count);
    let value = 0;
    for (let i = 0; i < count; i++) value = value * 256 + (bytes[at++] as number);
    return value;
  };

  /** Reads what stands before a value. */
  const readHead = (): void => {
    if (left-- === 0) fail("too many values");
    need(1);
    const control = bytes[at++] as number;
    type = control >>> 5;
    if (type === pointer) {
      const more = (control >>> 3) & 3;
      const upper = more === 3 ? 0 : (control & 7) * 2 ** (8 * (more + 1));
      size = upper + readUint(more + 1) + (pointerBases[more] as number);
      return;
    }
    if (type === 0) type = 7 + readUint(1);
    if (type > lastType) fail("an unknown type");
    size = control & 31;
    if (size < firstLongSize) return;
    const more = size - firstLongSize;
    size = readUint(more + 1) + (sizeBases[more] as number);
  };

  /** Leaves out what belongs to a head. */
  const skipContent = (): void => {
    for (let values = 1; ; readHead()) {
      if (type === map) values += 2 * size;
      else if (type === array) values += size;
      else if (type !== pointer && type !== boolean) {
        need(size);
        at += size;
      }
      if (--values === 0) return;
    }
  };

  const isKey = (key: string): boolean => {
    for (let i = 0; i < size; i++) if (key.charCodeAt(i) !== bytes[at + i]) return false;
    return true;
  };

  /** Reads the key of a pair. @returns what is wanted of its value. */
  const readKey = (keys: NonNullable<Wanted["keys"]>): Wanted | undefined => {
    readHead();
    const after = at;
    const isElsewhere = type === pointer;
    if (isElsewhere) {
      at = size;
      readHead();
    }
    if (type !== text) fail("a key that is no text");
    need(size);
    let found: Wanted | undefined;
    // By position: an iterator would be an object for each key.
    for (let i = 0; i < keys.length && found === undefined; i++) {
      const pair = keys[i] as (typeof keys)[number];
      if (pair[0].length === size && isKey(pair[0])) [, found] = pair;
    }
    at = isElsewhere ? after : at + size;
    return found;
  };

  const note = (slot: number | undefined): void => {
    if (slot === undefined) return;
    types[slot] = type;
    starts[slot] = at;
    sizes[slot] = size;
  };

  /** Puts down the value of a head, if it is of a type that anything is made of. */
  const noteScalar = (slot: number | undefined): void => {
    if (type === double || type === float) {
      if (size !== (type === double ? 8 : 4)) fail("a number of a wrong size");
    } else if (type === uint16 || type === uint32 || type === int32) {
      if (size > 4) fail("a number of a wrong size");
    } else if (type !== text) return;
    need(size);
    note(slot);
  };

  const readValue = ({ slot, scalar, keys = nothing }: Wanted): void => {
    readHead();
    let after = -1;
    if (type === pointer) {
      after = at;
      at = size;
      readHead();
    }
    if (keys !== nothing && type === map) {
      note(slot);
      for (let pairs = size; pairs > 0; pairs--) {
        const found = readKey(keys);
        if (found !== undefined) readValue(found);
        else {
          readHead();
          skipContent();
        }
      }
    } else {
      noteScalar(keys === nothing ? slot : scalar);
      skipContent();
    }
    if (after >= 0) at = after;
  };

  const found: FoundValues = {
    has: (slot) => types[slot] !== 0,
    bytes,
    start: (slot) => starts[slot] as number,
    length: (slot) => (types[slot] === text ? (sizes[slot] as number) : 0),
    text(slot) {
      if (types[slot] !== text || (sizes[slot] as number) > longestText) return "";
      const start = starts[slot] as number;
      return bytes.toString("latin1", start, start + (sizes[slot] as number));
    },
    number(slot) {
      const start = starts[slot] as number;
      switch (types[slot]) {
        case double:
          return bytes.readDoubleBE(start);
        case float:
          return bytes.readFloatBE(start);
        case uint16:
        case uint32:
        case int32: {
          at = start;
          const value = readUint(sizes[slot] as number);
          return types[slot] === int32 ? value | 0 : value;
        }
        case undefined:
        default:
          return undefined;
      }
    },
  };

  return (place) => {
    types.fill(0);
    at = place;
    left = maxValues;
    readValue(wanted);
    return found;
  };
}
