import { columnOf, LineColumns, type Column } from "../record/index.ts";
import type { Alert } from "./alerts.ts";
import {
  answerFields,
  chooseMatches,
  FlowReader,
  prefixOf,
  UsualFlows,
  type Attack,
  type WeighedRow,
} from "./answers/index.ts";
import { BatchRows, ObjectRows } from "./batch-rows.ts";
import { evidenceFields } from "./close-look.ts";
import { measuredFields, RowRoom } from "./measures.ts";
import { filterFields } from "./row-filter.ts";
import { RuleWatch, type KeyLimits } from "./rule-watch.ts";
import { speedFieldOf, type Rule } from "./rule.ts";
import type { Source } from "./sources.ts";
import { answersOf, destinationField, type WatchConfig } from "./watch-file.ts";

/** Fields that every rule needs of a flow. */
const flowFields: readonly string[] = [
  "@timestamp",
  "flow.export.type",
  "flow.export.clock.offset",
  "flow.record.type",
  "flow.bytes",
  "flow.packets",
  "flow.scaled.bytes",
  "flow.scaled.packets",
  "flow.start.timestamp",
  "flow.end.timestamp",
];

const maxRows = 2048;
/** Maximum number of rules with flow specifications: one for each bit. */
const maxAsking = 31;
/** With fewer rows than this, choosing waits until this long after the alert began. */
const [fewRows, fewRowsMs] = [30, 5000];

/**
 * The rows by which flow specifications are chosen: a sample of all usual traffic. Each row has a bit for each rule that counts it. A bit that moves to
 * another rule counts only from then on.
 */
class AttackRows {
  readonly #usual: UsualFlows;
  readonly #reader: FlowReader;
  /** Rules by bit. */
  readonly #rules: ({ readonly watch: RuleWatch; readonly from: number } | undefined)[] = [];

  /** @param now milliseconds since the epoch. */
  constructor(rows: BatchRows, now: number) {
    this.#usual = new UsualFlows(Math.random, now);
    this.#reader = new FlowReader((field) => rows.reader(field));
  }

  /** Replaces the rules. Remaining rules keep their bits. */
  use(watches: readonly RuleWatch[], now: number): void {
    const staying = new Set(watches);
    for (const [bit, held] of this.#rules.entries())
      if (held !== undefined && !staying.delete(held.watch)) this.#rules[bit] = undefined;
    for (const watch of staying) {
      const free = this.#rules.indexOf(undefined);
      const bit = free === -1 ? this.#rules.length : free;
      if (bit < maxAsking) this.#rules[bit] = { watch, from: now };
    }
  }

  /** Takes rows of the batch in use. @param weight the number of records that each stands for. */
  take(flows: Uint32Array, count: number, weight: number, now: number): void {
    for (let i = 0; i < count; i++) {
      const row = flows[i] as number;
      this.#usual.add(this.#reader.bytes(row) * weight, now, () => {
        const rules = this.#rules.reduce(
          (bits, held, bit) => bits | (held?.watch.passes(row) === true ? 1 << bit : 0),
          0,
        );
        return this.#reader.read(row, now, rules);
      });
    }
  }

  /**
   * Chooses matches for the excess of a key of a rule over earlier traffic.
   *
   * @param ahead milliseconds by which the wall clock is ahead.
   * @returns undefined where the key has no rows, or too few yet.
   */
  choose(
    watch: RuleWatch,
    { key, since, firedAt = 0 }: Alert,
    now: number,
    ahead: number,
  ): ReturnType<Attack["choose"]> {
    const kept = watch.rows(Object.values(key));
    if (kept === undefined || kept.rows.length === 0) return undefined;
    if (kept.rows.length < fewRows && now - (firedAt - ahead) < fewRowsMs) return undefined;
    const bit = this.#rules.findIndex((held) => held?.watch === watch);
    const from = this.#rules[bit]?.from ?? -Infinity;
    const before = this.#usual.before(Math.min(kept.since, since - ahead) - watch.rule.overMs, from);
    const usual = perSecond(before.rows, before.seconds);
    const observed = {
      moment: perSecond(kept.rows, Math.max(1, (now - kept.since) / 1000)),
      counted: usual.filter(({ row }) => bit >= 0 && (row.rules & (1 << bit)) !== 0),
      usual,
    };
    const target = key[destinationField];
    const prefix = target === undefined ? undefined : prefixOf(target);
    return { choice: chooseMatches(observed, prefix), usualSeconds: before.seconds };
  }
}

function perSecond(rows: readonly WeighedRow[], seconds: number): WeighedRow[] {
  return rows.map(({ row, weight }) => ({ row, weight: weight / seconds }));
}

/** The rules in force, with their windows and the columns that they need. */
export class RuleSet {
  readonly #limits: KeyLimits;
  #watches: readonly RuleWatch[] = [];
  #ofFlows: readonly RuleWatch[] = [];
  /** Undefined while no rules were read. */
  #reader: LineColumns | undefined;
  readonly #rows = new BatchRows();
  readonly #objects = new ObjectRows();
  /** The rows of a batch that are flows. */
  readonly #flows = new Uint32Array(maxRows);
  readonly #room = new RowRoom(maxRows);
  /** The rows for flow specifications; undefined where no rule asks for them. */
  #attacks: AttackRows | undefined;

