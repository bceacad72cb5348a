import { inspect } from "node:util";

/** Returns the 32-bit FNV-1a hash of the UTF-16 units of a text. It distributes texts well, but is no protection against chosen texts. */
export function hashText(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}

const maxEdits = 2;

/**
 * Returns the nearest name within two edits of the text, and the first of equals. An edit adds, removes or changes a character, or swaps two neighbours;
 * case does not count.
 */
export function nearName(text: string, names: Iterable<string>): string | undefined {
  let best: string | undefined;
  // Any other word is within two edits of a short one.
  let bestEdits = Math.min(maxEdits, Math.floor(text.length / 2)) + 1;
  const wanted = text.toLowerCase();
  for (const name of names) {
    if (Math.abs(name.length - text.length) >= bestEdits) continue;
    const edits = countEdits(wanted, name.toLowerCase(), bestEdits);
    if (edits < bestEdits) [best, bestEdits] = [name, edits];
  }
  return best;
}

/**
 * Counts the edits between two texts, with a swap of neighbours as one edit (optimal string alignment). It computes one row at a time, and returns
 * `limit` as soon as the result cannot be smaller.
 */
function countEdits(a: string, b: string, limit: number): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let edits = Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        edits = Math.min(edits, (before[j - 2] as number) + 1);
      }
      next.push(edits);
    }
    // A swap can reach over one row, but not over two.
    if (Math.min(...next) >= limit && Math.min(...row) >= limit) return limit;
    before = row;
    row = next;
  }
  return row[b.length] as number;
}

/** A value that never appears in logs, JSON or messages. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get isSet(): boolean {
    return this.#text !== "";
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return "(secret)";
  }

  toJSON(): string {
    return "(secret)";
  }

  [inspect.custom](): string {
    return "(secret)";
  }
}

const shownLength = 128;

/** Returns an external text for use in messages: quoted, with control and invisible characters escaped, cut at 128 characters. */
export function quote(text: string): string {
  const points = Array.from(text.slice(0, 2 * shownLength + 2));
  const shown = points.length > shownLength ? `${points.slice(0, shownLength).join("")}…` : text;
  // JSON does not escape these. U+009B alone begins a terminal control sequence, U+2028 breaks lines, and U+202E reverses them.
  return JSON.stringify(shown).replace(
    /[\u007f-\u009f\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
