import type { Key } from "../../base/ip/index.ts";

/**
 * Thrown for a text that is not a valid filter. The message names the source, line and column, explains the fault and its remedy, and
 * shows the line with a caret below the fault.
 */
export class FilterError extends Error {
  readonly code = "bad_filter";
  /** The position of the fault in the text: columns and lines count from 1, columns in UTF-16 units. */
  readonly location: { readonly line: number; readonly column: number };
  /** The message of the fault, without the location and the line. */
  readonly fault: string;

  /** @param at, length the place of the fault in the text, in UTF-16 units. */
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

/** Returns the part of a line around a fault, with a caret below it. Control characters become blanks, so that the caret is aligned. */
function excerpt(line: string, at: number, length: number): string {
  const from = Math.max(0, at - shownBefore);
  const to = Math.min(line.length, at + length + shownBehind);
  const start = from > 0 ? "…" : "";
  const end = to < line.length ? "…" : "";
  const part = line.slice(from, to).replace(/[\p{Cc}\u2028\u2029]/gu, " ");
  const carets = "^".repeat(Math.max(1, Math.min(length, line.length - at)));
  return `  ${start}${part}${end}\n  ${" ".repeat(start.length + at - from)}${carets}`;
}

/** A number or a time; times are in nanoseconds since the epoch. */
export type Quantity = number | bigint;

/** A range that includes both ends. */
export interface QuantityRange {
  readonly first: Quantity;
  readonly last: Quantity;
}

/**
 * A filter whose names and values were checked. It is plain data, which can be evaluated or translated into another language. A record
 * without a field matches no term on it, except under `not`. A term with several fields matches if one of them does; the same
 * holds for the values of an array.
 */
export type Filter =
  | { readonly kind: "and" | "or"; readonly filters: readonly Filter[] }
  | { readonly kind: "not"; readonly filter: Filter }
  | FilterTerm;

/** A condition on fields, by their names in records: on one field, or on that field of both ends of a flow. */
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
  /** One of these texts; a number or boolean is compared in its written form. */
  | { readonly kind: "texts"; readonly values: readonly string[] }
  /** A text that contains the pattern, ignoring case: `*` is any text, `?` any character, `^` and `$` are the text's ends, `\` escapes. */
  | { readonly kind: "pattern"; readonly pattern: string }
  /** A text that contains a match of a regular expression in the syntax of RE2. Matching takes time in proportion to the text. */
  | { readonly kind: "regex"; readonly expression: string }
  | { readonly kind: "flag"; readonly value: boolean }
);

/** A term of one kind. */
export type TermOf<Kind extends FilterTerm["kind"]> = Extract<FilterTerm, { readonly kind: Kind }>;
