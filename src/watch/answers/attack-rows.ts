import type { Reader } from "../batch-rows.ts";
import { chooseMatches, type Choice } from "./choose-match.ts";
import { FlowReader, UsualFlows, type WeighedRow } from "./flow-sample.ts";
import { prefixOf } from "./route.ts";

/** A rule whose attacks are told from the rest. */
interface AskingRule {
  readonly rule: { readonly overMs: number };
  /** Tells whether it counts a row of the batch in use. */
  passes(row: number): boolean;
  /** The rows of a key since it came near its limit. */
  rows(key: readonly string[]): { readonly rows: readonly WeighedRow[]; readonly since: number } | undefined;
}

/** An alert by the clock of rows, milliseconds since the epoch. */
interface FiringKey {
  readonly key: readonly string[];
  /** The address or prefix that the key names. */
  readonly target: string | undefined;
  readonly since: number;
  readonly firedAt: number;
}

/** Rules whose attacks are told from what is usual: as many as there are bits. */
const maxAsking = 31;
/** More rows than this are waited for, so long after an alert. */
const [fewRows, fewRowsMs] = [30, 5000];

/** The rows by which flow specifications are chosen: a sample of all that is usual, and those of the keys that fire. */
export class AttackRows {
  readonly #usual: UsualFlows;
  readonly #reader: FlowReader;
  readonly #rules: readonly AskingRule[];

  /** @param reader gives the reader of a field. @param now milliseconds since the epoch. */
  constructor(reader: (field: string) => Reader, rules: readonly AskingRule[], now: number) {
    this.#usual = new UsualFlows(Math.random, now);
    this.#reader = new FlowReader(reader);
    this.#rules = rules.slice(0, maxAsking);
  }

  /** Takes the rows of the batch in use. @param weight how many records each stands for. */
  take(count: number, isFlow: (row: number) => boolean, weight: number, now: number): void {
    for (let row = 0; row < count; row++) {
      if (!isFlow(row)) continue;
      this.#usual.add(this.#reader.bytes(row) * weight, now, () => {
        const rules = this.#rules.reduce((bits, rule, i) => bits | (rule.passes(row) ? 1 << i : 0), 0);
        return this.#reader.read(row, now, rules);
      });
    }
  }

  /** Chooses against what a key of a rule has more of than before. @returns undefined where there are no rows of it, or few as yet. */
  choose(
    rule: AskingRule,
    { key, target, since, firedAt }: FiringKey,
    now: number,
  ): { readonly choice: Choice | undefined; readonly usualSeconds: number } | undefined {
    const kept = rule.rows(key);
    if (kept === undefined || kept.rows.length === 0) return undefined;
    if (kept.rows.length < fewRows && now - firedAt < fewRowsMs) return undefined;
    const before = this.#usual.before(Math.min(kept.since, since) - rule.rule.overMs);
    const usual = perSecond(before.rows, before.seconds);
    const bit = 1 << this.#rules.indexOf(rule);
    const observed = {
      moment: perSecond(kept.rows, Math.max(1, (now - kept.since) / 1000)),
      counted: usual.filter(({ row }) => (row.rules & bit) !== 0),
      usual,
    };
    const prefix = target === undefined ? undefined : prefixOf(target);
    return { choice: chooseMatches(observed, prefix), usualSeconds: before.seconds };
  }
}

function perSecond(rows: readonly WeighedRow[], seconds: number): WeighedRow[] {
  return rows.map(({ row, weight }) => ({ row, weight: weight / seconds }));
}
