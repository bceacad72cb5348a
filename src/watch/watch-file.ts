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

/** The content of a rules file. */
export interface WatchConfig {
  readonly actions: ReadonlyMap<string, ActionConfig>;
  readonly speakers: ReadonlyMap<string, SpeakerConfig>;
  readonly rules: readonly Rule[];
}

/** Thrown for an invalid rules file. The message has a line `file:line:column: …` for each fault. */
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

/** The field of the key that has the destination of a route. */
export const destinationField = "flow.dst.ip.addr";

/** Returns the shape of the rules file, `SVC_WATCH_RULES_PATH`. @param ready the ready rules that it may choose. */
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

/** The valid parts of a file from which rules are joined. */
interface GivenRules {
  readonly actions?: ReadonlyMap<string, ActionConfig>;
  readonly ready?: ChosenRules;
  readonly rules?: readonly Rule[];
}

/** Joins chosen ready rules with the file's own, and reports conflicts between them. */
function joinRules(
  { actions = new Map(), ready: chosen = new Map(), rules = [] }: GivenRules,
  ready: readonly ReadyRule[],
  at: FileNode,
): readonly Rule[] {
  // Actions with faults count as well, so that rules may name them.
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

/** The shape of the file for the page of formats. */
export const watchShape = fileShape([]);

/** Returns the actions that answer alerts, by name. */
export function answersOf(actions: ReadonlyMap<string, ActionConfig>): ReadonlyMap<string, AnswerConfig> {
  const found = Array.from(actions, ([name, given]) => [name, answerConfig(given)] as const);
  return new Map(found.flatMap(([name, config]) => (config === undefined ? [] : [[name, config] as const])));
}

/** Returns the kind of each action that does more than send notices, by name. */
export function answeringActions(actions: ReadonlyMap<string, ActionConfig>): ReadonlyMap<string, string> {
  const found = Array.from(actions, ([name, given]) => {
    const kind = given.command === undefined ? answerConfig(given)?.kind : "command";
    return kind === undefined ? [] : [[name, kind] as const];
  });
  return new Map(found.flat());
}

/** Returns why a rule cannot be answered; undefined where it can. */
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
 * Reads a rules file.
 *
 * @param ready the rules that it may choose by name.
 * @param mayRun true where actions may run programs; false by default.
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
