import { compileFilter, type Column, type Matches } from "../record/index.ts";
import { FlowReader, FlowSample, type WeighedRow } from "./answers/index.ts";
import type { BatchRows, ColumnReader } from "./batch-rows.ts";
import { holds, type Condition, type Rule } from "./rule.ts";
import { DistinctWindows, Keys, SumWindows, windowSteps } from "./windows.ts";

/** What is found of a key that is not calm. */
export interface Verdict {
  /** The values of the fields of `by`, in their order. */
  readonly key: readonly string[];
  readonly state: "pending" | "firing" | "clear";
  /** In the unit of the measure; of silence the seconds that it lasts. */
  readonly value: number;
  /** The greatest value of late, which an alert of late records is about. */
  readonly peak: number;
  /** When the present state began, milliseconds since the epoch. */
  readonly since: number;
}

/** Parts of what a key is made of: values of a field, with their bits or packets or flows. */
export type Top = Readonly<Record<string, readonly { readonly value: string; readonly share: number }[]>>;

const separator = "\0";
const second = 1000;
/** A key is looked at closely when a step of it has this part of what a whole window would need. */
const closeShare = 1 / (2 * windowSteps);
/** Keys that are looked at closely at a time, and values of a field that are counted for each. */
const maxClose = 200;
const maxValues = 500;
const topValues = 10;
/** What is longer is cut: exporters send texts of 60 KB, too, and a rule keeps as many keys as there are. */
const maxKeyLength = 256;
/** Rows that are kept of each key that is looked at closely, where they are needed. */
const maxSampled = 1000;
/** How long a key that is silent for good is remembered. */
const silentMs = 7 * 86_400_000;

/** The fields that evidence is made of. */
export const evidenceFields: readonly string[] = [
  "flow.src.ip.addr",
  "flow.dst.ip.addr",
  "flow.src.l4.port.id",
  "flow.dst.l4.port.id",
  "l4.proto.name",
  "flow.src.as.label",
  "flow.dst.as.label",
  "flow.export.ip.addr",
];

/** Fields that every rule needs of a flow. */
export const flowFields: readonly string[] = [
  "flow.export.type",
  "flow.record.type",
  "flow.bytes",
  "flow.packets",
  "flow.scaled.bytes",
  "flow.scaled.packets",
  "flow.start.timestamp",
  "flow.end.timestamp",
];

/** The values of a key by field, each with its amount. */
class CloseLook {
  readonly #tallies = evidenceFields.map(() => new Map<string, number>());
  readonly since: number;
  /** Rows to choose a flow specification by. */
  readonly sample: FlowSample | undefined;
  #total = 0;
  usedAt: number;

  constructor(now: number, sample: FlowSample | undefined) {
    this.since = now;
    this.usedAt = now;
    this.sample = sample;
  }

  add(readers: readonly ColumnReader[], row: number, amount: number): void {
    this.#total += amount;
    for (const [i, tally] of this.#tallies.entries()) {
      const text = readers[i]?.text(row);
      if (text === undefined) continue;
      tally.set(text, (tally.get(text) ?? 0) + amount);
      if (tally.size > maxValues) keepLargest(tally);
    }
  }

