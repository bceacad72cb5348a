import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Clock, Reporting } from "../../base/report/index.ts";
import { FileFindings, readRules } from "../../enrich/index.ts";
import { ExploreError, readQuery, type ExploreAnswer } from "../../explore/index.ts";
import { apiError, type RuleFindings, type RuleQuestion } from "../../server/index.ts";
import { answeringActions, parseWatchFile, readReadyRules, WatchFileError, type WatchRule } from "../../watch/index.ts";
import { readyRulesPath } from "../ready-rules.ts";
import type { Settings } from "../settings/index.ts";
import type { ExploreQuestions } from "../threads/explore-output.ts";
import { RuleFile, type CheckedRules, type RuleFileOptions, type TextFault } from "../views/rule-file.ts";
import type { RuleTrials } from "../views/rule-trials.ts";

/** The parts of the collector that the API of rules uses. */
type RuleSurroundings = {
  /** Undefined: Explore is off. */
  readonly explore: ExploreQuestions | undefined;
  readonly trials: RuleTrials | undefined;
  /** Rereads the rules that give records fields. */
  readonly applyEnrichment: () => Promise<void>;
  /** Rereads the watch rules. */
  readonly applyWatch: () => Promise<void>;
};

/** The number of keys compared with the limit of a rule, and of those reported. */
const [mostKeys, mostFound] = [1000, 100];
const granularities = [
  [10, "10s"],
  [60, "1m"],
  [300, "5m"],
  [3600, "1h"],
  [86_400, "1d"],
] as const;
/** The most values over time of a key. */
const mostWindows = 2000;
const exploreOff = "Explore is off: SVC_EXPLORE_ENABLE";

/** Makes the rules that the API changes, or a sentence with the missing setting. */
export function createRuleFiles(
  settings: Settings,
  around: RuleSurroundings,
  reporting: Omit<Reporting, "health">,
): Readonly<Record<"enrich" | "watch", RuleFile | { readonly disabled: string }>> {
  const state = settings.SVC_STATE_DIRECTORY_PATH;
  const stateDirectory = state === "" ? undefined : resolve(state);
  const of = (
    kind: RuleFileOptions["kind"],
    setting: "SVC_PROCESSOR_ENRICH_RULES_PATH" | "SVC_WATCH_RULES_PATH",
    rest: (path: string) => Pick<RuleFileOptions, "key" | "check" | "apply" | "test">,
  ): RuleFile | { readonly disabled: string } =>
    settings[setting] === ""
      ? { disabled: `no rules are set up: ${setting} names their file` }
      : new RuleFile({ ...reporting, kind, path: settings[setting], stateDirectory, ...rest(settings[setting]) });
  const files = {
    enrich: of("enrich", "SVC_PROCESSOR_ENRICH_RULES_PATH", () => ({
      key: undefined,
      check: checkEnrichRules,
      apply: around.applyEnrichment,
      test: (text, name, range, signal) => testEnrichRule(around.trials, text, name, range, signal),
    })),
    watch: of("watch", "SVC_WATCH_RULES_PATH", (path) => {
      const ready = readReadyRules(readFileSync(readyRulesPath(), "utf8"));
      const parse = (text: string): ReturnType<typeof parseWatchFile> =>
        parseWatchFile(path, text, ready, settings.SVC_WATCH_COMMANDS_ENABLE);
      return {
        key: "rules",
        check: (text) => checkWatchRules(path, () => parse(text)),
        apply: around.applyWatch,
        test: (text, name, range, signal) => {
          const rule = parse(text).rules.find((each) => each.name === name);
          return testWatchRule(around.explore, rule, range, reporting.clock, signal);
        },
      };
    }),
  };
  const running = Object.values(files).filter((file) => file instanceof RuleFile);
  reporting.metrics.counterFrom("netgloss_rule_changes_total", "Changes of rules by the API.", ["rules"], () =>
    running.map(({ kind, counts }) => [{ rules: kind }, counts.changes]),
  );
  reporting.metrics.counterFrom(
    "netgloss_rule_change_failures_total",
    "Times a change of rules by the API, or the change log, could not be written.",
    ["rules"],
    () => running.map(({ kind, counts }) => [{ rules: kind }, counts.failures]),
  );
  return files;
}

function checkEnrichRules(text: string): CheckedRules {
  try {
    readRules(Buffer.from(text));
    return { faults: [], guarded: new Map() };
  } catch (error) {
    if (!(error instanceof FileFindings)) throw error;
    return { faults: error.findings.filter(({ severity }) => severity === "error"), guarded: new Map() };
  }
}

function checkWatchRules(path: string, parse: () => ReturnType<typeof parseWatchFile>): CheckedRules {
  try {
    const { rules, actions } = parse();
    const answering = answeringActions(actions);
    const guarded = rules.flatMap(({ name, act }) => {
      const acting = act.find((each) => answering.has(each));
      return acting === undefined
        ? []
        : [[name, `rule ${name} acts by ${acting}, which is a ${answering.get(acting) ?? ""}`] as const];
    });
    return { faults: [], guarded: new Map(guarded) };
  } catch (error) {
    if (!(error instanceof WatchFileError)) throw error;
    return { faults: error.faults.map((fault) => placeOf(fault, path)), guarded: new Map() };
  }
}

