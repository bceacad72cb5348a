import { KeyError, parseAddress, parseKey, unmapAddress, type Family, type Key } from "../../../base/ip/index.ts";
import type { FieldValues, Scalar, Value } from "../../record-fields.ts";
import { LineValues } from "../../line-values.ts";
import type { Filter, FilterTerm, Quantity, TermOf } from "../filter.ts";
import { Regex } from "../syntax/regex.ts";
import { readInstant } from "../check/read-quantity.ts";

/** A set of the addresses in some keys. IPv4-mapped IPv6 addresses count as IPv4. */
export class AddressSet {
  /** Ascending ranges that do not touch one another. */
  readonly ranges: Readonly<Record<Family, ReturnType<typeof mergeRanges>>>;
  readonly #firsts: Float64Array;
  readonly #lasts: Float64Array;
  readonly #read: (text: string) => Range | undefined;

  /** @param readKey reads a text that is tested, if it may be a key of another form. */
  constructor(keys: readonly Key[], readKey?: (text: string) => Key) {
    this.#read = readKey === undefined ? rangeOf : (text) => readOr(readKey, text);
    this.ranges = { 4: mergeRanges(keys, 4), 6: mergeRanges(keys, 6) };
    this.#firsts = Float64Array.from(this.ranges[4].first, Number);
    this.#lasts = Float64Array.from(this.ranges[4].last, Number);
  }

  /** Reports whether a text is an address in the set, or a prefix or range that lies in it completely. */
  hasText(text: string): boolean {
    const ipv4 = ipv4Number(text);
    if (ipv4 >= 0) {
      const i = lastNotAbove(this.#firsts, ipv4);
      return i >= 0 && ipv4 <= (this.#lasts[i] as number);
    }
    const range = this.#read(text);
    if (range === undefined) return false;
    const { first, last } = this.ranges[range.family];
    const i = lastNotAbove(first, range.first);
    return i >= 0 && range.last <= (last[i] as bigint);
  }
}

type Range = Pick<Key, "family" | "first" | "last">;

function rangeOf(text: string): Range | undefined {
  if (!/[/-]/.test(text)) {
    const parsed = parseAddress(text);
    if (parsed === undefined) return undefined;
    const { family, value } = unmapAddress(parsed);
    return { family, first: value, last: value };
  }
  return readOr(parseKey, text);
}

/** Reads a key. @returns undefined if the text is not a key. */
function readOr(readKey: (text: string) => Key, text: string): Range | undefined {
  try {
    return readKey(text);
  } catch (error) {
    if (error instanceof KeyError) return undefined;
    throw error;
  }
}

function mergeRanges(
  keys: readonly Range[],
  family: Family,
): { readonly first: readonly bigint[]; readonly last: readonly bigint[] } {
  const first: bigint[] = [];
  const last: bigint[] = [];
  const own = keys.filter((key) => key.family === family);
  for (const range of own.toSorted((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0))) {
    const before = last.at(-1);
    if (before === undefined || range.first > before + 1n) {
      first.push(range.first);
      last.push(range.last);
    } else if (range.last > before) last[last.length - 1] = range.last;
  }
  return { first, last };
}

/** Returns the position of the last value that is not above the given one; -1 if all are above it. */
function lastNotAbove<T extends number | bigint>(ascending: ArrayLike<T>, value: T): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] as T) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Returns a canonical IPv4 address as a number; -1 for any other text. It runs for each record, so it uses no bigint. */
function ipv4Number(text: string): number {
  let value = 0;
  let part = -1;
  let dots = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x30 && code <= 0x39) {
      part = (part < 0 ? 0 : part * 10) + code - 0x30;
      if (part > 255) return -1;
    } else if (code === 0x2e && part >= 0 && dots < 3) {
      value = value * 256 + part;
      part = -1;
      dots++;
    } else return -1;
  }
  return dots === 3 && part >= 0 ? value * 256 + part : -1;
}

