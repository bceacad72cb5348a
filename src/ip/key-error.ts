import { quote } from "../text/index.ts";

/** Thrown for a text that is not a key. The message names the text as given, quoted and cut at 128 characters. */
export class KeyError extends Error {
  readonly code = "bad_key";

  /** @param why what is wrong with it; a blank in the text is named instead, because it is easily overlooked. */
  constructor(text: string, why: string) {
    super(`key ${quote(text)} ${blankFault(text) ?? why}`);
    this.name = "KeyError";
  }
}

function blankFault(text: string): string | undefined {
  const [, before = "", blank, after = ""] = /^(.*?)(\s)\s*(.*)$/su.exec(text) ?? [];
  if (blank === undefined) return undefined;
  const name = blankNames[blank] ?? `U+${blank.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  if (before === "") return `begins with a blank (${name}), which no key has`;
  if (after === "") return `ends with a blank (${name}), which no key has`;
  return `has a blank (${name}) after ${quote(before)}, which no key has`;
}

const blankNames: Readonly<Record<string, string>> = {
  " ": "space",
  "\t": "tab",
  "\n": "line feed",
  "\r": "carriage return",
  "\u00a0": "no-break space",
};
