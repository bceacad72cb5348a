import type { Key } from "../../base/ip/index.ts";

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

export type FilterTerm = ExistsTerm | CompareTerm | QuantitiesTerm | AddressesTerm | TextsTerm | PatternTerm | FlagTerm;

interface OfFields {
  /** Names of fields as records have them; one, or both ends of a flow. */
  readonly fields: readonly string[];
}

export interface ExistsTerm extends OfFields {
  readonly kind: "exists";
}

export interface CompareTerm extends OfFields {
  readonly kind: "compare";
  readonly of: "number" | "time";
  readonly operator: "<" | "<=" | ">" | ">=";
  readonly value: Quantity;
}

/** Numbers or times within one of these ranges. */
export interface QuantitiesTerm extends OfFields {
  readonly kind: "quantities";
  readonly of: "number" | "time";
  readonly ranges: readonly QuantityRange[];
}

/** Addresses, prefixes and ranges of them that lie within one of these. IPv4-mapped addresses count as IPv4. */
export interface AddressesTerm extends OfFields {
  readonly kind: "addresses";
  readonly keys: readonly Key[];
}

/** One of these texts; a number or boolean is compared as it is written. */
export interface TextsTerm extends OfFields {
  readonly kind: "texts";
  readonly values: readonly string[];
}

/** A text that has the pattern somewhere in it, case not counting: `*` is any text, `?` any character, `^` and `$` are its ends, `\` quotes. */
export interface PatternTerm extends OfFields {
  readonly kind: "pattern";
  readonly pattern: string;
}

export interface FlagTerm extends OfFields {
  readonly kind: "flag";
  readonly value: boolean;
}