/** One part of a pattern: a given character, any character, or any text. */
type Part = string | typeof anyCharacter | typeof anyText;
const anyCharacter = 1;
const anyText = 2;

/**
 * Compiles a pattern into a function that searches it in a text, ignoring case. `*` is any text, `?` any character. `^` in front and `$` at
 * the end are the ends of the text. `\` escapes the next character. A match takes at most as many steps as the lengths of text and pattern
 * multiplied: after a mismatch only the last `*` is tried again.
 */
function compilePattern(pattern: string): (text: string) => boolean {
  const { parts, isPlain } = readPattern(pattern);
  if (isPlain) {
    const wanted = parts.slice(1, -1).join("");
    return (text) => foldCase(text).includes(wanted);
  }
  return (text) => matchesParts(Array.from(foldCase(text)), parts);
}

function foldCase(text: string): string {
  return text.toLowerCase();
}

function readPattern(pattern: string): { readonly parts: readonly Part[]; readonly isPlain: boolean } {
  const characters = Array.from(pattern);
  const isFromStart = characters[0] === "^";
  const parts: Part[] = isFromStart ? [] : [anyText];
  let isToEnd = false;
  for (let i = isFromStart ? 1 : 0; i < characters.length; i++) {
    const character = characters[i] as string;
    if (character === "*") parts.push(anyText);
    else if (character === "?") parts.push(anyCharacter);
    else if (character === "$" && i === characters.length - 1) isToEnd = true;
    // One character may become two in lower case.
    else
      parts.push(
        ...foldCase(character === "\\" && i + 1 < characters.length ? (characters[++i] as string) : character),
      );
  }
  if (!isToEnd) parts.push(anyText);
  const isPlain = !isFromStart && !isToEnd && parts.slice(1, -1).every((part) => typeof part === "string");
  return { parts, isPlain };
}

/** Reports whether the parts match the whole text. */
function matchesParts(text: readonly string[], parts: readonly Part[]): boolean {
  let at = 0;
  let part = 0;
  /** The part to continue with after a mismatch: the one behind the last `*`, which then takes one more character. */
  let retryPart = -1;
  let retryAt = 0;
  while (at < text.length) {
    const wanted = parts[part];
    if (wanted === anyText) {
      retryPart = ++part;
      retryAt = at;
    } else if (wanted === anyCharacter || (wanted !== undefined && wanted === text[at])) {
      at++;
      part++;
    } else if (retryPart >= 0) {
      part = retryPart;
      at = ++retryAt;
    } else return false;
  }
  while (parts[part] === anyText) part++;
  return part === parts.length;
}

/** Reports whether an object with fields matches a filter. Never throws. */
export type Matches = (of: FieldValues) => boolean;

/**
 * Compiles a filter into a function that can be called for many objects.
 *
 * @param readKey reads values of address fields that are keys of another form; throws a KeyError for a text that is not a key.
 */
export function compileFilter(filter: Filter, readKey?: (text: string) => Key): Matches {
  if ("fields" in filter) return anyField(filter.fields, compileTerm(filter, readKey));
  if (filter.kind === "not") {
    const inner = compileFilter(filter.filter, readKey);
    return (of) => !inner(of);
  }
  const terms = filter.kind === "or" ? joinAlternatives(filter.filters) : filter.filters;
  const filters = terms.map((term) => compileFilter(term, readKey));
  if (filter.kind === "and") {
    return (of) => {
      for (let i = 0; i < filters.length; i++) if (!(filters[i] as Matches)(of)) return false;
      return true;
    };
  }
  return (of) => {
    for (let i = 0; i < filters.length; i++) if ((filters[i] as Matches)(of)) return true;
    return false;
  };
}