  top(): Top {
    const fields = this.#tallies.map((tally, i) => {
      const values = [...tally]
        .sort(([, a], [, b]) => b - a)
        .slice(0, topValues)
        .map(([value, amount]) => ({ value, share: Math.round((1000 * amount) / this.#total) / 1000 }));
      return [evidenceFields[i] ?? "", values] as const;
    });
    return Object.fromEntries(fields.filter(([, values]) => values.length > 0));
  }
}

/** Leaves the larger half of the amounts: one large value among many small ones is to be seen whenever it comes. */
function keepLargest(tally: Map<string, number>): void {
  const values = [...tally].sort(([, a], [, b]) => b - a);
  for (const [value] of values.slice(maxValues / 2)) tally.delete(value);
}

/** A value as part of a key: not too long, and without what separates the parts. */
function keyPart(text: string | undefined): string | undefined {
  if (text === undefined || (text.length <= maxKeyLength && !text.includes(separator))) return text;
  // A copy: a slice would hold the whole text in memory.
  return Buffer.from(text.slice(0, maxKeyLength).replaceAll(separator, "\ufffd")).toString();
}

/** Watches all keys of one rule: takes rows of flows, and says once a second which keys are as the rule says. */
export class RuleWatch {
  readonly rule: Rule;
  readonly keys: Keys;
  readonly #matches: Matches | undefined;
  readonly #by: readonly ColumnReader[];
  readonly #evidence: readonly ColumnReader[];
  readonly #rows: BatchRows;
  readonly #sums: SumWindows;
  readonly #distinct: DistinctWindows | undefined;
  readonly #counted: ColumnReader | undefined;
  readonly #amount: (row: number) => number;
  readonly #times: readonly [start: ColumnReader, end: ColumnReader];
  readonly #closeFrom: number;
  /** Reads rows to be kept; undefined where none are needed. */
  readonly #flows: FlowReader | undefined;
  readonly #close = new Map<number, CloseLook>();
  /** When a key was seen first and last, milliseconds since the epoch. */
  #seen: { first: Float64Array; last: Float64Array } = { first: new Float64Array(0), last: new Float64Array(0) };
  /** Keys with records since the last judgement. */
  readonly #touched = new Set<number>();
  /** When what is to hold for a time began, of keys that are pending, and of those whose alert may end. */
  readonly #holding = new Map<number, number>();
  #sweepAt = 0;
  #capacity = 0;

  /** @param maxKeys at a time. @param now milliseconds since the epoch. @param keepsRows whether rows of what fires are asked for. */
  constructor(rule: Rule, rows: BatchRows, maxKeys: number, now: number, keepsRows = false) {
    this.#flows = keepsRows ? new FlowReader((field) => rows.reader(field)) : undefined;
    this.rule = rule;
    this.keys = new Keys(rule.by.length === 0 ? 1 : maxKeys);
    this.#rows = rows;
    this.#matches = rule.filter && compileFilter(rule.filter);
    this.#by = rule.by.map(({ field }) => rows.reader(field));
    this.#evidence = evidenceFields.map((field) => rows.reader(field));
    this.#sums = new SumWindows(rule.overMs, now);
    const { measure, when } = rule;
    if (measure.kind === "distinct") {
      this.#distinct = new DistinctWindows(rule.overMs, now);
      this.#counted = rows.reader(measure.column.field);
    }
    this.#amount = amountOf(measure.kind, rows);
    this.#times = [rows.reader("flow.start.timestamp"), rows.reader("flow.end.timestamp")];
    const isSum = when.kind === "compare" && when.operator.startsWith(">") && measure.kind !== "distinct";
    this.#closeFrom = isSum ? when.limit * (rule.overMs / second) * closeShare : Infinity;
    // What is to be noticed when it stays away is there from the start.
    if (rule.by.length === 0) this.#seen.last[this.#slot("", now) as number] = now;
  }

  /** How far the window slides, milliseconds. */
  get stepMs(): number {
    return this.#sums.stepMs;
  }

  /** Takes the rows of the batch in use. @param weight how many records each stands for. */
  take(count: number, isFlow: (row: number) => boolean, weight: number, now: number): void {
    this.#sums.advance(now);
    this.#distinct?.advance(now);
    const rows = this.#rows;
    for (let row = 0; row < count; row++) {
      rows.row = row;
      if (!isFlow(row) || this.#matches?.(rows) === false) continue;
      const key = this.#keyOf(row);
      const slot = key === undefined ? undefined : this.#slot(key, now);
      if (slot === undefined) continue;
      this.#seen.last[slot] = now;
      this.#touched.add(slot);
      if (this.#distinct === undefined) this.#count(slot, row, weight, now);
      else {
        const value = this.#counted?.text(row);
        if (value !== undefined) this.#distinct.add(slot, hashOf(value));
        this.#close.get(slot)?.add(this.#evidence, row, weight);
      }
    }
  }

  /** Watches the key of an alert that began before the start. @param since of a silence: when the last record came. */
  resume(key: readonly string[], since: number, now: number): void {
    const slot = this.#slot(key.join(separator), now);
    if (slot === undefined) return;
    this.#seen.last[slot] = this.rule.when.kind === "silent" ? Math.min(since, now) : now;
    this.#holding.set(slot, now);
  }

  /**
   * Judges keys, at most once a second.
   *
   * @param isFiring tells whether a key has an alert that has not ended.
   */
  *judge(now: number, isFiring: (key: readonly string[]) => boolean): Generator<Verdict> {
    this.#sums.advance(now);
    this.#distinct?.advance(now);
    const { when } = this.rule;
    // What is above a limit had records since the last judgement, or held before it.
    const all = when.kind === "silent" || !when.operator.startsWith(">");
    const slots = all ? range(this.keys.end) : [...new Set([...this.#touched, ...this.#holding.keys()])];
    const firing = new Set<number>();
    for (const slot of slots) {
      const name = this.keys.name(slot);
      if (name === undefined) continue;
      const key = name === "" && this.rule.by.length === 0 ? [] : name.split(separator);
      const has = isFiring(key);
      if (has) firing.add(slot);
      const verdict = has ? this.#mayEnd(slot, key, now) : this.#mayBegin(slot, key, now);
      if (verdict !== undefined) yield verdict;
    }
    this.#touched.clear();
    this.#sweep(now, firing);
  }

  /** The evidence of a key, as far as it was looked at closely. */
  top(key: readonly string[]): Top {
    const slot = this.keys.find(key.join(separator));
    return (slot !== undefined && this.#close.get(slot)?.top()) || {};
  }

  /** The values of the steps that are kept, oldest first, in the unit of the measure; empty for distinct values. */
  series(key: readonly string[]): readonly number[] {
    const slot = this.keys.find(key.join(separator));
    if (slot === undefined || this.#distinct !== undefined) return [];
    const sums = this.#sums;
    const values: number[] = [];
    for (let step = sums.first; step <= sums.now; step++)
      values.push(Math.round((sums.step(slot, step) * second) / sums.stepMs));
    return values;
  }

  /** Tells whether the rule counts a row of the batch in use. */
  passes(row: number): boolean {
    this.#rows.row = row;
    return this.#matches?.(this.#rows) !== false;
  }

  /** The rows of a key since it came near its limit; undefined where none were kept. */
  rows(key: readonly string[]): { readonly rows: readonly WeighedRow[]; readonly since: number } | undefined {
    const slot = this.keys.find(key.join(separator));
    const close = slot === undefined ? undefined : this.#close.get(slot);
    return close?.sample && { rows: close.sample.rows(), since: close.since };
  }

  #keyOf(row: number): string | undefined {
    const by = this.#by;
    if (by.length === 0) return "";
    const first = keyPart((by[0] as ColumnReader).text(row));
    if (by.length === 1 || first === undefined) return first;
    let key = first;
    for (let i = 1; i < by.length; i++) {
      const text = keyPart((by[i] as ColumnReader).text(row));
      if (text === undefined) return undefined;
      key += separator + text;
    }
    return key;
  }

  #slot(key: string, now: number): number | undefined {
    const end = this.keys.end;
    const slot = this.keys.slot(key);
    if (slot === undefined) return undefined;
    if (this.keys.end > this.#capacity) this.#grow();
    if (slot >= end || this.#seen.last[slot] === 0) this.#seen.first[slot] = now;
    return slot;
  }

  #grow(): void {
    this.#capacity = Math.max(64, 2 * this.#capacity);
    this.#sums.reserve(this.#distinct === undefined ? this.#capacity : 0);
    this.#distinct?.reserve(this.#capacity);
    const grown = (before: Float64Array): Float64Array => {
      const larger = new Float64Array(this.#capacity);
      larger.set(before);
      return larger;
    };
    this.#seen = { first: grown(this.#seen.first), last: grown(this.#seen.last) };
  }

  #count(slot: number, row: number, weight: number, now: number): void {
    const amount = this.#amount(row) * weight;
    const [start, end] = this.#times;
    const lastsMs = start.has(row) && end.has(row) ? (end.number(row) - start.number(row)) / 1e6 : 0;
    // The clock of the exporter is not asked: the flow is taken to end now, and to be as long as it says.
    const most =
      lastsMs > this.#sums.stepMs ? this.#sums.spread(slot, now - lastsMs, now, amount) : this.#sums.add(slot, amount);
    let close = this.#close.get(slot);
    if (close === undefined && most >= this.#closeFrom && this.#close.size < maxClose)
      this.#close.set(slot, (close = this.#lookClosely(now)));
    if (close === undefined) return;
    close.usedAt = now;
    const flows = this.#flows;
    if (flows !== undefined) close.sample?.add(flows.bytes(row) * weight, () => flows.read(row, now, 0));
    close.add(this.#evidence, row, amount);
  }

  #lookClosely(now: number): CloseLook {
    return new CloseLook(now, this.#flows && new FlowSample(maxSampled, Math.random));
  }

  /** Of a key without an alert. */
  #mayBegin(slot: number, key: readonly string[], now: number): Verdict | undefined {
    const { when } = this.rule;
    if (when.kind === "silent") {
      const since = this.#seen.last[slot] as number;
      const value = (now - since) / second;
      return now - since < when.forMs ? undefined : { key, state: "firing", value, peak: value, since };
    }
    const { value, run, peak, began, isWhole } = this.#look(slot, when, now);
    const hasHeld = run > 0 && run >= when.forMs;
    if (began === undefined && !hasHeld) {
      this.#holding.delete(slot);
      return undefined;
    }
    const since = began === undefined ? now - run : this.#hold(slot, began, isWhole);
    const hasLasted = hasHeld || now - since >= when.forMs;
    // From here on it is asked when the alert ends, records or not.
    if (hasLasted) this.#holding.set(slot, now);
    if (this.#close.size < maxClose && !this.#close.has(slot)) this.#close.set(slot, this.#lookClosely(now));
    return { key, state: hasLasted ? "firing" : "pending", value, peak, since };
  }

  /** Of a key with an alert. */
  #mayEnd(slot: number, key: readonly string[], now: number): Verdict {
    const { when, clear } = this.rule;
    if (when.kind === "silent" || clear === undefined || clear.kind === "silent") {
      const since = this.#seen.last[slot] as number;
      const value = (now - since) / second;
      const isBack = when.kind === "silent" && now - since < when.forMs;
      const isGivenUp = now - since > silentMs;
      return { key, state: isBack || isGivenUp ? "clear" : "firing", value, peak: value, since };
    }
    const { value, began, isWhole } = this.#look(slot, clear, now);
    const peak = this.#look(slot, when, now).peak;
    if (began === undefined) {
      this.#holding.set(slot, now);
      return { key, state: "firing", value, peak, since: now };
    }
    const since = this.#hold(slot, began, isWhole);
    const isOver = now - since >= clear.forMs;
    if (isOver) this.#holding.delete(slot);
    return { key, state: isOver ? "clear" : "firing", value, peak, since };
  }

  /** When a condition that holds began: where it holds in all windows that are kept, when it was seen to hold first. */
  #hold(slot: number, began: number, isWhole: boolean): number {
    const since = isWhole ? Math.min(this.#holding.get(slot) ?? Infinity, began) : began;
    this.#holding.set(slot, since);
    return since;
  }

  /**
   * Looks at the windows that are kept.
   *
   * @returns the present value; the longest time for which the condition held, milliseconds; the most extreme value then; when the
   * condition began that holds at present, undefined where it does not.
   */
  #look(slot: number, condition: Condition & { kind: "compare" }, now: number): Look {
    const isAbove = condition.operator.startsWith(">");
    if (this.#distinct !== undefined) {
      const value = this.#distinct.count(slot);
      const isKnown = isAbove || now - (this.#seen.first[slot] as number) >= this.rule.overMs;
      const does = isKnown && holds(condition, value);
      return { value, run: 0, peak: value, began: does ? now : undefined, isWhole: true };
    }
    const sums = this.#sums;
    const scale = second / this.rule.overMs;
    // A step that goes on is too small as yet: that says nothing of a value below.
    const last = isAbove ? sums.now : sums.now - 1;
    const first = Math.max(
      sums.first + windowSteps - 1,
      isAbove ? 0 : Math.floor((this.#seen.first[slot] as number) / sums.stepMs) + windowSteps,
    );
    let value = 0;
    let peak = isAbove ? 0 : Infinity;
    let steps = 0;
    let longest = 0;
    for (let end = first; end <= last; end++) {
      value = sums.sum(slot, end) * scale;
      if (holds(condition, value)) {
        steps++;
        if (steps > longest) longest = steps;
        peak = isAbove ? Math.max(peak, value) : Math.min(peak, value);
      } else steps = 0;
    }
    const began = steps === 0 ? undefined : (last - steps + 1) * sums.stepMs;
    return {
      value: Math.round(value),
      run: longest * sums.stepMs,
      peak: Math.round(Number.isFinite(peak) ? peak : value),
      began,
      isWhole: steps === last - first + 1,
    };
  }

  /** Forgets keys that had no records for a while: some at a time. */
  #sweep(now: number, firing: ReadonlySet<number>): void {
    if (this.rule.by.length === 0) return;
    const { when, overMs } = this.rule;
    const keepMs = when.kind === "silent" ? silentMs : Math.max(2 * overMs, 2 * overMs + 60_000, when.forMs);
    const count = Math.ceil(this.keys.end / 16);
    for (let i = 0; i < count; i++) {
      const slot = this.#sweepAt++ % Math.max(1, this.keys.end);
      if (firing.has(slot) || this.#holding.has(slot) || this.keys.name(slot) === undefined) continue;
      if (now - (this.#seen.last[slot] as number) < keepMs) continue;
      this.keys.forget(slot);
      this.#sums.clear(slot);
      this.#distinct?.clear(slot);
      this.#close.delete(slot);
      this.#seen.last[slot] = 0;
    }
    for (const [slot, { usedAt }] of this.#close)
      if (now - usedAt > keepMs && !firing.has(slot)) this.#close.delete(slot);
  }
}

interface Look {
  readonly value: number;
  readonly run: number;
  readonly peak: number;
  readonly began: number | undefined;
  /** True if it holds in all windows that are kept. */
  readonly isWhole: boolean;
}

function* range(end: number): Generator<number> {
  for (let i = 0; i < end; i++) yield i;
}

function amountOf(kind: Rule["measure"]["kind"], rows: BatchRows): (row: number) => number {
  if (kind !== "bits" && kind !== "packets") return () => 1;
  const name = kind === "bits" ? "bytes" : "packets";
  const factor = kind === "bits" ? 8 : 1;
  const [plain, scaled] = [rows.reader(`flow.${name}`), rows.reader(`flow.scaled.${name}`)];
  return (row) => factor * (scaled.has(row) ? scaled.number(row) : plain.number(row));
}

/** FNV-1a with a final mix: neighbouring texts are to be far apart. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The columns that a rule needs. */
export function fieldsOf({ filter, by, measure }: Rule): readonly string[] {
  const fields = [...flowFields, ...evidenceFields, ...by.map((column: Column) => column.field)];
  if (measure.kind === "distinct") fields.push(measure.column.field);
  if (filter !== undefined) fields.push(...filterFields(filter));
  return fields;
}

function filterFields(filter: NonNullable<Rule["filter"]>): readonly string[] {
  if ("fields" in filter) return filter.fields;
  return filter.kind === "not" ? filterFields(filter.filter) : filter.filters.flatMap(filterFields);
}
