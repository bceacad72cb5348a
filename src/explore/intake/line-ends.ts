/** Finds where the lines of a piece end. */
export interface LineEnds {
  /**
   * @param lines whole lines, each with its line feed. @param count how many there are.
   * @returns the places of their line feeds, the first `length` of them; valid up to the next call.
   */
  find(lines: Buffer, count: number): { readonly ends: Int32Array; readonly length: number };
}

const lineFeed = 0x0a;
/** So many bytes are looked at one by one; a call that searches more costs as much as these. */
const nearBytes = 96;
/** How fast the length that is passed over grows, when all lines are longer. */
const growth = 1 / 8;

/**
 * Lines of one template have nearly the same length. So as many bytes are passed over as the shortest line of late had, and the search begins
 * there. A line that is shorter still is missed, and counted as one with the line behind it. Then fewer are found than there are, and all
 * bytes are searched: what is returned is always exact.
 */
export function createLineEnds(): LineEnds {
  let ends = new Int32Array(1024);
  /** The shortest line of late, without its line feed. */
  let shortest = 0;

  /** Finds line feeds that are at least `passed` bytes behind the one before. @returns how many. */
  const search = (lines: Buffer, passed: number): number => {
    const { length } = lines;
    let found = 0;
    let least = length;
    for (let from = 0; from < length;) {
      const end = endBehind(lines, from + passed, length);
      if (end - from < least) least = end - from;
      if (found === ends.length) ends = doubled(ends);
      ends[found++] = end;
      from = end + 1;
    }
    shortest = least < shortest ? least : shortest + Math.floor((least - shortest) * growth);
    return found;
  };

  return {
    find(lines, count) {
      let length = search(lines, shortest);
      // The line feed of a short line at the end has been passed over when its end is that of the piece.
      if (length !== count || ends[length - 1] === lines.length) length = search(lines, 0);
      return { ends, length };
    },
  };
}

/** The place of the first line feed from `from` on; `length` where there is none. */
function endBehind(lines: Buffer, from: number, length: number): number {
  const near = Math.min(length, from + nearBytes);
  for (let at = from; at < near; at++) if (lines[at] === lineFeed) return at;
  if (near >= length) return length;
  const end = lines.indexOf(lineFeed, near);
  return end < 0 ? length : end;
}

function doubled(array: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * array.length);
  larger.set(array);
  return larger;
}