/** Joins alternatives over the same fields and the same kind of value into one term, so that each field is searched only once. */
function joinAlternatives(filters: readonly Filter[]): readonly Filter[] {
  const groups = new Map<unknown, [Filter, ...Filter[]]>();
  for (const filter of filters) {
    const isSet = filter.kind === "quantities" || filter.kind === "addresses" || filter.kind === "texts";
    const key = isSet ? JSON.stringify([filter.kind, "of" in filter && filter.of, filter.fields]) : filter;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [filter]);
    else group.push(filter);
  }
  return Array.from(groups.values(), (group): Filter => {
    const [first] = group;
    if (first.kind === "quantities") {
      return { ...first, ranges: group.flatMap((each) => (each as TermOf<"quantities">).ranges) };
    }
    if (first.kind === "addresses") {
      return { ...first, keys: group.flatMap((each) => (each as TermOf<"addresses">).keys) };
    }
    if (first.kind === "texts") return { ...first, values: group.flatMap((each) => (each as TermOf<"texts">).values) };
    return first;
  });
}

type Judge = (value: Scalar) => boolean;

function anyField(fields: readonly string[], judge: Judge): Matches {
  const [first = "", ...others] = fields;
  const isTrueOf = (value: Value | undefined): boolean => {
    if (value === undefined) return false;
    return typeof value === "object" ? value.some(judge) : judge(value);
  };
  if (others.length === 0) return (of) => isTrueOf(of.get(first));
  return (of) => fields.some((field) => isTrueOf(of.get(field)));
}

function compileTerm(term: FilterTerm, readKey: ((text: string) => Key) | undefined): Judge {
  switch (term.kind) {
    case "exists":
      return () => true;
    case "compare":
      return compareJudge(term);
    case "quantities":
      return rangesJudge(term);
    case "addresses": {
      const set = new AddressSet(term.keys, readKey);
      return (value) => typeof value === "string" && set.hasText(value);
    }
    case "texts": {
      const values = new Set(term.values);
      return (value) => values.has(typeof value === "string" ? value : String(value));
    }
    case "pattern": {
      const hasPattern = compilePattern(term.pattern);
      return (value) => hasPattern(String(value));
    }
    case "regex": {
      const regex = new Regex(term.expression);
      return (value) => regex.test(String(value));
    }
    case "flag":
      break;
  }
  return (value) => value === term.value;
}

/** Returns a value as a quantity; undefined if it is none. */
function quantityOf(of: "number" | "time", value: Scalar): Quantity | undefined {
  if (of === "time") return typeof value === "string" ? readInstant(value) : undefined;
  return typeof value === "number" || typeof value === "bigint" ? value : undefined;
}

function compareJudge({ of, operator, value: limit }: TermOf<"compare">): Judge {
  const compare: Readonly<Record<TermOf<"compare">["operator"], (value: Quantity) => boolean>> = {
    "<": (value) => value < limit,
    "<=": (value) => value <= limit,
    ">": (value) => value > limit,
    ">=": (value) => value >= limit,
  };
  const isTrue = compare[operator];
  return (value) => {
    const quantity = quantityOf(of, value);
    return quantity !== undefined && isTrue(quantity);
  };
}

/** Returns a judge of ranges. Fractions may lie between whole numbers, so ranges are searched one by one and not merged. */
function rangesJudge({ of, ranges }: TermOf<"quantities">): Judge {
  const single = new Set(ranges.filter(({ first, last }) => first === last).map(({ first }) => first));
  const wide = ranges.filter(({ first, last }) => first !== last);
  return (value) => {
    const quantity = quantityOf(of, value);
    if (quantity === undefined) return false;
    return single.has(quantity) || wide.some(({ first, last }) => first <= quantity && quantity <= last);
  };
}

/** Reports whether the line of a record, from its brace at `start` up to `end`, matches a filter. */
export type MatchesLine = (bytes: Buffer, start: number, end: number) => boolean;

/** Compiles a filter for lines in the form that the collector writes. */
export function compileLineFilter(filter: Filter): MatchesLine {
  const matches = compileFilter(filter);
  const values = new LineValues();
  return (bytes, start, end) => {
    values.use(bytes, start, end);
    return matches(values);
  };
}