  constructor(limits: KeyLimits) {
    this.#limits = limits;
  }

  get watches(): readonly RuleWatch[] {
    return this.#watches;
  }

  /** Puts rules in force. A rule that counts as before keeps its windows. @param now milliseconds since the epoch. */
  use({ rules, actions }: WatchConfig, now: number): void {
    const answers = answersOf(actions);
    const asks = ({ act }: Rule): boolean => act.some((name) => answers.get(name)?.kind === "flowspec");
    const ofFlows = rules.filter(({ of }) => of === "flow");
    const names = new Set([
      ...flowFields,
      ...ofFlows.flatMap(fieldsOf),
      ...(ofFlows.some(asks) ? Object.values(answerFields) : []),
    ]);
    const columns = [...names].map(columnOf).filter((column): column is Column => column !== undefined);
    this.#reader = new LineColumns(columns, { maxRows, hasRest: false });
    this.#rows.have(columns);
    const before = new Map(this.#watches.map((watch) => [watch.rule.name, watch]));
    this.#watches = rules.map((rule) => {
      const same = before.get(rule.name);
      if (same !== undefined && same.keepsRows === asks(rule) && same.takeWording(rule)) return same;
      return new RuleWatch(rule, rule.of === "flow" ? this.#rows : this.#objects, this.#limits, now, asks(rule));
    });
    this.#ofFlows = this.#watches.filter(({ rule }) => rule.of === "flow");
    const asking = this.#ofFlows.filter(({ keepsRows }) => keepsRows);
    if (asking.length === 0) this.#attacks = undefined;
    else this.#attacks ??= new AttackRows(this.#rows, now);
    this.#attacks?.use(asking, now);
  }

  /** Takes whole lines; each stands for `weight` records. */
  take(lines: Uint8Array, weight: number, now: number): void {
    const reader = this.#reader;
    if (this.#ofFlows.length === 0 || reader === undefined) return;
    const type = this.#rows.reader("flow.export.type");
    const other = this.#rows.reader("flow.record.type");
    for (let at = 0; at < lines.length;) {
      at = reader.take(lines, at);
      const batch = reader.batch();
      this.#rows.use(batch);
      let count = 0;
      for (let row = 0; row < batch.rows; row++) if (type.has(row) && !other.has(row)) this.#flows[count++] = row;
      this.#attacks?.take(this.#flows, count, weight, now);
      for (const watch of this.#ofFlows) watch.take(this.#flows, count, this.#room, weight, now);
      reader.clear();
    }
  }

  /** Chooses flow specifications against an alert. @param ahead milliseconds by which the wall clock is ahead. */
  choose(watch: RuleWatch, alert: Alert, now: number, ahead: number): ReturnType<Attack["choose"]> {
    return this.#attacks?.choose(watch, alert, now, ahead);
  }

  /** Takes lines about anything but flows. @returns the number of lines that are no records. */
  takeOthers(lines: string, now: number): number {
    const objects: Readonly<Record<string, unknown>>[] = [];
    let broken = 0;
    for (const line of lines.split("\n")) {
      if (line === "") continue;
      try {
        const record = JSON.parse(line) as Readonly<Record<string, unknown>> | null;
        if (typeof record === "object" && record !== null) objects.push(record);
        else broken++;
      } catch {
        broken++;
      }
    }
    this.#objects.use(objects);
    const room = new RowRoom(objects.length);
    const kinds = objects.map(sourceOf);
    const meantOf = (of: Source): Uint32Array => Uint32Array.from([...kinds.keys()].filter((row) => kinds[row] === of));
    const bySource = new Map([...new Set(kinds)].map((of) => [of, of === undefined ? undefined : meantOf(of)]));
    for (const watch of this.#watches) {
      const meant = bySource.get(watch.rule.of);
      if (meant !== undefined) watch.take(meant, meant.length, room, 1, now);
    }
    return broken;
  }
}

/** Returns the kind of a record that is no flow; undefined where no rule is about it. */
function sourceOf(record: Readonly<Record<string, unknown>>): Source | undefined {
  if (record["snmp.trap.oid"] !== undefined) return "trap";
  if (record["snmp.object.name"] !== undefined) return "snmp";
  if (record["output.name"] !== undefined) return "output";
  return record["exporter.datagrams"] === undefined ? undefined : "exporter";
}

/** Returns the columns that a rule on flows needs. */
function fieldsOf(rule: Rule): readonly string[] {
  const { filter, by } = rule;
  const speed = speedFieldOf(by);
  return [
    ...evidenceFields,
    ...by.map(({ field }) => field),
    ...measuredFields(rule),
    ...(speed === undefined ? [] : [speed]),
    ...(filter === undefined ? [] : filterFields(filter)),
  ];
}
