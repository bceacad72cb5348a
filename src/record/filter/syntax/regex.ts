import { createRequire } from "node:module";
import type { RE2JS } from "re2js";
import { quote } from "../../../base/text/index.ts";

/** Steps of an expression as it is compiled: it takes at most so many for each character of a text. */
const maxSize = 2000;
/** The most that {@link regexCost} may be of all expressions of a filter. */
export const maxRegexCost = 2 * maxSize;
/** A class such as `\\p{L}` takes as long to compile as so many steps. */
const classCost = 20;
/** Of a text that has more characters, so many from its beginning are looked at, here and by stores of records. */
export const maxRegexText = 4096;

let engine: typeof RE2JS | undefined;

/** Nearly all collectors have no expressions, and are to start without their engine. */
function engineOf(): typeof RE2JS {
  engine ??= (createRequire(import.meta.url)("re2js") as { RE2JS: typeof RE2JS }).RE2JS;
  return engine;
}

const regexTokens =
  /\\Q(?<quoted>.*?)(?:\\E|$)|(?<named>\\[pP](?:\{[^}]*\}|.)?)|\\x\{[^}]*\}|\\.?|(?<set>\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]?)|(?<flags>\(\?[a-zA-Z-]+\))|(?<open>\()|(?<close>\))|\{(?<least>\d+)(?<more>,(?<most>\d*))?\}|./gsu;
const namedClass = /\\[pP]/g;

/**
 * Returns an expression that all engines of RE2 take as this one does: older ones know groups with names as `(?P<name>` alone, and to some
 * a dot is a line feed, too.
 */
export function portableRegex(expression: string): string {
  let before = "";
  let isGroup = false;
  let written = "(?-s)";
  for (const [token] of expression.matchAll(regexTokens)) {
    // `(?<` alone begins a name: RE2 has no looking behind.
    written += isGroup && token === "<" ? "P<" : token;
    isGroup = before === "(" && token === "?";
    before = token;
  }
  return written;
}

/**
 * Returns about how many steps an expression has when it is compiled, named classes counting more. It says so before the engine
 * writes out repetitions, which `(x{0,1000})` a hundred times makes hundreds of megabytes of.
 */
export function regexCost(expression: string): number {
  const outside: number[] = [];
  let sum = 0;
  /** Of what a repetition behind it repeats. */
  let last = 0;
  for (const { groups = {} } of expression.matchAll(regexTokens)) {
    const { quoted, named, set, flags, open, close, least, more, most } = groups;
    // A repetition behind them repeats what stands before them.
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
      // Each that may be missing is a branch.
      const repeated = Math.max(1, times) * (last + 1);
      sum += repeated - last;
      last = repeated;
    }
  }
  return outside.reduce((all, each) => all + each, sum);
}

/** Expressions that were compiled of late: one is checked, asked for its groups and used, one after the other. */
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

/** What is wrong with a regular expression whose {@link regexCost} is no more than allowed; undefined: nothing. */
export function regexFault(expression: string): string | undefined {
  try {
    const size = compiled(expression).programSize();
    return size <= maxSize ? undefined : `the regular expression ${quote(expression)} is too large: repeat less in it`;
  } catch (error) {
    return `${quote(expression)} is no regular expression in the syntax of RE2: ${(error as Error).message.replace(/^error parsing regexp: /, "")}`;
  }
}

/** A regular expression in the syntax of RE2. What it is matched against takes no more than time in proportion to its length. */
export class Regex {
  /** The names of its groups. */
  readonly groups: readonly string[];
  readonly #compiled: RE2JS;

  /** @param expression without a {@link regexFault}. */
  constructor(expression: string) {
    this.#compiled = compiled(expression);
    this.groups = Object.keys(this.#compiled.namedGroups());
  }

  /** Tells whether a text has it somewhere. */
  test(text: string): boolean {
    return this.#compiled.matcher(cut(text)).find();
  }

  /** What the named groups found in a text; undefined where it is not in there. A group that took no part is left out. */
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

/** Characters, not halves of them: stores of records count so. */
function cut(text: string): string {
  if (text.length <= maxRegexText) return text;
  let end = 0;
  for (let left = maxRegexText; left > 0 && end < text.length; left--)
    end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  return text.slice(0, end);
}
