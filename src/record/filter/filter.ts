import type { Key } from "../../base/ip/index.ts";

/**
 * Thrown for a text that is no filter. The message names the source, line and column, says what is wrong and what would be right, and
 * shows the line with a caret below the fault.
 */
export class FilterError extends Error {
  readonly code = "bad_filter";
  /** The position of the fault in the text: columns and lines count from 1, columns in UTF-16 units. */
  readonly location: { readonly line: number; readonly column: number };
  /** The text of the fault, without the location and the line. */
  readonly fault: string;

  /** @param at, length of the fault in the text, in UTF-16 units. */
  constructor(source: string, text: string, at: number, length: number, fault: string) {
    const lineStart = text.lastIndexOf("\n", at - 1) + 1;
    const lineEnd = text.indexOf("\n", lineStart) < 0 ? text.length : text.indexOf("\n", lineStart);
    const location = { line: text.slice(0, lineStart).split("\n").length, column: at - lineStart + 1 };
    const shown = excerpt(text.slice(lineStart, lineEnd), at - lineStart, Math.max(1, length));
    super(`${source}:${location.line}:${location.column}: ${fault}\n${shown}`);
    this.name = "FilterError";
    this.location = location;
    this.fault = fault;
  }
}

const shownBefore = 60;
const shownBehind = 60;

/** The part of a line around a fault, and a caret below it. Control characters stand as blanks, so that the caret fits. */
function excerpt(line: string, at: number, length: number): string {
  const from = Math.max(0, at - shownBefore);
  const to = Math.min(line.length, at + length + shownBehind);
  const start = from > 0 ? "…" : "";
  const end = to < line.length ? "…" : "";
  const part = line.slice(from, to).replace(/[\p{Cc}\u2028\u2029]/gu, " ");
  const carets = "^".repeat(Math.max(1, Math.min(length, line.length - at)));
  return `  ${start}${part}${end}\n  ${" ".repeat(start.length + at - from)}${carets}`;
}

/** Times are nanoseconds since the epoch. */
export type Quantity = number | bigint;

/** Both ends belong to it. */
export interface QuantityRange {
  readonly first: Quantity;
  readonly last: Quantity;
}

/**
 * A filter whose names and values were checked: plain data, to be evaluated, or written in another language. A record without
 * a field has no value of it, so no term but a `not` matches it. A term with several fields matches when one of them does; the same holds
 * for the values of an array.
 */
export type Filter =
  | { readonly kind: "and" | "or"; readonly filters: readonly Filter[] }
  | { readonly kind: "not"; readonly filter: Filter }
  | FilterTerm;

/** A condition on fields: names as records have them, one, or both ends of a flow. */
export type FilterTerm = { readonly fields: readonly string[] } & (
  | { readonly kind: "exists" }
  | {
      readonly kind: "compare";
      readonly of: "number" | "time";
      readonly operator: "<" | "<=" | ">" | ">=";
      readonly value: Quantity;
    }
  /** Numbers or times within one of these ranges. */
  | { readonly kind: "quantities"; readonly of: "number" | "time"; readonly ranges: readonly QuantityRange[] }
  /** Addresses, prefixes and ranges of them that lie within one of these. IPv4-mapped addresses count as IPv4. */
  | { readonly kind: "addresses"; readonly keys: readonly Key[] }
  /** One of these texts; a number or boolean is compared as it is written. */
  | { readonly kind: "texts"; readonly values: readonly string[] }
  /** A text that has the pattern somewhere in it, case not counting: `*` is any text, `?` any character, `^` and `$` are its ends, `\` quotes. */
  | { readonly kind: "pattern"; readonly pattern: string }
  /** A text that has somewhere what a regular expression in the syntax of RE2 says, which takes time in proportion to the text. */
  | { readonly kind: "regex"; readonly expression: string }
  | { readonly kind: "flag"; readonly value: boolean }
);

/** A term of one kind. */
export type TermOf<Kind extends FilterTerm["kind"]> = Extract<FilterTerm, { readonly kind: Kind }>;
