import type { MibSource } from "../mib-fault.ts";

/** A word of a module. The text of a string is without its quotes, that of `'0F'H` as written. */
export interface Token {
  readonly kind: "name" | "number" | "string" | "bits" | "sign" | "end";
  readonly text: string;
  /** Offset in the source. */
  readonly at: number;
}

/** Names with an underscore, or a digit at the beginning, are faults that vendors make. */
const word =
  /(?<blank>[\s\p{Cc}]+)|(?<comment>--[^\r\n]*)|(?<string>"[^"]*")|(?<bits>'[0-9A-Fa-f\s]*'[HhBb])|(?<number>-?\d+(?![\w-]))|(?<name>\w(?:-?\w)*)|(?<sign>::=|\.\.\.?|[{}()[\],;|.<>:@*-])/uy;

/** The words of a text, the last of kind `end`. A character that SMI does not have is a sign that belongs nowhere. */
export function readTokens(source: MibSource): readonly Token[] {
  const { text } = source;
  const tokens: Token[] = [];
  const pattern = new RegExp(word);
  let at = 0;
  while (at < text.length) {
    pattern.lastIndex = at;
    const groups = pattern.exec(text)?.groups;
    if (groups === undefined) {
      tokens.push({ kind: "sign", text: text[at] ?? "", at: at++ });
      continue;
    }
    const { blank, comment, string, bits, number, name, sign } = groups;
    if (comment !== undefined) at += commentLength(comment);
    else if (blank !== undefined) at += blank.length;
    else {
      const found = string ?? bits ?? number ?? name ?? sign ?? "";
      const kind = string !== undefined ? "string" : bits !== undefined ? "bits" : kindOf(number, name);
      tokens.push({ kind, text: kind === "string" ? found.slice(1, -1) : found, at });
      at += found.length;
    }
  }
  tokens.push({ kind: "end", text: "the end of the file", at: text.length });
  return tokens;
}

/** Whether the language has this sign. */
export function isSign(text: string): boolean {
  return /^(?:::=|\.\.\.?|[{}()[\],;|.<>:@*-])$/.test(text);
}

function kindOf(number: string | undefined, name: string | undefined): Token["kind"] {
  if (number !== undefined) return "number";
  return name === undefined ? "sign" : "name";
}

/**
 * How much of a line is comment. It ends at the next `--` (ITU-T X.680) where something of the language follows; rulers
 * of hyphens and prose with dashes are comments up to the end of the line.
 */
function commentLength(line: string): number {
  const end =
    /^--[^-].*?--(?=\s*(?:[{}(),;|]|::=|[A-Za-z][\w-]*\s*::=|[A-Z][A-Z-]+\b(?![ ]+[a-z])|[a-z]\w*\s*\())/.exec(line);
  return end === null ? line.length : end[0].length;
}
