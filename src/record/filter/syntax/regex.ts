import { createRequire } from "node:module";
import type { RE2JS } from "re2js";
import { quote } from "../../../base/text/index.ts";

/** Steps of an expression as it is compiled: it takes at most so many for each character of a text. */
const maxSize = 2000;
/** Of a text that is longer, the beginning is looked at. */
const maxText = 4096;

let engine: typeof RE2JS | undefined;

/** Nearly all collectors have no expressions, and are to start without their engine. */
function engineOf(): typeof RE2JS {
  engine ??= (createRequire(import.meta.url)("re2js") as { RE2JS: typeof RE2JS }).RE2JS;
  return engine;
}

/** What is wrong with a regular expression; undefined: nothing. */
export function regexFault(expression: string): string | undefined {
  try {
    const size = engineOf().compile(expression).programSize();
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
    this.#compiled = engineOf().compile(expression);
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

const cut = (text: string): string => (text.length <= maxText ? text : text.slice(0, maxText));