/** Reads `file:line:column: message`; a fault without a place concerns the file. */
function placeOf(fault: string, path: string): TextFault {
  const rest = fault.startsWith(`${path}:`) ? fault.slice(path.length + 1) : fault;
  const [, line, column, message] = /^(\d+):(\d+): (.*)$/su.exec(rest) ?? [];
  if (message === undefined) return { line: 1, column: 1, message: rest.trim() };
  return { line: Number(line), column: Number(column), message };
}

async function testEnrichRule(
  trials: RuleTrials | undefined,
  text: string,
  name: string,
  { from, to }: RuleQuestion,
  signal: AbortSignal,
): Promise<RuleFindings> {
  if (trials === undefined) return { untried: exploreOff };
  const range = { ...(from !== "" && { from }), ...(to !== "" && { to }) };
  const answer = await asked(() => trials.answer({ rules: text, ...range }, signal));
  if ("untried" in answer) return answer;
  const { fits = 0, changes = 0 } = answer.rules.find((rule) => rule.name === name) ?? {};
  const { records, complete } = answer;
  return { from: Date.parse(answer.from), to: Date.parse(answer.to), records, complete, fits, changes };
}

/** Compares Explore's counts of a rule's keys with its limit. */
async function testWatchRule(
  explore: ExploreQuestions | undefined,
  rule: WatchRule | undefined,
  { from, to }: RuleQuestion,
  clock: Clock,
  signal: AbortSignal,
): Promise<RuleFindings> {
  if (rule === undefined) throw new Error("a rule that was read is gone");
  const { when, measure, by } = rule;
  if (explore === undefined) return { untried: exploreOff };
  const isPlain = when.kind === "compare" && when.unit === "plain" && when.operator.startsWith(">");
  const isRate = measure.kind === "bits" || measure.kind === "packets" || measure.kind === "flows";
  if (rule.of !== "flow" || !isPlain || !isRate || by.some(({ bits }) => bits !== undefined))
    return {
      untried:
        "only rules on bits, packets or flows of single values above a fixed limit can be tried on what Explore keeps",
    };
  const answer = await asked(() => {
    const range = { ...(from !== "" && { from }), ...(to !== "" && { to }) };
    const plain = readQuery({ ...range, granularity: "none" }, clock.now());
    const seconds = Math.max(rule.overMs, (plain.to - plain.from) / mostWindows) / 1000;
    const [, granularity] = granularities.find(([length]) => length >= seconds) ?? [0, "1d"];
    const query = readQuery(
      {
        ...range,
        granularity,
        dimensions: by.map(({ field }) => field),
        measure: measure.kind === "flows" ? "flows" : `${measure.kind}_per_second`,
        limit: mostKeys,
      },
      clock.now(),
    );
    return explore.query({ ...query, filter: rule.filter }, signal);
  });
  return "untried" in answer
    ? answer
    : found(answer, Math.max(when.limit, rule.least), when.forMs, measure.kind === "flows");
}

function found(answer: ExploreAnswer, limit: number, forMs: number, isCount: boolean): RuleFindings {
  const { rows, times = [], granularitySeconds: seconds, others, complete } = answer;
  const needed = Math.max(1, Math.ceil(forMs / (1000 * seconds)));
  const keys = rows.flatMap(({ key, series = [] }) => {
    const values = isCount ? series.map((value) => value / seconds) : series;
    const above = values.flatMap((value, i) => (value > limit ? [i] : []));
    const [first, last] = [above[0], above.at(-1)];
    if (first === undefined || last === undefined || longestRun(above) < needed) return [];
    return {
      key: key.map(String),
      peak: Math.max(...values),
      first: Date.parse(times[first] ?? ""),
      last: Date.parse(times[last] ?? ""),
      windows: above.length,
    };
  });
  return {
    from: Date.parse(answer.from),
    to: Date.parse(answer.to),
    // A key that is small in total may have had a peak, too.
    complete: complete && others.keys === 0 && keys.length <= mostFound,
    windowSeconds: seconds,
    found: keys.toSorted((a, b) => b.peak - a.peak).slice(0, mostFound),
  };
}

/** Returns the length of the longest run of consecutive numbers. */
function longestRun(numbers: readonly number[]): number {
  let [longest, run] = [0, 0];
  for (const [i, number] of numbers.entries()) {
    run = number - 1 === numbers[i - 1] ? run + 1 : 1;
    longest = Math.max(longest, run);
  }
  return longest;
}

/** Returns Explore's answer, or why it cannot answer. @throws for a wrong range */
async function asked<T>(work: () => Promise<T>): Promise<T | { readonly untried: string }> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ExploreError)) throw error;
    const { code, message, field } = error;
    if (field === "from" || field === "to")
      throw apiError("invalid_argument", "EXPLORE_REFUSED", message, { violations: [{ field, description: message }] });
    if (code === "invalid_argument") return { untried: message };
    throw apiError(code === "canceled" ? "unavailable" : code, "EXPLORE_REFUSED", message);
  }
}
