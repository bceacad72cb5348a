import { nearName, quote } from "../base/text/index.ts";
import {
  defaulted,
  formatShapeFinding,
  list,
  mapOf,
  mapping,
  oneOrList,
  optional,
  readShape,
  required,
  scalar,
  textLine,
  type FileNode,
} from "../base/yaml/index.ts";
import { readComparison, readCondition, readQuantity, usualClear } from "./condition.ts";
import { filterOf, overForm, ruleShape, sayText, type Rule } from "./rule.ts";

/** A rule that comes with the program. A file chooses it by name. */
export interface ReadyRule {
  readonly rule: Rule;
  /** A description of what it finds, what it misses, and how to choose its number. */
  readonly sees: string;
  readonly misses: string;
  readonly number: string;
}

const text = scalar("a text", (given) => given);

const readyShape = list(
  mapping({
    rule: required(ruleShape, "The rule."),
    sees: required(text, "What it finds."),
    misses: required(text, "What it does not find."),
    number: required(text, "How to choose its number."),
  }),
  "ready rule",
);

/** Reads the file of ready rules. @throws Error that lists all faults. */
export function readReadyRules(source: string): readonly ReadyRule[] {
  const { value, findings, hasErrors } = readShape(source, readyShape);
  if (hasErrors || value === undefined) throw new Error(findings.map(formatShapeFinding).join("\n"));
  return value;
}

const changes = mapping({
  filter: optional(textLine, "Only records that pass this one, too, count."),
  over: optional(overForm, "As `rules[].over`."),
  when: optional(scalar("such as `> 500M for 20s`", readCondition), "As `rules[].when`."),
  clear: optional(scalar("such as `< 300M for 2m`", readComparison), "As `rules[].clear`."),
  least: optional(scalar("a number such as 10M", readQuantity), "As `rules[].least`."),
  say: optional(sayText, "As `rules[].say`."),
  act: defaulted(oneOrList(textLine), [], "As `rules[].act`."),
});

/** The shape of the ready rules that a file chooses, by name, each with its changes. */
export const chosenShape = mapOf(textLine, changes.orEmpty(), { each: "ready rule" });

type Changes = NonNullable<ReturnType<typeof changes.read>>;
export type ChosenRules = ReadonlyMap<string, Changes>;

/** Returns the ready rule of a name with the changes of a file. It reports faults and then returns undefined. */
export function chooseReady(
  name: string,
  change: Changes,
  ready: readonly ReadyRule[],
  at: FileNode,
): Rule | undefined {
  const found = ready.find(({ rule }) => rule.name === name)?.rule;
  if (found === undefined) {
    const names = ready.map(({ rule }) => rule.name);
    return at.error(`there is no ready rule ${quote(name)}`, nearName(name, names), "key");
  }
  const {
    filter: narrower,
    over = found.overMs,
    when = found.when,
    least = found.least,
    say = found.say,
    act,
  } = change;
  if (when.kind !== found.when.kind || (when.kind === "compare" && when.unit !== (found.when as typeof when).unit))
    return at.below("when").error(`expected a condition of the same kind as that of ${name}`);
  const also = narrower === undefined ? undefined : filterOf(found.of).read(at.below("filter"));
  if (narrower !== undefined && also === undefined) return undefined;
  const filters = [found.filter, also].filter((each) => each !== undefined);
  const filter = filters.length > 1 ? ({ kind: "and", filters } as const) : filters[0];
  const clear = change.clear ?? (change.when === undefined ? found.clear : usualClear(when));
  return { ...found, filter, overMs: over, when, clear, least, say, act };
}
