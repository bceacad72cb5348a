import { isDeepStrictEqual } from "node:util";
import { compileFilter, type Matches } from "../record/index.ts";
import { FlowReader, type WeighedRow } from "./answers/index.ts";
import { networkOf, type Reader, type Rows } from "./batch-rows.ts";
import { CloseLook, evidenceFields, type Top } from "./close-look.ts";
import { type Comparison } from "./condition.ts";
import { boundOf, SeenKeys, UsualValues, type History } from "./history.ts";
import { createValues, measuredFields, type Look, type Values } from "./measures.ts";
import { speedFieldOf, type Rule } from "./rule.ts";
import { hashOf, Keys, KeySketch, SlotCache, windowSteps } from "./windows.ts";

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
  /** The limit that it is compared with, in the unit of the measure. */
  readonly limit?: number;
  /** How the value, or the limit, was come by, where that is not plain. */
  readonly note?: string | undefined;
}

const estimateNote = "an estimate, within some percent";
const separator = "\0";
const second = 1000;
/** A key is looked at closely when a step of it has this part of what a whole window would need. */
const closeShare = 1 / (2 * windowSteps);
const placeNote = "counted from a twentieth of the limit on: there are more keys than SVC_WATCH_MAX_KEYS";
/** A key takes the place of another one from this part of what a whole window would need; so much is missing of it then. */
const placeShare = 1 / 20;
/** Keys that are asked for their place at a time: random keys are not to cost more. */
const placeTries = 16;
/** Keys that are looked at closely at a time. */
const maxClose = 200;
/** What is longer is cut: exporters send texts of 60 KB, too, and a rule keeps as many keys as there are. */
const maxKeyLength = 256;
/** How long a key that is silent for good is remembered. */
const silentMs = 7 * 86_400_000;
/** Devices are asked every few minutes: a key without records lives for so long. */
const devicesMs = 30 * 60_000;
/** A beat that comes less often is none. */
const beatsMs = 3 * 3_600_000;
/** How long there is an alert about what is new. */
const newMs = 3_600_000;

