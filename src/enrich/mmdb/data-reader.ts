/** What is wanted of a value: the value itself, or of a map some of its keys. */
export type Wanted = "value" | WantedKeys;
export type WantedKeys = readonly (readonly [key: string, wanted: Wanted])[];

/**
 * Reads a value where it lies in the data of a database, and of it only what is wanted: a database has names in many languages.
 *
 * @param at where it begins in the data.
 * @returns a text, a number, or a map with those of the wanted keys that it has; undefined for a value of another type or shape.
 * @throws Error where the file is damaged.
 */
export type ReadData = (at: number, wanted: Wanted) => unknown;

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

/** @param bytes the data: pointers count from its first byte. */
export function createDataReader(bytes: Buffer): ReadData {
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
  const readKey = (wanted: WantedKeys): readonly [string, Wanted] | undefined => {
    readHead();
    const after = at;
    const isElsewhere = type === pointer;
    if (isElsewhere) {
      at = size;
      readHead();
    }
    if (type !== text) fail("a key that is no text");
    need(size);
    let found: readonly [string, Wanted] | undefined;
    // By position: an iterator would be an object for each key.
    for (let i = 0; i < wanted.length && found === undefined; i++) {
      const pair = wanted[i] as WantedKeys[number];
      if (pair[0].length === size && isKey(pair[0])) found = pair;
    }
    at = isElsewhere ? after : at + size;
    return found;
  };

  const readMap = (wanted: WantedKeys): ReadonlyMap<string, unknown> => {
    const read = new Map<string, unknown>();
    for (let pairs = size; pairs > 0; pairs--) {
      const found = readKey(wanted);
      if (found === undefined) {
        readHead();
        skipContent();
      } else read.set(found[0], readValue(found[1]));
    }
    return read;
  };

  /** Reads the value of a head. */
  const readScalar = (): string | number | undefined => {
    const from = at;
    if (type === boolean || type === pointer) return undefined;
    need(size);
    switch (type) {
      case text:
        at += size;
        return bytes.toString("utf8", from, at);
      case double:
      case float:
        if (size !== (type === double ? 8 : 4)) fail("a number of a wrong size");
        at += size;
        return type === double ? bytes.readDoubleBE(from) : bytes.readFloatBE(from);
      case uint16:
      case uint32:
      case int32: {
        if (size > 4) fail("a number of a wrong size");
        const value = readUint(size);
        return type === int32 ? value | 0 : value;
      }
      default:
        at += size;
        return undefined;
    }
  };

  const readValue = (wanted: Wanted): unknown => {
    readHead();
    let after = -1;
    if (type === pointer) {
      after = at;
      at = size;
      readHead();
    }
    let value: unknown;
    if (type === map && wanted !== "value") value = readMap(wanted);
    else if (wanted === "value" && type !== map && type !== array) value = readScalar();
    else skipContent();
    if (after >= 0) at = after;
    return value;
  };

  return (place, wanted) => {
    at = place;
    left = maxValues;
    return readValue(wanted);
  };
}
