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
import { answerConfig, speakerShape, type AnswerConfig, type SpeakerConfig } from "./answers/index.ts";
import { chooseReady, chosenShape, type ChosenRules, type ReadyRule } from "./ready.ts";
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

/** The file of rules, `SVC_WATCH_RULES_PATH`; the ready rules are those that it may choose from. */
function fileShape(ready: readonly ReadyRule[]): Shape<WatchConfig> {
  return mapping(
    {
      actions: defaulted(mapOf(actionName, action, { each: "action" }), new Map(), "Receivers of notices, by name."),
      speakers: defaulted(
        mapOf(actionName, speakerShape, { each: "speaker" }),
        new Map(),
        "What announces the routes of `blackhole` and `flowspec`, by name.",
      ),
      ready: defaulted(
        chosenShape,
        new Map(),
        "The ready rules that are in force, by name, with what is to be other: docs/watch-ready.md.",
      ),
      rules: defaulted(list(ruleShape, "rule"), [], `Up to ${maxRules} rules, with the ready ones.`),
    },
    {
      check(given, at) {
        const { actions = new Map<string, ActionConfig>(), speakers } = given;
        for (const [name, { speaker }] of answersOf(actions))
          if (speakers?.has(speaker) === false)
            at.error(`action ${name}: there is no speaker ${quote(speaker)}`, nearName(speaker, speakers.keys()));
        joinRules(given, ready, at);
      },
    },
  ).to(({ actions, speakers, ...given }, at) => ({
    actions,
    speakers,
    rules: joinRules({ actions, ...given }, ready, at),
  }));
}

/** What rules are joined of, as far as it is right in itself. */
interface GivenRules {
  readonly actions?: ReadonlyMap<string, ActionConfig>;
  readonly ready?: ChosenRules;
  readonly rules?: readonly Rule[];
}

/** Joins the ready rules that are chosen and the others, and reports what is wrong between them. */
function joinRules(
  { actions = new Map(), ready: chosen = new Map(), rules = [] }: GivenRules,
  ready: readonly ReadyRule[],
  at: FileNode,
): readonly Rule[] {
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
  const count = chosen.size + rules.length;
  if (count > maxRules) at.error(`there are ${count} rules, expected at most ${maxRules}`);
  const names = new Set<string>();
  const take = (rule: Rule, node: FileNode): Rule => {
    if (names.size === names.add(rule.name).size) node.error(`there are two rules ${quote(rule.name)}`);
    for (const each of rule.act)
      if (!named.has(each)) node.error(`act: there is no action ${quote(each)}`, nearName(each, named));
    for (const each of rule.act) {
      const kind = answers.get(each)?.kind;
      const fault = kind && answerFault(kind, rule);
      if (fault !== undefined) node.error(`act: ${each}: ${fault}`);
    }
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

/** Returns the actions that answer alerts, by name. */
export function answersOf(actions: ReadonlyMap<string, ActionConfig>): ReadonlyMap<string, AnswerConfig> {
  const found = Array.from(actions, ([name, given]) => [name, answerConfig(given)] as const);
  return new Map(found.flatMap(([name, config]) => (config === undefined ? [] : [[name, config] as const])));
}

/** Returns the actions that do more than send notices, by name: what kind of one each is. */
export function answeringActions(actions: ReadonlyMap<string, ActionConfig>): ReadonlyMap<string, string> {
  const found = Array.from(actions, ([name, given]) => {
    const kind = given.command === undefined ? answerConfig(given)?.kind : "command";
    return kind === undefined ? [] : [[name, kind] as const];
  });
  return new Map(found.flat());
}

/** Says why a rule cannot be answered; undefined where it can. */
function answerFault(kind: AnswerConfig["kind"], { of, by, when, measure }: Rule): string | undefined {
  if (of !== "flow") return "only rules on flows are answered";
  if (by.some(({ bits }) => bits !== undefined)) return "only rules on single addresses are answered";
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
 * @param ready the rules that it may choose by name.
 * @param mayRun whether actions may run programs; left out: they may not.
 * @throws WatchFileError with all faults.
 */
export function parseWatchFile(path: string, text: string, ready: readonly ReadyRule[], mayRun = false): WatchConfig {
  const { value, findings, hasErrors } = readShape(text, fileShape(ready));
  if (hasErrors || value === undefined)
    throw new WatchFileError(findings.map((finding) => `${path}:${formatShapeFinding(finding)}`));
  const running = (["actions", "speakers"] as const).flatMap((kind) =>
    Array.from<[string, { readonly command?: unknown }]>(value[kind])
      .filter(([, { command }]) => command !== undefined)
      .map(([name]) => `${kind.slice(0, -1)} ${name}`),
  );
  if (running.length > 0 && !mayRun) {
    const said = "commands are off: SVC_WATCH_COMMANDS_ENABLE allows them";
    throw new WatchFileError(running.map((name) => `${path}: ${name}: ${said}`));
  }
  return value;
}
