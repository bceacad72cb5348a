import { FilterError } from "../filter.ts";

export type TokenKind = "word" | "text" | "name" | "operator" | "open" | "close" | "comma" | "end";

/** A part of a filter. `text` is its normal form: texts without quotes, operators in one spelling. */
export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  /** The offset of the token in the filter, and its length there. */
  readonly at: number;
  readonly length: number;
}

const blank = /\s/;
const wordCharacter = /[^\s"'`()[\]{},=!<>~#&|]/;
const operators = ["==", "=~", "!=", "!~", "<=", ">=", "&&", "||", "=", "<", ">", "~", "!"];
/** The normal form of operators with several spellings. */
const oneForm: Readonly<Record<string, string>> = { "==": "=", "&&": "and", "||": "or", "!": "not" };
const brackets: Readonly<Record<string, TokenKind>> = {
  "(": "open",
  "[": "open",
  "{": "open",
  ")": "close",
  "]": "close",
  "}": "close",
  ",": "comma",
};

/**
 * Cuts a filter into tokens. Words have no quotes. Texts are in quotes, with JSON's escapes in double quotes. Names are in backquotes. `#`
 * begins a comment up to the end of its line.
 *
 * @param source the name of the text in errors.
 * @throws FilterError for an unclosed quote, and for characters that begin no token.
 */
export function readTokens(text: string, source: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const add = (kind: TokenKind, meant: string, length: number): void => {
    tokens.push({ kind, text: meant, at, length });
    at += length;
  };
  while (at < text.length) {
    const character = text.charAt(at);
    const bracket = brackets[character];
    const operator = operators.find((each) => text.startsWith(each, at));
    if (blank.test(character)) at++;
    else if (character === "#") at = text.indexOf("\n", at) < 0 ? text.length : text.indexOf("\n", at);
    else if (bracket !== undefined) add(bracket, character, 1);
    else if (character === '"' || character === "'" || character === "`") {
      const end = quoteEnd(text, at, source);
      const quoted = text.slice(at, end);
      add(character === "`" ? "name" : "text", unquote(quoted, text, at, source), end - at);
    } else if (operator !== undefined) {
      const form = oneForm[operator] ?? operator;
      add(/^[a-z]/.test(form) ? "word" : "operator", form, operator.length);
    } else if (wordCharacter.test(character)) {
      let end = at + 1;
      while (end < text.length && wordCharacter.test(text.charAt(end))) end++;
      add("word", text.slice(at, end), end - at);
    } else
      throw new FilterError(source, text, at, 1, `${character} means nothing here: use "and" and "or" between terms`);
  }
  tokens.push({ kind: "end", text: "", at, length: 0 });
  return tokens;
}

/** Returns the offset behind the closing quote. */
function quoteEnd(text: string, at: number, source: string): number {
  const quote = text.charAt(at);
  for (let i = at + 1; i < text.length; i++) {
    if (text[i] === quote) return i + 1;
    if (text[i] === "\\" && quote === '"') i++;
  }
  throw new FilterError(source, text, at, 1, `the quote ${quote} is not closed`);
}

function unquote(quoted: string, text: string, at: number, source: string): string {
  if (!quoted.startsWith('"')) return quoted.slice(1, -1);
  try {
    // A text may contain unescaped line breaks and tabs.
    return JSON.parse(quoted.replaceAll("\n", "\\n").replaceAll("\r", "\\r").replaceAll("\t", "\\t")) as string;
  } catch {
    const fault = String.raw`a backslash in a text in double quotes begins one of \" \\ \/ \n \r \t \b \f \uXXXX: use \\ for a backslash, or single quotes`;
    throw new FilterError(source, text, at, quoted.length, fault);
  }
}
