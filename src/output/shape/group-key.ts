/*
 * A key:    for each field: length of its value in four bytes, the lowest one first (0: it has none) | value
 */

/** Makes one key of the values of several fields of a line, without a text for any of them. */
export interface GroupKey {
  /** Forgets what was set. */
  clear(): void;
  /** Says where the value of a field lies. */
  set(index: number, start: number, end: number): void;
  /** Puts the values together. @returns a hash of them. */
  pack(from: Uint8Array): number;
  /** Whether what was packed is another key. */
  is(key: Uint8Array): boolean;
  /** What was packed. */
  copy(): Uint8Array;
}

const lengthBytes = 4;

export function createGroupKey(fields: number): GroupKey {
  const starts = new Uint32Array(fields);
  const ends = new Uint32Array(fields);
  let packed = new Uint8Array(256);
  let length = 0;

  const reserve = (bytes: number): void => {
    if (packed.length >= bytes) return;
    const larger = new Uint8Array(2 * bytes);
    larger.set(packed);
    packed = larger;
  };

  return {
    clear() {
      ends.fill(0);
    },
    set(index, start, end) {
      starts[index] = start;
      ends[index] = end;
    },
    pack(from) {
      let at = 0;
      let hash = 0;
      for (let field = 0; field < fields; field++) {
        const end = ends[field] as number;
        const start = end === 0 ? 0 : (starts[field] as number);
        const bytes = end - start;
        reserve(at + lengthBytes + bytes);
        const to = packed;
        for (let shift = 0; shift < 32; shift += 8) to[at++] = bytes >>> shift;
        hash = Math.imul(hash ^ bytes, 0x01000193);
        for (let i = start; i < end; i++) {
          const byte = from[i] as number;
          to[at++] = byte;
          hash = Math.imul(hash ^ byte, 0x01000193);
        }
      }
      length = at;
      return hash ^ (hash >>> 15);
    },
    is(key) {
      if (key.length !== length) return false;
      for (let i = 0; i < length; i++) if (key[i] !== packed[i]) return false;
      return true;
    },
    copy: () => packed.slice(0, length),
  };
}

/** The values of a key, in the order of the fields; empty: the record had none. */
export function valuesOf(key: Uint8Array): string[] {
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.length);
  const values: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const value = at + lengthBytes;
    const end = value + bytes.readUInt32LE(at);
    values.push(bytes.toString("latin1", value, end));
    at = end;
  }
  return values;
}
