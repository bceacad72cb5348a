import { isDeepStrictEqual } from "node:util";
import { FlowReader, type WeighedRow } from "./answers/index.ts";
import { keyPart, keyReader, keySeparator, type Reader, type Rows } from "./batch-rows.ts";
import { CloseLook, evidenceFields, type Top } from "./close-look.ts";
import { type Comparison } from "./condition.ts";
import { boundOf, SeenKeys, UsualValues, type History } from "./history.ts";
import { createValues, type Look, type RowRoom, type Values } from "./measures.ts";
import { compileRowFilter, type RowFilter } from "./row-filter.ts";
import { speedFieldOf, type Rule } from "./rule.ts";
import { KeyCache } from "./value-codes.ts";
import { hashOf, Keys, KeySketch, longer, windowSteps } from "./windows.ts";

/** The judgement of a key that is not calm. */
export interface Verdict {
  /** The values of the fields of `by`, in order. */
  readonly key: readonly string[];
  readonly state: "pending" | "firing" | "clear";
  /** The value in the unit of the measure. For silence, its duration in seconds. */
  readonly value: number;
  /** The recent maximum, which an alert of late records is about. */
  readonly peak: number;
  /** When the present state began, in milliseconds since the epoch. */
  readonly since: number;
  /** The limit, in the unit of the measure. */
  readonly limit?: number;
  /** An explanation of the value or the limit, where it is not obvious. */
  readonly note?: string | undefined;
}

const estimateNote = "an estimate, within some percent";
const second = 1000;
/** A key is examined closely when one of its steps reaches this share of what a whole window needs. */
const closeShare = 1 / (2 * windowSteps);
const placeNote = "counted from a twentieth of the limit on: there are more keys than SVC_WATCH_MAX_KEYS";
/** A key may replace another one from this share of what a whole window needs. That share is then missing from its count. */
const placeShare = 1 / 20;
/** Number of keys considered for replacement at a time, so that random keys cost no more. */
const placeTries = 16;
/** Maximum number of keys examined closely at a time. */
const maxClose = 200;
/** Time for which a silent key is remembered. */
const silentMs = 7 * 86_400_000;
/** Lifetime of a key without records. Devices are polled only every few minutes. */
const devicesMs = 30 * 60_000;
/** A beat with a longer interval does not count. */
const beatsMs = 3 * 3_600_000;
/** Duration of an alert about something new. */
const newMs = 3_600_000;

/** The limits on the number of keys of a rule. */
export interface KeyLimits {
  /** Maximum at a time. */
  readonly keys: number;
  /** Maximum in its history. */
  readonly history: number;
}

/** Watches all keys of one rule: takes rows of flows, and judges once a second which keys meet the condition. */
export class RuleWatch {
  readonly keys: Keys;
  #rule: Rule;
  readonly #filter: RowFilter | undefined;
  readonly #by: readonly Reader[];
  readonly #evidence: readonly Reader[];
  readonly #rows: Rows;
  readonly #values: Values;
  /** Reads the speed of a key's interface, where a limit is relative to it. */
  readonly #speed: Reader | undefined;
  readonly #speeds: number[] = [];
  readonly #usual: UsualValues | undefined;
  readonly #known: SeenKeys | undefined;
  readonly #isAbove: boolean;
  readonly #closeFrom: number;
  /** The value of `most` for a row from which its key may be above its limit. */
  readonly #nearFrom: number;
  /** Reads rows to keep; undefined where no rows are asked for. */
  readonly #flows: FlowReader | undefined;
  readonly #close = new Map<number, CloseLook>();
  /** When each key was first seen, last seen, and last had a large step, in milliseconds since the epoch. */
  #seen = { first: new Float64Array(0), last: new Float64Array(0), large: new Float64Array(0) };
  /** Keys with records since the last judgement that may be above their limit. */
  #touched: number[] = [];
  #isTouched = new Uint8Array(0);
  /** Undefined where every record needs the text of its key. */
  readonly #cache: KeyCache | undefined;
  /** When the condition began that must hold for a time: of pending keys, and of those whose alert may end. */
  readonly #holding = new Map<number, number>();
  /** When the last alert of a key ended. Earlier traffic that is still in its windows must not begin a new one. */
  readonly #ended = new Map<number, number>();
  #sweepAt = 0;
  /** Estimates the keys without a slot. A key that grows large enough gets one. */
  #sketch: KeySketch | undefined;
  readonly #seed: number;
  readonly #placeFrom: number;
  #placeAt = 0;
  /** Keys that replaced others. */
  readonly #late = new Set<number>();
  #capacity = 0;

