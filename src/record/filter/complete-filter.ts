import { FilterError } from "./filter.ts";
import { readTokens, type Token } from "./syntax/read-tokens.ts";
import { keywords, operatorOf } from "./syntax/parse-expression.ts";
import type { KnownField, ValueType } from "./vocabulary.ts";

/** A place in a filter: what it may contain, and the text there that a completion replaces. */
export interface FilterPlace {
  readonly expects: "field" | "operator" | "value" | "joiner";
  /** The part that is written already, without quotes. */
  readonly written: string;
  /** The offsets of the text that is replaced. */
  readonly from: number;
  readonly to: number;
  /** The name of the field, if an operator or a value is expected. */
  readonly field?: string;
}

/** Finds what is expected at an offset of a possibly incomplete filter. Undefined in a comment, and after text that no filter can begin with. */
export function filterPlace(text: string, cursor: number): FilterPlace | undefined {
  const before = text.slice(0, cursor);
  const open = openQuote(before);
  let tokens: readonly Token[];
  try {
    tokens = readTokens(open === undefined ? before : before.slice(0, open), "filter").slice(0, -1);
  } catch (error) {
    if (error instanceof FilterError) return undefined;
    throw error;
  }
  const last = tokens.at(-1);
  const isUnderWay =
    open === undefined && last !== undefined && last.at + last.length === cursor && /^(?:word|name)$/.test(last.kind);
  // An operator such as && is a complete word.
  const isWord = isUnderWay && /[^!&|]/.test(text.slice(last.at, cursor));
  const place = expectedBehind(isWord ? tokens.slice(0, -1) : tokens);
  if (
    place === undefined ||
    /#[^\n]*$/.test(open === undefined ? before.slice(last === undefined ? 0 : last.at + last.length) : "")
  )
    return undefined;
  if (open !== undefined) {
    const quote = text.charAt(open);
    const end = text.indexOf(quote, cursor);
    const isClosed = end >= 0 && !/["'`=<>()]/.test(text.slice(cursor, end));
    return { ...place, written: before.slice(open + 1), from: open, to: isClosed ? end + 1 : cursor };
  }
  const rest = isWord ? (/^[^\s"'`()[\]{},=!<>~#&|]*/.exec(text.slice(cursor))?.[0].length ?? 0) : 0;
  return { ...place, written: isWord ? last.text : "", from: isWord ? last.at : cursor, to: cursor + rest };
}

/** Returns the offset of an unclosed quote. */
function openQuote(text: string): number | undefined {
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === "#") {
      const end = text.indexOf("\n", at);
      if (end < 0) return undefined;
      at = end;
    } else if (/["'`]/.test(character)) {
      let end = at + 1;
      while (end < text.length && text[end] !== character) end += character === '"' && text[end] === "\\" ? 2 : 1;
      if (end >= text.length) return at;
      at = end;
    }
  }
  return undefined;
}

type Expected = Pick<FilterPlace, "expects" | "field">;

/** Returns what is expected after tokens; undefined if no filter begins with them. */
function expectedBehind(tokens: readonly Token[]): Expected | undefined {
  let expects: FilterPlace["expects"] | "more" = "field";
  let field = "";
  let isList = false;
  for (const token of tokens) {
    const word = token.kind === "word" ? token.text.toLowerCase() : "";
    if (expects === "field") {
      if (token.kind === "open" || word === "not") continue;
      if ((token.kind !== "word" || keywords.has(word)) && token.kind !== "name") return undefined;
      field = token.text;
      expects = "operator";
    } else if (expects === "operator") {
      if (word === "not") continue;
      const operator = operatorOf(token);
      if (operator === undefined) return undefined;
      expects = operator === "exists" ? "joiner" : "value";
      isList = false;
    } else if (expects === "value") {
      if (token.kind === "open" && !isList) isList = true;
      else if (token.kind === "close" && isList) expects = "joiner";
      else if (token.kind === "word" || token.kind === "text") expects = isList ? "more" : "joiner";
      else return undefined;
    } else if (expects === "more") {
      if (token.kind === "comma") expects = "value";
      else if (token.kind === "close") expects = "joiner";
      else return undefined;
    } else if (word === "and" || word === "or") expects = "field";
    else if (token.kind !== "close") return undefined;
  }
  if (expects === "more") return { expects: "joiner", field };
  return expects === "operator" || expects === "value" ? { expects, field } : { expects };
}

const comparisons = ["<", "<=", ">", ">="] as const;
const always = ["=", "!="] as const;
const sets = ["in", "not in"] as const;
const patterns = ["~", "!~"] as const;

const operatorsOf: Readonly<Record<ValueType, readonly string[]>> = {
  address: ["=", "in", "!=", "not in"],
  number: [...always, ...comparisons, ...sets],
  protocol: [...always, ...sets],
  time: [...comparisons, ...always],
  text: [...always, ...patterns, ...sets],
  boolean: always,
  any: [...always, ...comparisons, ...sets, ...patterns],
};

/** Returns the operators that a field may have, the usual ones first. */
export const operatorsFor = ({ type }: KnownField): readonly string[] => [...operatorsOf[type], "exists", "not exists"];

/** Returns a value as text of a filter: in quotes if it is not a word. */
export function valueInFilter(value: string): string {
  return /^[^\s"'`()[\]{},=!<>~#&|]+$/.test(value) && !keywords.has(value.toLowerCase())
    ? value
    : JSON.stringify(value);
}
