import { inspect } from "node:util";

/** FNV-1a, 32 bits, over the UTF-16 units of a text. Spreads texts, and keeps out nobody who chooses them. */
export function hashText(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}

const maxEdits = 2;

/**
 * The nearest of the names that is at most two edits (a character more, less or other, or two that changed places; case does
 * not count) away from the text; the first of equals.
 */
export function nearName(text: string, names: Iterable<string>): string | undefined {
  let best: string | undefined;
  // A short word is two edits away from any other.
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
 * The least number of edits that make one text of the other, two neighbours changing places being one (optimal string
 * alignment), one row at a time; `limit` as soon as it cannot be less.
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
    // A change of places can reach over one row, but not over two.
    if (Math.min(...next) >= limit && Math.min(...row) >= limit) return limit;
    before = row;
    row = next;
  }
  return row[b.length] as number;
}

/** A value that never prints: not in logs, not in JSON, not in messages. */
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

/** A text from outside in a form fit for messages: quoted, control characters and invisible ones escaped, cut at 128 characters. */
export function quote(text: string): string {
  const points = Array.from(text.slice(0, 2 * shownLength + 2));
  const shown = points.length > shownLength ? `${points.slice(0, shownLength).join("")}…` : text;
  // JSON leaves these as they are; U+009B alone begins a terminal's control sequence, U+2028 breaks lines, U+202E turns them round.
  return JSON.stringify(shown).replace(
    /[\u007f-\u009f\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
