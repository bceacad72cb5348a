import { createRequire } from "node:module";
import type { RE2JS } from "re2js";
import { quote } from "../../../base/text/index.ts";

/** Maximum number of steps of a compiled expression, and so for each character of a text. */
const maxSize = 2000;
/** The limit on the sum of {@link regexCost} over all expressions of a filter. */
export const maxRegexCost = 2 * maxSize;
/** Steps that take as long to compile as one class such as `\\p{L}`. */
const classCost = 20;
/** The maximum number of characters, from the start of a text, that are matched here and by stores of records. */
export const maxRegexText = 4096;

let engine: typeof RE2JS | undefined;

/** Loads the engine on first use: nearly all collectors have no expressions, and start faster without it. */
function engineOf(): typeof RE2JS {
  engine ??= (createRequire(import.meta.url)("re2js") as { RE2JS: typeof RE2JS }).RE2JS;
  return engine;
}

const regexTokens =
  /\\Q(?<quoted>.*?)(?:\\E|$)|(?<named>\\[pP](?:\{[^}]*\}|.)?)|\\x\{[^}]*\}|\\.?|(?<set>\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]?)|(?<flags>\(\?[a-zA-Z-]+\))|(?<open>\()|(?<close>\))|\{(?<least>\d+)(?<more>,(?<most>\d*))?\}|./gsu;
const namedClass = /\\[pP]/g;

/**
 * Returns an expression that all RE2 engines understand in the same way. Older ones know named groups only as `(?P<name>`, and in some
 * a dot also matches a line feed.
 */
export function portableRegex(expression: string): string {
  let before = "";
  let isGroup = false;
  let written = "(?-s)";
  for (const [token] of expression.matchAll(regexTokens)) {
    // `(?<` always begins a name, because RE2 has no lookbehind.
    written += isGroup && token === "<" ? "P<" : token;
    isGroup = before === "(" && token === "?";
    before = token;
  }
  return written;
}

/**
 * Estimates the number of steps of a compiled expression; named classes count more. It runs before the engine expands repetitions:
 * `(x{0,1000})` a hundred times would take hundreds of megabytes.
 */
export function regexCost(expression: string): number {
  const outside: number[] = [];
  let sum = 0;
  /** The cost of the part that a following repetition would repeat. */
  let last = 0;
  for (const { groups = {} } of expression.matchAll(regexTokens)) {
    const { quoted, named, set, flags, open, close, least, more, most } = groups;
    // A repetition behind flags repeats the part before them.
    if (flags !== undefined) continue;
    if (open !== undefined) {
      outside.push(sum);
      sum = 0;
      last = 0;
    } else if (close !== undefined) {
      last = sum + 2;
      sum = last + (outside.pop() ?? 0);
    } else if (least === undefined) {
      const classes = named === undefined ? (set?.match(namedClass)?.length ?? 0) : 1;
      last = 1 + classCost * classes;
      sum += last + (quoted?.length ?? 0);
    } else {
      const times = Math.max(Number(least) + (more === undefined ? 0 : 1), Number(most ?? 0));
      // Each optional repetition is a branch.
      const repeated = Math.max(1, times) * (last + 1);
      sum += repeated - last;
      last = repeated;
    }
  }
  return outside.reduce((all, each) => all + each, sum);
}

/** Recently compiled expressions: each is checked, asked for its groups and used in succession. */
const recent = new Map<string, RE2JS>();
const maxRecent = 64;

function compiled(expression: string): RE2JS {
  const known = recent.get(expression);
  if (known !== undefined) return known;
  const made = engineOf().compile(expression);
  if (recent.size >= maxRecent) recent.clear();
  recent.set(expression, made);
  return made;
}

/** Returns the fault of a regular expression whose {@link regexCost} is within the limit; undefined if it has none. */
export function regexFault(expression: string): string | undefined {
  try {
    const size = compiled(expression).programSize();
    return size <= maxSize ? undefined : `the regular expression ${quote(expression)} is too large: repeat less in it`;
  } catch (error) {
    return `${quote(expression)} is no regular expression in the syntax of RE2: ${(error as Error).message.replace(/^error parsing regexp: /, "")}`;
  }
}

/** A regular expression in the syntax of RE2. Matching takes time at most in proportion to the length of the text. */
export class Regex {
  /** The names of its groups. */
  readonly groups: readonly string[];
  readonly #compiled: RE2JS;

  /** @param expression without a {@link regexFault}. */
  constructor(expression: string) {
    this.#compiled = compiled(expression);
    this.groups = Object.keys(this.#compiled.namedGroups());
  }

  /** Reports whether a text contains a match. */
  test(text: string): boolean {
    return this.#compiled.matcher(cut(text)).find();
  }

  /** Returns the matches of the named groups in a text, without groups that took no part; undefined if the text has no match. */
  find(text: string): ReadonlyMap<string, string> | undefined {
    const matcher = this.#compiled.matcher(cut(text));
    if (!matcher.find()) return undefined;
    return new Map(
      this.groups.flatMap((name) => {
        const found = matcher.group(name);
        return found === null ? [] : [[name, found] as const];
      }),
    );
  }
}

/** Cuts a text to the limit in characters, not in UTF-16 units, because stores of records count characters. */
function cut(text: string): string {
  if (text.length <= maxRegexText) return text;
  let end = 0;
  for (let left = maxRegexText; left > 0 && end < text.length; left--)
    end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  return text.slice(0, end);
}
