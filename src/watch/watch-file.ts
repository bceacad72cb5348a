import { nearName, quote } from "../base/text/index.ts";
import { defaulted, formatShapeFinding, list, mapOf, mapping, readShape, scalar } from "../base/yaml/index.ts";
import { action, type ActionConfig } from "./actions/action.ts";
import { answerConfig, speakerShape, type AnswerConfig, type SpeakerConfig } from "./answers/index.ts";
import { ruleShape, type Rule } from "./rule.ts";

/** What the file of rules says. */
export interface WatchConfig {
  readonly actions: ReadonlyMap<string, ActionConfig>;
  readonly speakers: ReadonlyMap<string, SpeakerConfig>;
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

/** The field of the key that a route is about. */
export const destinationField = "flow.dst.ip.addr";

/** The file of rules, `SVC_WATCH_RULES_PATH`. */
export const watchShape = mapping(
  {
    actions: defaulted(mapOf(actionName, action, { each: "action" }), new Map(), "Receivers of notices, by name."),
    speakers: defaulted(
      mapOf(actionName, speakerShape, { each: "speaker" }),
      new Map(),
      "What announces the routes of `blackhole` and `flowspec`, by name.",
    ),
    rules: defaulted(list(ruleShape, "rule"), [], `Up to ${maxRules} rules.`),
  },
  {
    check({ actions = new Map(), speakers, rules = [] }, at) {
      // Also those with faults of their own.
      const named = new Set(
        at.has("actions")
          ? at
              .below("actions")
              .children()
              .map(({ step }) => String(step))
          : [],
      );
      const answers = answersOf(actions);
      for (const [name, { speaker }] of answers)
        if (speakers?.has(speaker) === false)
          at.error(`action ${name}: there is no speaker ${quote(speaker)}`, nearName(speaker, speakers.keys()));
      if (rules.length > maxRules) at.error(`there are ${rules.length} rules, expected at most ${maxRules}`);
      const names = new Set<string>();
      for (const [i, rule] of rules.entries()) {
        const { name, act } = rule;
        const node = at.below("rules").children("rule")[i] ?? at;
        if (names.size === names.add(name).size) node.error(`there are two rules ${quote(name)}`);
        for (const each of act)
          if (!named.has(each)) node.error(`act: there is no action ${quote(each)}`, nearName(each, named));
        for (const each of act) {
          const kind = answers.get(each)?.kind;
          const fault = kind && answerFault(kind, rule);
          if (fault !== undefined) node.error(`act: ${each}: ${fault}`);
        }
      }
    },
  },
);

/** Returns the actions that answer alerts, by name. */
export function answersOf(actions: ReadonlyMap<string, ActionConfig>): ReadonlyMap<string, AnswerConfig> {
  const found = Array.from(actions, ([name, given]) => [name, answerConfig(given)] as const);
  return new Map(found.flatMap(([name, config]) => (config === undefined ? [] : [[name, config] as const])));
}

/** Says why a rule cannot be answered; undefined where it can. */
function answerFault(kind: AnswerConfig["kind"], { of, by, when, measure }: Rule): string | undefined {
  if (of !== "flow") return "only rules on flows are answered";
  if (kind === "blackhole" && !by.some(({ field }) => field === destinationField))
    return `a blackhole needs ${destinationField} in \`by\`: it is what is announced`;
  const isFlood = when.kind === "compare" && when.operator.startsWith(">");
  if (!isFlood) return "only what is above a limit is answered";
  const isRate = measure.kind === "bits" || measure.kind === "packets" || measure.kind === "flows";
  if (kind === "flowspec" && !(isRate && when.unit === "plain"))
    return "a flowspec needs a measure of bits, packets or flows, and a limit that is a number of them";
  return undefined;
}

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
