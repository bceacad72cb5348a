/** Short texts, and what takes their place, by their bytes. A text is forgotten when others come to its slot. */
export interface RecentTexts {
  /**
   * Writes what takes the place of a text.
   *
   * @param from ASCII.
   * @returns where it ends; -1: the text stays.
   */
  replace(from: Uint8Array, start: number, end: number, to: Uint8Array, at: number): number;
}

/** The longest text, and the longest that takes its place, bytes. */
export const longestText = 45;

/*
 * A slot:   length, length of what takes its place (0: the text stays) | text | what takes its place
 */
const textAt = 2;
const otherAt = textAt + longestText;
const slotBytes = otherAt + longestText;

/**
 * @param slots a power of two. Each takes 92 bytes once it is used.
 * @param find what takes the place of a text that is not remembered; undefined: it stays. Neither may be empty.
 */
export function createRecentTexts(slots: number, find: (text: string) => string | undefined): RecentTexts {
  // Not filled: the system gives zeros, and memory that is not used takes none.
  const table = Buffer.from(new ArrayBuffer(slots * slotBytes));

  const holds = (slot: number, from: Uint8Array, start: number, length: number): boolean => {
    if (table[slot] !== length) return false;
    const by = slot + textAt - start;
    for (let i = start; i < start + length; i++) if (table[i + by] !== from[i]) return false;
    return true;
  };

  const put = (slot: number, text: string, other: string | undefined): void => {
    table[slot] = text.length;
    table[slot + 1] = other?.length ?? 0;
    table.write(text, slot + textAt, "latin1");
    if (other !== undefined) table.write(other, slot + otherAt, "latin1");
  };

  return {
    replace(from, start, end, to, at) {
      let hash = 0;
      for (let i = start; i < end; i++) hash = Math.imul(hash ^ (from[i] as number), 0x01000193);
      hash ^= hash >>> 15;
      // A text lies in one of two slots next to each other.
      let slot = (hash & (slots - 1)) * slotBytes;
      const length = end - start;
      if (!holds(slot, from, start, length)) {
        const second = ((hash & (slots - 1)) ^ 1) * slotBytes;
        if (holds(second, from, start, length)) slot = second;
        else {
          const text = Buffer.from(from.buffer, from.byteOffset + start, length).toString("latin1");
          const other = find(text);
          if (other !== undefined && other.length > longestText) throw new Error(`${other} is too long to be kept`);
          if (table[slot] !== 0 && (table[second] === 0 || (hash & 0x4000_0000) !== 0)) slot = second;
          put(slot, text, other);
        }
      }
      const otherLength = table[slot + 1] as number;
      if (otherLength === 0) return -1;
      const by = slot + otherAt - at;
      for (let i = at; i < at + otherLength; i++) to[i] = table[i + by] as number;
      return at + otherLength;
    },
  };
}
