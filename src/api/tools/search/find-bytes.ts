/** Where a text begins within some bytes, the case of ASCII letters not counting; -1 when it is not there. */
export type FindBytes = (bytes: Uint8Array, start: number, end: number) => number;

/** @param text of ASCII characters, at least one. */
export function createFindBytes(text: string): FindBytes {
  const lower = Buffer.from(text.toLowerCase(), "latin1");
  const upper = Buffer.from(text.toUpperCase(), "latin1");
  const last = lower.length - 1;
  // How far the place can move on by the byte at its end (Horspool).
  const shifts = new Int32Array(256).fill(lower.length);
  for (let i = 0; i < last; i++) {
    shifts[lower[i] as number] = last - i;
    shifts[upper[i] as number] = last - i;
  }
  return (bytes, start, end) => {
    for (let at = start; at + last < end;) {
      let i = last;
      while (i >= 0 && (bytes[at + i] === lower[i] || bytes[at + i] === upper[i])) i--;
      if (i < 0) return at;
      at += shifts[bytes[at + last] as number] as number;
    }
    return -1;
  };
}

/** A search for the longest part of a text that has ASCII characters only, as JSON has it; undefined when there is none. */
export function findInJson(text: string): FindBytes | undefined {
  const escaped = JSON.stringify(text).slice(1, -1);
  const parts = escaped.split(/[^\x20-\x7e]+/).toSorted((a, b) => b.length - a.length);
  const [longest = ""] = parts;
  return longest === "" ? undefined : createFindBytes(longest);
}
