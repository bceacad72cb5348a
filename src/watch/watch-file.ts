import { nearName, quote } from "../base/text/index.ts";
import { defaulted, formatShapeFinding, list, mapOf, mapping, readShape, scalar } from "../base/yaml/index.ts";
import { action, type ActionConfig } from "./actions/action.ts";
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

/** The file of rules, `SVC_WATCH_RULES_PATH`. */
export const watchShape = mapping(
  {
    actions: defaulted(mapOf(actionName, action, { each: "action" }), new Map(), "Receivers of notices, by name."),
    rules: defaulted(list(ruleShape, "rule"), [], `Up to ${maxRules} rules.`),
  },
  {
    check({ rules = [] }, at) {
      // Also those with faults of their own.
      const actions = new Set(
        at.has("actions")
          ? at
              .below("actions")
              .children()
              .map(({ step }) => String(step))
          : [],
      );
      if (rules.length > maxRules) at.error(`there are ${rules.length} rules, expected at most ${maxRules}`);
      const names = new Set<string>();
      for (const [i, { name, act }] of rules.entries()) {
        const node = at.below("rules").children("rule")[i] ?? at;
        if (names.size === names.add(name).size) node.error(`there are two rules ${quote(name)}`);
        for (const each of act)
          if (!actions.has(each)) node.error(`act: there is no action ${quote(each)}`, nearName(each, actions));
      }
    },
  },
);

/**
 * Reads a file of rules.
 *
 * @param mayRun whether actions may run programs.
 * @throws WatchFileError with all faults.
 */
export function parseWatchFile(path: string, text: string, mayRun: boolean): WatchConfig {
  const { value, findings, hasErrors } = readShape(text, watchShape);
  if (hasErrors || value === undefined)
    throw new WatchFileError(findings.map((finding) => `${path}:${formatShapeFinding(finding)}`));
  const running = Array.from(value.actions).filter(([, { command }]) => command !== undefined && !mayRun);
  if (running.length > 0) {
    const said = "commands are off: SVC_WATCH_COMMANDS_ENABLE allows them";
    throw new WatchFileError(running.map(([name]) => `${path}: action ${name}: ${said}`));
  }
  return value;
}
