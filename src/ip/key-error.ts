import { quote } from "../text/index.ts";

/** Thrown for a text that is not a key. The message names the text as given, quoted and cut at 128 characters. */
export class KeyError extends Error {
  readonly code = "bad_key";

  /** @param why what is wrong with it; a blank or an invisible character in the text is named instead, because it is easily overlooked. */
  constructor(text: string, why: string) {
    super(`key ${quote(text)} ${unseenFault(text) ?? why}`);
    this.name = "KeyError";
  }
}

function unseenFault(text: string): string | undefined {
  const [, before = "", unseen, after = ""] = /^(.*?)([\s\p{Cf}])[\s\p{Cf}]*(.*)$/su.exec(text) ?? [];
  if (unseen === undefined) return undefined;
  const kind = /\s/u.test(unseen) ? "a blank" : "an invisible character";
  const number = (unseen.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  const what = `${kind} (${blankNames[unseen] ?? `U+${number}`})`;
  if (before === "") return `begins with ${what}, which no key has`;
  if (after === "") return `ends with ${what}, which no key has`;
  return `has ${what} after ${quote(before)}, which no key has`;
}

const blankNames: Readonly<Record<string, string>> = {
  " ": "space",
  "\t": "tab",
  "\n": "line feed",
  "\r": "carriage return",
  "\u00a0": "no-break space",
};
