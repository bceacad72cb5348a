/** Where a text begins within some bytes, the case of ASCII letters not counting; -1 when it is not there. */
export type FindBytes = (bytes: Uint8Array, start: number, end: number) => number;

/** @param text of ASCII characters, at least one. */
export function createFindBytes(text: string): FindBytes {
  const lower = Buffer.from(text.toLowerCase(), "latin1");
  const upper = Buffer.from(text.toUpperCase(), "latin1");
  const last = lower.length - 1;
  // How far the place can move on by the byte at its end (Horspool); 0 where it is the last one of the text.
  const shifts = new Uint8Array(256).fill(Math.min(lower.length, 255));
  for (let i = Math.max(0, lower.length - 255); i < last; i++) {
    shifts[lower[i] as number] = last - i;
    shifts[upper[i] as number] = last - i;
  }
  const afterLast = Math.min(shifts[lower[last] as number] as number, shifts[upper[last] as number] as number);
  shifts[lower[last] as number] = 0;
  shifts[upper[last] as number] = 0;
  return (bytes, start, end) => {
    for (let at = start + last; at < end;) {
      const shift = shifts[bytes[at] as number] as number;
      if (shift > 0) {
        at += shift;
        continue;
      }
      let i = last - 1;
      for (let from = at - 1; i >= 0; i--, from--) {
        const byte = bytes[from];
        if (byte !== lower[i] && byte !== upper[i]) break;
      }
      if (i < 0) return at - last;
      at += afterLast;
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