  /** @param now milliseconds since the epoch. @param keepsRows true where rows of firing keys are asked for. */
  constructor(rule: Rule, rows: Rows, limits: KeyLimits, now: number, keepsRows = false) {
    this.#flows = keepsRows ? new FlowReader((field) => rows.reader(field)) : undefined;
    this.#rule = rule;
    this.keys = new Keys(rule.by.length === 0 ? 1 : limits.keys);
    this.#rows = rows;
    this.#filter = rule.filter && compileRowFilter(rule.filter, rows);
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
    this.#nearFrom = isSum && !isRate ? (this.#values.nearFrom?.(when.limit) ?? Infinity) : this.#closeFrom;
    const isSized = isSum && (isRate || measure.kind === "records" || measure.kind === "distinct");
    this.#placeFrom = isSized ? placeShare * when.limit * (isRate ? rule.overMs / second : 1) : Infinity;
    this.#seed = Math.floor(Math.random() * 2 ** 32);
    if (rule.by.length > 0 && this.#known === undefined) this.#cache = new KeyCache(rule.by.length, this.#seed);
    // A rule about missing records watches its single series from the start.
    if (rule.by.length === 0) this.#seen.last[this.#slot("", now) as number] = now;
  }

  get rule(): Rule {
    return this.#rule;
  }

  /** True where rows of firing keys are kept. */
  get keepsRows(): boolean {
    return this.#flows !== undefined;
  }

  /** Takes the texts and actions of another version of the rule. @returns false, without a change, where that version counts or judges differently. */
  takeWording(rule: Rule): boolean {
    const { say, act } = this.#rule;
    const isSame = isDeepStrictEqual({ ...rule, say, act }, this.#rule);
    if (isSame) this.#rule = rule;
    return isSame;
  }

  /** Distance in milliseconds by which the window slides. */
  get stepMs(): number {
    return this.#values.stepMs;
  }

  /** The identity of its history. The history of another rule does not fit. */
  get identity(): string {
    const { of, filter, by, measure, overMs, when } = this.rule;
    const plain = (_name: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);
    return JSON.stringify([of, filter, by.map(({ field, bits }) => [field, bits]), measure, overMs, when.kind], plain);
  }

  /** The knowledge about earlier times; undefined where it needs none. */
  get history(): History | undefined {
    return this.#usual ?? this.#known;
  }

  /**
   * Takes rows of those in use.
   *
   * @param meant the rows, in the first `count` places.
   * @param room buffers for as many rows.
   * @param weight the number of records that each stands for.
   */
  take(meant: Uint32Array, count: number, room: RowRoom, weight: number, now: number): void {
    this.#values.advance?.(now);
    const filter = this.#filter;
    const rows = filter === undefined ? meant : room.passing;
    const kept = filter === undefined ? count : filter.keep(meant, count, room.passing);
    if (kept === 0) return;
    this.#values.use?.();
    const cache = this.#cache;
    cache?.use(this.rule.by.map(({ field }) => this.#rows.codes(field)));
    let [counted, found] = [0, 0];
    const countFound = (): void => {
      this.#count(rows, room, counted, found, weight, now);
      counted = found;
    };
    for (let i = 0; i < kept; i++) {
      const row = rows[i] as number;
      let slot = cache === undefined ? -1 : cache.find(row);
      if (slot < 0) {
        found = i;
        slot = this.#slotOf(row, weight, now, countFound) ?? -1;
      }
      room.slots[i] = slot;
    }
    found = kept;
    countFound();
  }

  /** Counts a range of rows whose slots are known. */
  #count(rows: Uint32Array, room: RowRoom, from: number, to: number, weight: number, now: number): void {
    this.#values.take(rows, room, from, to, weight, now);
    const { slots, amounts, most } = room;
    const { last, large } = this.#seen;
    const [closeFrom, nearFrom, coldFrom] = [this.#closeFrom, this.#nearFrom, this.#coldFrom(now)];
    const [isTouched, touched, close, speed] = [this.#isTouched, this.#touched, this.#close, this.#speed];
    for (let i = from; i < to; i++) {
      const slot = slots[i] as number;
      if (slot < 0) continue;
      last[slot] = now;
      const greatest = most[i] as number;
      if (greatest >= nearFrom) large[slot] = now;
      if (isTouched[slot] === 0 && (large[slot] as number) >= coldFrom) {
        isTouched[slot] = 1;
        touched.push(slot);
      }
      if (speed?.has(rows[i] as number) === true) this.#speeds[slot] = speed.number(rows[i] as number);
      if (close.size > 0 || greatest >= closeFrom)
        this.#lookClosely(slot, rows[i] as number, amounts[i] as number, greatest >= closeFrom, weight, now);
    }
  }

  /** Adds a row to the evidence of its key, where the key is near its limit. */
  #lookClosely(slot: number, row: number, amount: number, isNear: boolean, weight: number, now: number): void {
    let close = this.#close.get(slot);
    if (close === undefined && isNear && this.#close.size < maxClose)
      this.#close.set(slot, (close = new CloseLook(now, this.#flows !== undefined)));
    if (close === undefined || amount === 0) return;
    close.usedAt = now;
    close.add(this.#evidence, row, amount);
    this.#flows?.keep(close.sample, row, weight, now);
  }

  /** Watches the key of an alert that began before the start. @param since for silence, the time of the last record. */
  resume(key: readonly string[], since: number, now: number): void {
    const slot = this.#slot(key.join(keySeparator), now);
    if (slot === undefined) return;
    const { kind } = this.rule.when;
    this.#seen.last[slot] = kind === "silent" ? Math.min(since, now) : now;
    if (kind === "new") this.#seen.first[slot] = Math.min(since, now);
    this.#holding.set(slot, now);
  }

  /**
   * Judges keys, at most once a second.
   *
   * @param isFiring reports whether a key has an alert that has not ended.
   */
  *judge(now: number, isFiring: (key: readonly string[]) => boolean): Generator<Verdict> {
    this.#values.advance?.(now);
    this.history?.advance(now);
    const { when } = this.rule;
    // A key above a limit had records since the last judgement, or was above it before.
    const all = when.kind !== "compare" || !when.operator.startsWith(">");
    const slots = all ? range(this.keys.end) : [...new Set([...this.#touched, ...this.#holding.keys()])];
    const firing = new Set<number>();
    for (const slot of slots) {
      const name = this.keys.name(slot);
      if (name === undefined) continue;
      const key = name === "" && this.rule.by.length === 0 ? [] : name.split(keySeparator);
      const has = isFiring(key);
      if (has) firing.add(slot);
      const verdict = has ? this.#mayEnd(slot, key, now) : this.#mayBegin(slot, key, now);
      if (verdict !== undefined) yield verdict;
    }
    for (const slot of this.#touched) this.#isTouched[slot] = 0;
    this.#touched = [];
    this.#sweep(now, firing);
  }

  /** Returns the evidence of a key, as far as it was collected. */
  top(key: readonly string[]): Top {
    const slot = this.keys.find(key.join(keySeparator));
    return (slot !== undefined && this.#close.get(slot)?.top()) || {};
  }

  /** Returns the values of the kept steps, oldest first, in the unit of the measure; empty for distinct values. */
  series(key: readonly string[]): readonly number[] {
    const slot = this.keys.find(key.join(keySeparator));
    return slot === undefined ? [] : (this.#values.series?.(slot) ?? []);
  }

  /** Reports whether the rule counts a row of the batch in use. */
  passes(row: number): boolean {
    return this.#filter?.passes(row) !== false;
  }

  /** Returns the rows of a key since it came near its limit; undefined where none were kept. */
  rows(key: readonly string[]): { readonly rows: readonly WeighedRow[]; readonly since: number } | undefined {
    const slot = this.keys.find(key.join(keySeparator));
    const close = slot === undefined ? undefined : this.#close.get(slot);
    return close?.sample && { rows: close.sample.rows(), since: close.since };
  }

  /**
   * Returns a time. A key that has not been near its limit since then cannot be above it: a window of ten steps above a limit has a step above a tenth
   * of it. All other keys are judged when they have records.
   */
  #coldFrom(now: number): number {
    const { keptMs } = this.#values;
    return this.#nearFrom === Infinity || keptMs === undefined ? 0 : now - keptMs;
  }

  /** Returns the slot of a record by the text of its key; undefined without a key or a place. @param countFound counts the records before it. */
  #slotOf(row: number, weight: number, now: number, countFound: () => void): number | undefined {
    const key = this.#keyOf(row);
    if (key === undefined || (this.#known !== undefined && !this.#known.see(key, now))) return undefined;
    const slot = this.#slot(key, now) ?? this.#takePlace(key, row, weight, now, countFound);
    this.#cache?.put(slot, this.keys.count);
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
      key += keySeparator + text;
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

  /** Gives a key that became large the place of a small one. Returns undefined where it is not large, or where no small one is found soon. */
  #takePlace(key: string, row: number, weight: number, now: number, countFound: () => void): number | undefined {
    const values = this.#values;
    if (this.#placeFrom === Infinity || values.bound === undefined || values.isBelow === undefined) return undefined;
    this.#sketch ??= new KeySketch(this.rule.overMs, now);
    const amount = values.bound(row, weight);
    if (this.#sketch.add(hashOf(key, this.#seed), amount, now) < this.#placeFrom) return undefined;
    // Records of the replaced key must not count for the new one.
    countFound();
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
    if (this.#known === undefined) this.#values.reserve?.(this.#capacity);
    const { first, last, large } = this.#seen;
    const capacity = this.#capacity;
    this.#seen = { first: longer(first, capacity), last: longer(last, capacity), large: longer(large, capacity) };
    this.#isTouched = longer(this.#isTouched, capacity);
  }

  /** Judges a key without an alert. */
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
    this.#usual?.note(key.join(keySeparator), look.most);
    const hasHeld = run > 0 && run >= when.forMs;
    if (began === undefined && !hasHeld) {
      this.#holding.delete(slot);
      return undefined;
    }
    const since = began === undefined ? now - run : this.#hold(slot, began, isWhole);
    const hasLasted = hasHeld || now - since >= when.forMs;
    // From now on the key is asked whether its alert ends, with or without records.
    if (hasLasted) this.#holding.set(slot, now);
    if (this.#close.size < maxClose && !this.#close.has(slot))
      this.#close.set(slot, new CloseLook(now, this.#flows !== undefined));
    return { key, state: hasLasted ? "firing" : "pending", value, peak, since, limit, note };
  }

  /** Judges a key with an alert. */
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
    this.#usual?.note(key.join(keySeparator), look.most);
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

  /** Returns when the present condition began. Where it holds in all kept windows, that is when it was first seen to hold. */
  #hold(slot: number, began: number, isWhole: boolean): number {
    const since = isWhole ? Math.min(this.#holding.get(slot) ?? Infinity, began) : began;
    this.#holding.set(slot, since);
    return since;
  }

  /** Examines a key. Where its limit is unknown it is NaN, so that no condition holds. */
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
    // A share has a minimum of its own.
    if (measure.kind !== "share" && this.#isAbove) limit = Math.max(limit, least);
    const first = this.#seen.first[slot] as number;
    const look = this.#values.look(slot, operator, limit, first, now, this.#ended.get(slot));
    return { look, limit, note };
  }

  /** Forgets some keys that had no records for a while. */
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
    this.#cache?.forget();
    this.#seen.last[slot] = 0;
    this.#seen.large[slot] = 0;
  }
}

function* range(end: number): Generator<number> {
  for (let i = 0; i < end; i++) yield i;
}
