import { nearName, quote } from "../base/text/index.ts";
import {
  defaulted,
  formatShapeFinding,
  list,
  mapOf,
  mapping,
  readShape,
  scalar,
  type FileNode,
  type Shape,
} from "../base/yaml/index.ts";
import { action, type ActionConfig } from "./actions/action.ts";
import { chooseReady, chosenShape, type ChosenRules, type ReadyRule } from "./ready.ts";
import { ruleShape, type Rule } from "./rule.ts";

/** What the file of rules says. */
export interface WatchConfig {
  readonly actions: ReadonlyMap<string, ActionConfig>;
  readonly rules: readonly Rule[];
}

/** Thrown for a file of rules that cannot be used: a line `file:line:column: …` for each fault. */
export class WatchFileError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join("\n"));
    this.name = "WatchFileError";
    this.faults = faults;
  }
}

const maxRules = 1000;
const actionName = scalar("a name of letters, digits, dashes and underscores", (text) =>
  /^[A-Za-z0-9_-]{1,64}$/.test(text) ? text : undefined,
);

/** The file of rules, `SVC_WATCH_RULES_PATH`; the ready rules are those that it may choose from. */
function fileShape(ready: readonly ReadyRule[]): Shape<WatchConfig> {
  return mapping(
    {
      actions: defaulted(mapOf(actionName, action, { each: "action" }), new Map(), "Receivers of notices, by name."),
      ready: defaulted(
        chosenShape,
        new Map(),
        "The ready rules that are in force, by name, with what is to be other: docs/watch-ready.md.",
      ),
      rules: defaulted(list(ruleShape, "rule"), [], `Up to ${maxRules} rules, with the ready ones.`),
    },
    { check: (given, at) => void joinRules(given, ready, at) },
  ).to(({ actions, ...given }, at) => ({ actions, rules: joinRules(given, ready, at) }));
}

/** Joins the ready rules that are chosen and the others, and reports what is wrong between them. */
function joinRules(
  { ready: chosen = new Map(), rules = [] }: { readonly ready?: ChosenRules; readonly rules?: readonly Rule[] },
  ready: readonly ReadyRule[],
  at: FileNode,
): readonly Rule[] {
  // Also those with faults of their own.
  const actions = new Set(
    at.has("actions")
      ? at
          .below("actions")
          .children()
          .map(({ step }) => String(step))
      : [],
  );
  const count = chosen.size + rules.length;
  if (count > maxRules) at.error(`there are ${count} rules, expected at most ${maxRules}`);
  const names = new Set<string>();
  const take = (rule: Rule, node: FileNode): Rule => {
    if (names.size === names.add(rule.name).size) node.error(`there are two rules ${quote(rule.name)}`);
    for (const each of rule.act)
      if (!actions.has(each)) node.error(`act: there is no action ${quote(each)}`, nearName(each, actions));
    return rule;
  };
  const fromReady = Array.from(chosen, ([name, changes]) => {
    const node =
      at
        .below("ready")
        .children("ready rule")
        .find(({ step }) => step === name) ?? at;
    const rule = chooseReady(name, changes, ready, node);
    return rule && take(rule, node);
  });
  const own = rules.map((rule, i) => take(rule, at.below("rules").children("rule")[i] ?? at));
  return [...fromReady.filter((rule) => rule !== undefined), ...own];
}

/** The form of the file, as the page of formats has it. */
export const watchShape = fileShape([]);

/** Reads a file of rules. @param ready those that it may choose by name. @throws WatchFileError with all faults. */
export function parseWatchFile(path: string, text: string, ready: readonly ReadyRule[]): WatchConfig {
  const { value, findings, hasErrors } = readShape(text, fileShape(ready));
  if (hasErrors || value === undefined)
    throw new WatchFileError(findings.map((finding) => `${path}:${formatShapeFinding(finding)}`));
  return value;
}