/** Fields that every rule needs of a flow. */
export const flowFields: readonly string[] = [
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

/** How many keys there may be of a rule. */
export interface KeyLimits {
  /** At a time. */
  readonly keys: number;
  /** In its history. */
  readonly history: number;
}

/** A value as part of a key: not too long, and without what separates the parts. */
function keyPart(text: string | undefined): string | undefined {
  if (text === undefined || (text.length <= maxKeyLength && !text.includes(separator))) return text;
  // A copy: a slice would hold the whole text in memory.
  return Buffer.from(text.slice(0, maxKeyLength).replaceAll(separator, "\ufffd")).toString();
}

/** Watches all keys of one rule: takes rows of flows, and says once a second which keys are as the rule says. */
export class RuleWatch {
  readonly keys: Keys;
  #rule: Rule;
  readonly #matches: Matches | undefined;
  readonly #by: readonly Reader[];
  readonly #evidence: readonly Reader[];
  readonly #rows: Rows;
  readonly #values: Values;
  /** The speed of the interface of a key, where a limit is about it. */
  readonly #speed: Reader | undefined;
  readonly #speeds: number[] = [];
  readonly #usual: UsualValues | undefined;
  readonly #known: SeenKeys | undefined;
  readonly #isAbove: boolean;
  readonly #closeFrom: number;
  /** Reads rows to be kept; undefined where none are asked for. */
  readonly #flows: FlowReader | undefined;
  readonly #close = new Map<number, CloseLook>();
  /** When a key was seen first and last, milliseconds since the epoch. */
  #seen: { first: Float64Array; last: Float64Array } = { first: new Float64Array(0), last: new Float64Array(0) };
  /** Keys with records since the last judgement. */
  #touched: number[] = [];
  #isTouched = new Uint8Array(0);
  /** Undefined where every record needs the text of its key. */
  #cache: SlotCache | undefined;
  /** That of the record that is read has as many numbers; 0: it has none. */
  #width = 0;
  readonly #numbers: Uint32Array;
  /** A slot that the cache may know has been forgotten. */
  #isStale = false;
  /** When what is to hold for a time began, of keys that are pending, and of those whose alert may end. */
  readonly #holding = new Map<number, number>();
  /** When the last alert of a key ended: what is still in its windows of the time before is no new one. */
  readonly #ended = new Map<number, number>();
  #sweepAt = 0;
  /** Of keys for which there is no place; from some size on they get one. */
  #sketch: KeySketch | undefined;
  readonly #seed: number;
  readonly #placeFrom: number;
  #placeAt = 0;
  /** Keys that took the place of others. */
  readonly #late = new Set<number>();
  #capacity = 0;

  /** @param now milliseconds since the epoch. @param keepsRows whether rows of what fires are asked for. */
  constructor(rule: Rule, rows: Rows, limits: KeyLimits, now: number, keepsRows = false) {
    this.#flows = keepsRows ? new FlowReader((field) => rows.reader(field)) : undefined;
    this.#rule = rule;
    this.keys = new Keys(rule.by.length === 0 ? 1 : limits.keys);
    this.#rows = rows;
    this.#matches = rule.filter && compileFilter(rule.filter);
    this.#by = rule.by.map(({ field, bits }) => keyReader(rows.reader(field), bits));
    this.#evidence = rule.of === "flow" ? evidenceFields.map((field) => rows.reader(field)) : [];
    this.#values = createValues(rule, rows, now);
    const { measure, when } = rule;
    const isCompare = when.kind === "compare";
    this.#isAbove = isCompare && when.operator.startsWith(">");
    if (when.kind === "new") this.#known = new SeenKeys(limits.history, when.afterMs, now);
    if (isCompare && when.unit === "usual") this.#usual = new UsualValues(limits.history, rule.least, now);
    const speed = isCompare && when.unit === "speed" ? speedFieldOf(rule.by) : undefined;
    if (speed !== undefined) this.#speed = rows.reader(speed);
    const isSum = isCompare && this.#isAbove && when.unit === "plain";
    const isRate = measure.kind === "bits" || measure.kind === "packets" || measure.kind === "flows";
    this.#closeFrom = isSum && isRate ? when.limit * (rule.overMs / second) * closeShare : Infinity;
    const isSized = isSum && (isRate || measure.kind === "records" || measure.kind === "distinct");
    this.#placeFrom = isSized ? placeShare * when.limit * (isRate ? rule.overMs / second : 1) : Infinity;
    this.#seed = Math.floor(Math.random() * 2 ** 32);
    this.#numbers = new Uint32Array(mostWords * rule.by.length);
    if (rule.by.length > 0 && this.#known === undefined) this.#cache = new SlotCache(this.#seed);
    // What is to be noticed when it stays away is there from the start.
    if (rule.by.length === 0) this.#seen.last[this.#slot("", now) as number] = now;
  }

  get rule(): Rule {
    return this.#rule;
  }

  /** Whether rows of what fires are kept. */
  get keepsRows(): boolean {
    return this.#flows !== undefined;
  }

  /** Takes what another form of the rule says, and to whom. @returns false where it counts or judges otherwise: then nothing is taken. */
  takeWording(rule: Rule): boolean {
    const { say, act } = this.#rule;
    const isSame = isDeepStrictEqual({ ...rule, say, act }, this.#rule);
    if (isSame) this.#rule = rule;
    return isSame;
  }

  /** How far the window slides, milliseconds. */
  get stepMs(): number {
    return this.#values.stepMs;
  }

  /** What its history is about: one of another rule is none. */
  get identity(): string {
    const { of, filter, by, measure, overMs, when } = this.rule;
    const plain = (_name: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);
    return JSON.stringify([of, filter, by.map(({ field, bits }) => [field, bits]), measure, overMs, when.kind], plain);
  }

  /** What it keeps of the time before; undefined where it needs nothing. */
  get history(): History | undefined {
    return this.#usual ?? this.#known;
  }

  /** Takes the rows of the batch in use. @param weight how many records each stands for. */
  take(count: number, isMeant: (row: number) => boolean, weight: number, now: number): void {
    const values = this.#values;
    values.advance(now);
    const rows = this.#rows;
    for (let row = 0; row < count; row++) {
      rows.row = row;
      if (!isMeant(row) || this.#matches?.(rows) === false) continue;
      values.takeAny?.(row, weight, now);
      const cached = this.#cached(row);
      const slot = cached < 0 ? this.#slotOf(row, weight, now) : cached;
      if (slot === undefined) continue;
      this.#seen.last[slot] = now;
      if (this.#isTouched[slot] === 0) {
        this.#isTouched[slot] = 1;
        this.#touched.push(slot);
      }
      if (this.#speed?.has(row) === true) this.#speeds[slot] = this.#speed.number(row);
      const { amount, most } = values.take(slot, row, weight, now);
      let close = this.#close.size === 0 ? undefined : this.#close.get(slot);
      if (close === undefined && most >= this.#closeFrom && this.#close.size < maxClose)
        this.#close.set(slot, (close = new CloseLook(now, this.#flows !== undefined)));
      if (close === undefined || amount === 0) continue;
      close.usedAt = now;
      close.add(this.#evidence, row, amount);
      this.#flows?.keep(close.sample, row, weight, now);
    }
  }

  /** Watches the key of an alert that began before the start. @param since of a silence: when the last record came. */
  resume(key: readonly string[], since: number, now: number): void {
    const slot = this.#slot(key.join(separator), now);
    if (slot === undefined) return;
    const { kind } = this.rule.when;
    this.#seen.last[slot] = kind === "silent" ? Math.min(since, now) : now;
    if (kind === "new") this.#seen.first[slot] = Math.min(since, now);
    this.#holding.set(slot, now);
  }

  /**
   * Judges keys, at most once a second.
   *
   * @param isFiring tells whether a key has an alert that has not ended.
   */
  *judge(now: number, isFiring: (key: readonly string[]) => boolean): Generator<Verdict> {
    this.#values.advance(now);
    this.history?.advance(now);
    const { when } = this.rule;
    // What is above a limit had records since the last judgement, or held before it.
    const all = when.kind !== "compare" || !when.operator.startsWith(">");
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
    for (const slot of this.#touched) this.#isTouched[slot] = 0;
    this.#touched = [];
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
    return slot === undefined ? [] : this.#values.series(slot);
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

  /** The slot of a record whose key came before; -1: its key has to be read. */
  #cached(row: number): number {
    this.#width = 0;
    const cache = this.#cache;
    if (cache === undefined) return -1;
    const by = this.#by;
    let width = 0;
    for (let i = 0; i < by.length; i++) {
      const end = by[i]?.words?.(row, this.#numbers, width) ?? width;
      if (end === width) return -1;
      width = end;
    }
    this.#width = width;
    if (!this.#isStale) return cache.find(this.#numbers, width);
    this.#isStale = false;
    cache.clear();
    return -1;
  }

  /** The slot of a record by the text of its key; undefined: it has none, or there is no place. */
  #slotOf(row: number, weight: number, now: number): number | undefined {
    const key = this.#keyOf(row);
    if (key === undefined || (this.#known !== undefined && !this.#known.see(key, now))) return undefined;
    const slot = this.#slot(key, now) ?? this.#takePlace(key, row, weight, now);
    if (slot !== undefined && this.#width > 0 && !this.#isStale)
      this.#cache?.put(this.#numbers, this.#width, slot, this.keys.count);
    return slot;
  }

  #keyOf(row: number): string | undefined {
    const by = this.#by;
    if (by.length === 0) return "";
    const first = keyPart((by[0] as Reader).text(row));
    if (by.length === 1 || first === undefined) return first;
    let key = first;
    for (let i = 1; i < by.length; i++) {
      const text = keyPart((by[i] as Reader).text(row));
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

  /** Gives a key that became large the place of one that is small; undefined where it is none, or none is found soon. */
  #takePlace(key: string, row: number, weight: number, now: number): number | undefined {
    const values = this.#values;
    if (this.#placeFrom === Infinity || values.bound === undefined || values.isBelow === undefined) return undefined;
    this.#sketch ??= new KeySketch(this.rule.overMs, now);
    const amount = values.bound(row, weight);
    if (this.#sketch.add(hashOf(key, this.#seed), amount, now) < this.#placeFrom) return undefined;
    for (let i = 0; i < placeTries; i++) {
      const slot = this.#placeAt++ % this.keys.end;
      if (this.#holding.has(slot) || !values.isBelow(slot, this.#placeFrom)) continue;
      this.#forget(slot);
      const taken = this.#slot(key, now);
      this.keys.refused--;
      if (taken !== undefined) this.#late.add(taken);
      return taken;
    }
    return undefined;
  }

  #grow(): void {
    this.#capacity = Math.max(64, 2 * this.#capacity);
    if (this.#known === undefined) this.#values.reserve(this.#capacity);
    const grown = (before: Float64Array): Float64Array => {
      const larger = new Float64Array(this.#capacity);
      larger.set(before);
      return larger;
    };
    this.#seen = { first: grown(this.#seen.first), last: grown(this.#seen.last) };
    const isTouched = new Uint8Array(this.#capacity);
    isTouched.set(this.#isTouched);
    this.#isTouched = isTouched;
  }

  /** Of a key without an alert. */
  #mayBegin(slot: number, key: readonly string[], now: number): Verdict | undefined {
    const { when } = this.rule;
    const [first, last] = [this.#seen.first[slot] as number, this.#seen.last[slot] as number];
    if (when.kind === "silent") {
      const value = (now - last) / second;
      return now - last < when.forMs ? undefined : { key, state: "firing", value, peak: value, since: last };
    }
    if (when.kind === "new") return { key, state: "firing", value: 1, peak: 1, since: first };
    const { look, limit, note } = this.#look(slot, when, now);
    const { value, run, peak, began, isWhole } = look;
    this.#usual?.note(key.join(separator), look.most);
    const hasHeld = run > 0 && run >= when.forMs;
    if (began === undefined && !hasHeld) {
      this.#holding.delete(slot);
      return undefined;
    }
    const since = began === undefined ? now - run : this.#hold(slot, began, isWhole);
    const hasLasted = hasHeld || now - since >= when.forMs;
    // From here on it is asked when the alert ends, records or not.
    if (hasLasted) this.#holding.set(slot, now);
    if (this.#close.size < maxClose && !this.#close.has(slot))
      this.#close.set(slot, new CloseLook(now, this.#flows !== undefined));
    return { key, state: hasLasted ? "firing" : "pending", value, peak, since, limit, note };
  }

  /** Of a key with an alert. */
  #mayEnd(slot: number, key: readonly string[], now: number): Verdict {
    const { when, clear } = this.rule;
    const [first, last] = [this.#seen.first[slot] as number, this.#seen.last[slot] as number];
    if (when.kind === "new") {
      const isOver = now - first >= newMs;
      if (isOver) this.#forget(slot);
      return { key, state: isOver ? "clear" : "firing", value: 1, peak: 1, since: first };
    }
    if (when.kind === "silent" || clear?.kind !== "compare") {
      const value = (now - last) / second;
      const isBack = when.kind === "silent" && now - last < when.forMs;
      const isGivenUp = now - last > silentMs;
      return { key, state: isBack || isGivenUp ? "clear" : "firing", value, peak: value, since: last };
    }
    const { value, began, isWhole } = this.#look(slot, clear, now).look;
    const { look, limit, note } = this.#look(slot, when, now);
    this.#usual?.note(key.join(separator), look.most);
    const { peak } = look;
    if (began === undefined) {
      this.#holding.set(slot, now);
      return { key, state: "firing", value, peak, since: now, limit, note };
    }
    const since = this.#hold(slot, began, isWhole);
    const isOver = now - since >= clear.forMs;
    if (isOver) {
      this.#holding.delete(slot);
      this.#ended.set(slot, now);
    }
    return { key, state: isOver ? "clear" : "firing", value, peak, since, limit, note };
  }

  /** When a condition that holds began: where it holds in all windows that are kept, when it was seen to hold first. */
  #hold(slot: number, began: number, isWhole: boolean): number {
    const since = isWhole ? Math.min(this.#holding.get(slot) ?? Infinity, began) : began;
    this.#holding.set(slot, since);
    return since;
  }

  /** Looks at a key. Its limit is no number where nobody knows it: then no condition holds. */
  #look(slot: number, condition: Comparison, now: number): { look: Look; limit: number; note: string | undefined } {
    const { measure, least } = this.rule;
    const { operator, unit } = condition;
    let { limit } = condition;
    let note = this.#late.has(slot) ? placeNote : measure.kind === "distinct" ? estimateNote : undefined;
    if (unit === "speed") limit *= (this.#speeds[slot] ?? Number.NaN) / 100;
    if (unit === "usual") {
      const usual = this.#usual?.usual(this.keys.name(slot) ?? "");
      limit = usual === undefined ? Number.NaN : boundOf(usual, limit);
      if (usual !== undefined) note = `usual at this hour: ${Math.round(usual.median)}`;
    }
    // The share has a floor of its own.
    if (measure.kind !== "share" && this.#isAbove) limit = Math.max(limit, least);
    const first = this.#seen.first[slot] as number;
    const look = this.#values.look(slot, operator, limit, first, now, this.#ended.get(slot));
    return { look, limit, note };
  }

  /** Forgets keys that had no records for a while: some at a time. */
  #sweep(now: number, firing: ReadonlySet<number>): void {
    if (this.rule.by.length === 0) return;
    const { when, overMs, of, measure } = this.rule;
    const heldMs = when.kind === "compare" ? when.forMs : 0;
    const restMs = measure.kind === "beats" ? beatsMs : of === "flow" ? 60_000 : devicesMs;
    const keepMs = when.kind === "compare" ? Math.max(2 * overMs + restMs, heldMs) : silentMs;
    const count = Math.ceil(this.keys.end / 16);
    for (let i = 0; i < count; i++) {
      const slot = this.#sweepAt++ % Math.max(1, this.keys.end);
      if (firing.has(slot) || this.#holding.has(slot) || this.keys.name(slot) === undefined) continue;
      if (now - (this.#seen.last[slot] as number) < keepMs) continue;
      this.#forget(slot);
    }
    for (const [slot, { usedAt }] of this.#close)
      if (now - usedAt > keepMs && !firing.has(slot)) this.#close.delete(slot);
  }

  #forget(slot: number): void {
    this.keys.forget(slot);
    if (this.#known === undefined) this.#values.clear(slot);
    this.#speeds[slot] = Number.NaN;
    this.#close.delete(slot);
    this.#late.delete(slot);
    this.#ended.delete(slot);
    this.#isStale = true;
    this.#seen.last[slot] = 0;
  }
}

/** Numbers that a reader has for a value at most. */
const mostWords = 4;
const maxNetworks = 10_000;

/** Reads values as parts of keys: of addresses their networks. */
function keyReader(reader: Reader, bits: number | undefined): Reader {
  if (bits === undefined) return reader;
  const networks = new Map<string, string>();
  return {
    has: (row) => reader.has(row),
    number: (row) => reader.number(row),
    words: (row, to, at) => reader.words?.(row, to, at) ?? at,
    text(row) {
      const text = reader.text(row);
      if (text === undefined) return undefined;
      let network = networks.get(text);
      if (network === undefined) {
        if (networks.size >= maxNetworks) networks.clear();
        networks.set(text, (network = networkOf(text, bits)));
      }
      return network;
    },
  };
}

function* range(end: number): Generator<number> {
  for (let i = 0; i < end; i++) yield i;
}

/** The columns that a rule on flows needs. */
export function fieldsOf(rule: Rule): readonly string[] {
  const { filter, by } = rule;
  const speed = speedFieldOf(by);
  return [
    ...flowFields,
    ...evidenceFields,
    ...by.map(({ field }) => field),
    ...measuredFields(rule),
    ...(speed === undefined ? [] : [speed]),
    ...(filter === undefined ? [] : filterFields(filter)),
  ];
}

function filterFields(filter: NonNullable<Rule["filter"]>): readonly string[] {
  if ("fields" in filter) return filter.fields;
  return filter.kind === "not" ? filterFields(filter.filter) : filter.filters.flatMap(filterFields);
}
