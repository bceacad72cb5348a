import { readFile } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../base/report/index.ts";
import { FileFindings, formatFinding, readRules, RuleProgram, RuleTrial, type Rule } from "../../enrich/index.ts";
import {
  isMetadataName,
  objectOf,
  QueryGate,
  readFlowsQuery,
  readQuery,
  type FlowsAnswer,
  type FlowsQuery,
} from "../../explore/index.ts";
import type { Value } from "../../record/index.ts";
import { apiError, type CollectorAnswer, type ExploreRules } from "../../server/index.ts";
import type { ExploreQuestions } from "../threads/explore-output.ts";

/** Answers `GET /api/v1/enrich/rules`. @param path of the file of rules; empty: there is none. */
export async function rulesView(path: string): Promise<CollectorAnswer<"listRules">> {
  if (path === "") return { enabled: false, rules: [] };
  let text: string | undefined;
  try {
    const bytes = await readFile(path);
    text = bytes.toString("utf8");
    const rules = new RuleProgram(readRules(bytes).value).rules.map(({ name, scope, rule }) => ({
      name,
      of: scope,
      fields: [...rule.set.keys()],
    }));
    return { enabled: true, text, rules };
  } catch (error) {
    return { enabled: true, fault: (error as Error).message, ...(text !== undefined && { text }), rules: [] };
  }
}

/** The most records to which rules are applied. */
const maxRecords = 10_000;
/** The number of equal parts of a range with more records, each of which is sampled: traffic varies by the hour. */
const parts = 10;
/** The time limits of applying rules, in total and for one stretch while others wait, milliseconds. */
const maxWorkMs = 5000;
const stretchMs = 10;
/** The most reported faults of rules. */
const maxFaults = 100;

/** The most trials that wait for the one under way. */
const mostWaiting = 8;

/** Shows what rules would change on records that Explore keeps, before they take effect. */
export class RuleTrials {
  readonly #explore: ExploreQuestions;
  readonly #path: string;
  readonly #clock: Pick<Clock, "now">;
  readonly #gate = new QueryGate(1, mostWaiting);

  /** @param path of the file of the rules in use; empty: there are none. */
  constructor(explore: ExploreQuestions, path: string, clock: Pick<Clock, "now">) {
    this.#explore = explore;
    this.#path = path;
    this.#clock = clock;
  }

  /**
   * Applies rules to records of a range, and compares the results with those of the rules in use.
   *
   * @param body JSON: `rules`, a text of YAML or a list as in a file of rules; `from`, `to`, `filter`.
   * @throws ExploreError; an error of the API that names each fault of the rules.
   */
  async answer(body: unknown, signal: AbortSignal): Promise<ExploreRules> {
    const begun = this.#clock.now();
    const { rules: given, ...range } = objectOf(body, ["rules", "from", "to", "filter"]);
    const query = readFlowsQuery({ ...range, limit: maxRecords }, begun);
    const rules = rulesOf(given);
    const counting = readQuery({ ...range, measure: "flows", granularity: "none", when: "received" }, begun);
    return this.#gate.run(signal, async () => {
      const { fields } = await this.#explore.status(signal);
      const kept = new Set(fields.map(({ name }) => name));
      const now = await this.#rulesInUse();
      const trial = new RuleTrial(rules, now, (field) => kept.has(field) || isMetadataName(field));
      const flows = (await this.#explore.query(counting, signal)).total.value;
      const isPart = flows > maxRecords;
      const { sampling, complete } = await this.#take(trial, isPart ? partsOf(query) : [query], signal);
      return {
        from: new Date(query.from).toISOString(),
        to: new Date(query.to).toISOString(),
        flows,
        sampling,
        complete: complete && !isPart,
        ...trial.report,
        elapsedMs: this.#clock.now() - begun,
      };
    });
  }

  async #take(
    trial: RuleTrial,
    queries: readonly FlowsQuery[],
    signal: AbortSignal,
  ): Promise<Pick<FlowsAnswer, "sampling" | "complete">> {
    const work = new BoundedWork(signal);
    let sampling = 1;
    let complete = true;
    for (const query of queries) {
      const answer = await this.#explore.flows(query, signal);
      sampling = Math.max(sampling, answer.sampling);
      complete &&= answer.complete;
      if (!(await work.run(takeAll(trial, answer.records)))) return { sampling, complete: false };
    }
    return { sampling, complete };
  }

  async #rulesInUse(): Promise<readonly Rule[]> {
    if (this.#path === "") return [];
    try {
      return readRules(await readFile(this.#path)).value;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") return [];
      const text = `there is nothing to compare with: the file of the rules in use cannot be read: ${message}`;
      throw apiError("failed_precondition", "RULES_UNREADABLE", text);
    }
  }
}

function* takeAll(trial: RuleTrial, records: FlowsAnswer["records"]): Generator<void, void> {
  for (const record of records) {
    yield* trial.take(fieldsOf(record));
    yield;
  }
}

/** Work in short stretches with pauses for others, up to a total time. */
class BoundedWork {
  readonly #signal: AbortSignal;
  #leftMs = maxWorkMs;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Runs all steps. @returns false when there is no time left for them. */
  async run(steps: Iterator<void>): Promise<boolean> {
    let begun = performance.now();
    for (;;) {
      const isDone = steps.next().done === true;
      const took = performance.now() - begun;
      if (!isDone && took < stretchMs) continue;
      this.#leftMs -= took;
      if (isDone) return true;
      if (this.#leftMs <= 0) return false;
      await setImmediate();
      this.#signal.throwIfAborted();
      begun = performance.now();
    }
  }
}

/** Parses the rules. @throws an error of the API with all faults. */
function rulesOf(given: unknown): readonly Rule[] {
  if (typeof given !== "string" && !Array.isArray(given)) {
    throw refused([{ field: "rules", description: "rules must be a text of YAML, or a list of rules" }]);
  }
  try {
    return readRules(Buffer.from(typeof given === "string" ? given : JSON.stringify(given, undefined, 1))).value;
  } catch (error) {
    if (!(error instanceof FileFindings)) throw error;
    const faults = error.findings.filter(({ severity }) => severity === "error").slice(0, maxFaults);
    throw refused(faults.map((fault) => ({ field: "rules", description: formatFinding(fault) })));
  }
}

function refused(violations: readonly { readonly field: string; readonly description: string }[]): Error {
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : "";
  return apiError("invalid_argument", "RULES_REFUSED", `rules: ${violations[0]?.description ?? ""}${more}`, {
    violations,
  });
}

/** Returns parts of the range, of equal length, with a part of the records each. */
function partsOf(query: FlowsQuery): readonly FlowsQuery[] {
  const step = (query.to - query.from) / parts;
  return Array.from({ length: parts }, (_, i) => ({
    ...query,
    from: Math.round(query.from + i * step),
    to: Math.round(query.from + (i + 1) * step),
    limit: maxRecords / parts,
  }));
}

function fieldsOf(record: FlowsAnswer["records"][number]): ReadonlyMap<string, Value> {
  return new Map(Object.entries(record).flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])));
}
