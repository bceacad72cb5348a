const shownLength = 128;

/** Thrown for a text that is not a key. The message names the text as given, quoted and cut at 128 characters. */
export class KeyError extends Error {
  readonly code = "bad_key";

  /** @param why what is wrong with it; a blank in the text is named instead, because it is easily overlooked. */
  constructor(text: string, why: string) {
    super(`key ${quoteKey(text)} ${blankFault(text) ?? why}`);
    this.name = "KeyError";
  }
}

function blankFault(text: string): string | undefined {
  const [, before = "", blank, after = ""] = /^(.*?)(\s)\s*(.*)$/su.exec(text) ?? [];
  if (blank === undefined) return undefined;
  const name = blankNames[blank] ?? `U+${blank.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  if (before === "") return `begins with a blank (${name}), which no key has`;
  if (after === "") return `ends with a blank (${name}), which no key has`;
  return `has a blank (${name}) after ${quoteKey(before)}, which no key has`;
}

const blankNames: Readonly<Record<string, string>> = {
  " ": "space",
  "\t": "tab",
  "\n": "line feed",
  "\r": "carriage return",
  "\u00a0": "no-break space",
};

/** A text from outside in a form fit for messages: quoted, control characters escaped, cut at 128 characters. */
export function quoteKey(text: string): string {
  const points = Array.from(text.slice(0, 2 * shownLength + 2));
  const shown = points.length > shownLength ? `${points.slice(0, shownLength).join("")}…` : text;
  // JSON leaves these as they are; U+009B alone begins a terminal's control sequence, U+2028 breaks lines.
  return JSON.stringify(shown).replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
