import { amountsOf, FlowTimes, timeFactor, type DerivedValues, type Reader, type Rows } from "./batch-rows.ts";
import { holds, type Comparison } from "./condition.ts";
import type { Measure, Rule } from "./rule.ts";
import { DistinctWindows, SumWindows, windowSteps } from "./windows.ts";

/** The state of a key under a condition. */
export interface Look {
  /** The present value, in the unit of the measure. */
  readonly value: number;
  /** The longest time for which the condition held, in milliseconds. */
  readonly run: number;
  /** The most extreme value while it held. */
  readonly peak: number;
  /** The greatest value of all kept windows. */
  readonly most: number;
  /** When the present condition began to hold; undefined where it does not hold. */
  readonly began: number | undefined;
  /** True if it holds in all kept windows. */
  readonly isWhole: boolean;
}

/** Buffers for the rows that a rule takes. Rules use them one after another. */
export class RowRoom {
  /** The rows that pass the filter. */
  readonly passing: Uint32Array;
  /** The slot of each taken row, in order; -1 for none. */
  readonly slots: Int32Array;
  /** The amount of each taken row in the evidence. */
  readonly amounts: Float64Array;
  /** For each taken row, the greatest sum of a step that it changed. */
  readonly most: Float64Array;

  /** @param count maximum number of rows at a time. */
  constructor(count: number) {
    this.passing = new Uint32Array(count);
    this.slots = new Int32Array(count);
    this.amounts = new Float64Array(count);
    this.most = new Float64Array(count);
  }
}

/** The measured values of a rule, by slot. */
export interface Values {
  /** Distance in milliseconds by which a window slides. */
  readonly stepMs: number;
  /** Makes room for slots below a number. */
  reserve?(capacity: number): void;
  advance?(now: number): void;
  /** Selects the rows that are in use now. */
  use?(): void;
  /** Time in milliseconds for which a row may count after it was taken. Undefined where that is unknown. */
  readonly keptMs?: number;
  /** Returns the value of `most` for a row from which its key may be above a limit. Undefined where that is unknown. */
  nearFrom?(limit: number): number;
  /** Takes a range of the rows that pass the filter; each stands for `weight` records. It writes `amounts` and `most`. */
  take(rows: Uint32Array, room: RowRoom, from: number, to: number, weight: number, now: number): void;
  /** Returns an upper bound of what a row adds to a sum; undefined where there is none. */
  bound?(row: number, weight: number): number;
  /** Reports whether a slot is below a bound in the present window. */
  isBelow?(slot: number, bound: number): boolean;
  /**
   * Compares the values of a slot with a limit.
   *
   * @param first when the slot was seen first.
   * @param after time before which a condition no longer counts.
   */
  look(slot: number, operator: Comparison["operator"], limit: number, first: number, now: number, after?: number): Look;
  /** Returns the values of the kept steps, oldest first; undefined where there are none. */
  series?(slot: number): readonly number[];
  clear(slot: number): void;
}

const second = 1000;

/** Creates the measure of a rule. @param now milliseconds since the epoch. */
export function createValues(rule: Rule, rows: Rows, now: number): Values {
  const { measure } = rule;
  switch (measure.kind) {
    case "distinct":
      return new DistinctValues(rule.overMs, rows.reader(measure.column.field), now);
    case "value":
    case "rate":
    case "utilisation":
      return new ReadingValues(measure, rows);
    case "beats":
      return new BeatValues(rows);
    case "bits":
    case "packets":
    case "flows":
    case "records":
    case "share":
    case "changes":
      break;
  }
  return new SumValues(rule, rows, now);
}

/** Returns the fields that a measure reads. */
export function measuredFields({ measure }: Rule): readonly string[] {
  return "column" in measure ? [measure.column.field] : [];
}

/** Sums over a window: per second, in all, or as a share. */
class SumValues implements Values {
  readonly #sums: SumWindows;
  readonly #all: SumWindows | undefined;
  readonly #times: FlowTimes | undefined;
  readonly #derived: DerivedValues | undefined;
  #amounts: Float64Array | undefined;
  readonly #changing: Reader | undefined;
  readonly #least: number;
  /** Factor from a sum to the unit of the measure. */
  readonly #scale: number;
  readonly #seriesScale: number;
  /** The last value of a field whose changes count, by slot. */
  readonly #last: (string | undefined)[] = [];

  constructor({ measure, overMs, least, of }: Rule, rows: Rows, now: number) {
    this.#sums = new SumWindows(overMs, now);
    const isRate = measure.kind !== "records" && measure.kind !== "changes";
    this.#scale = isRate ? second / overMs : 1;
    this.#seriesScale = isRate ? second / this.#sums.stepMs : 1;
    this.#derived = amountsOf(measure.kind === "share" ? measure.of : measure.kind, rows);
    this.#least = measure.kind === "share" ? least : 0;
    if (of === "flow") this.#times = new FlowTimes(rows, this.#sums.reachMs);
    if (measure.kind === "changes") this.#changing = rows.reader(measure.column.field);
    if (measure.kind === "share") {
      this.#all = new SumWindows(overMs, now);
      this.#all.reserve(1);
    }
  }

  get stepMs(): number {
    return this.#sums.stepMs;
  }

  reserve(capacity: number): void {
    this.#sums.reserve(capacity);
  }

  get keptMs(): number {
    return this.#sums.keptMs;
  }

  advance(now: number): void {
    this.#sums.advance(now);
    this.#all?.advance(now);
  }

  use(): void {
    this.#amounts = this.#derived?.values();
    this.#times?.use();
  }

  take(rows: Uint32Array, room: RowRoom, from: number, to: number, weight: number, now: number): void {
    const { slots, amounts, most } = room;
    const [sums, all] = [this.#sums, this.#all];
    for (let i = from; i < to; i++) {
      const [row, slot] = [rows[i] as number, slots[i] as number];
      if (all !== undefined) this.#book(all, 0, row, this.#amount(row) * weight, now);
      if (slot < 0) continue;
      const amount = this.#changing === undefined ? this.#amount(row) * weight : this.#change(slot, row);
      amounts[i] = amount;
      most[i] = this.#book(sums, slot, row, amount, now);
    }
  }

  bound(row: number, weight: number): number {
    return this.#amount(row) * weight;
  }

  isBelow(slot: number, bound: number): boolean {
    return this.#sums.sum(slot, this.#sums.now) < bound;
  }

  look(
    slot: number,
    operator: Comparison["operator"],
    limit: number,
    first: number,
    _now: number,
    after = -Infinity,
  ): Look {
    const sums = this.#sums;
    const isAbove = operator.startsWith(">");
    // The present step is incomplete and its sum too small, so it says nothing about a value below the limit.
    const last = isAbove ? sums.now : sums.now - 1;
    const from = Math.max(sums.first + windowSteps - 1, isAbove ? 0 : Math.floor(first / sums.stepMs) + windowSteps);
    const counted = Math.max(from, Math.floor(after / sums.stepMs) + 1);
    let value = 0;
    let most = 0;
    let peak = isAbove ? 0 : Infinity;
    let steps = 0;
    let longest = 0;
    const windows = sums.windows(slot);
    const all = this.#all?.windows(0);
    const began = sums.first + windowSteps - 1;
    for (let end = from; end <= last; end++) {
      value = this.#valueOf(windows[end - began] as number, all?.[end - began]);
      if (value > most) most = value;
      if (end >= counted && holds(operator, value, limit)) {
        steps++;
        if (steps > longest) longest = steps;
        peak = isAbove ? Math.max(peak, value) : Math.min(peak, value);
      } else steps = 0;
    }
    return {
      value: Math.round(value),
      run: longest * sums.stepMs,
      peak: Math.round(Number.isFinite(peak) ? peak : value),
      most: Math.round(most),
      began: steps === 0 ? undefined : (last - steps + 1) * sums.stepMs,
      isWhole: steps === last - counted + 1,
    };
  }

  series(slot: number): readonly number[] {
    const values: number[] = [];
    for (let step = this.#sums.first; step <= this.#sums.now; step++)
      values.push(Math.round(this.#sums.step(slot, step) * this.#seriesScale));
    return values;
  }

  clear(slot: number): void {
    this.#sums.clear(slot);
    this.#last[slot] = undefined;
  }

  /** @param all for a share, the sum of everything. */
  #valueOf(sum: number, all: number | undefined): number {
    if (all === undefined) return sum * this.#scale;
    if (sum * this.#scale < this.#least) return 0;
    return all > 0 ? (100 * sum) / all : 0;
  }

  #amount(row: number): number {
    return this.#amounts === undefined ? 1 : (this.#amounts[row] as number);
  }

  #change(slot: number, row: number): number {
    const text = this.#changing?.text(row);
    const before = this.#last[slot];
    if (text === undefined) return 0;
    this.#last[slot] = text;
    return before === undefined || before === text ? 0 : 1;
  }

  #book(sums: SumWindows, slot: number, row: number, amount: number, now: number): number {
    const times = this.#times;
    if (times === undefined) return sums.add(slot, amount);
    times.read(row, now);
    return times.from === now ? sums.add(slot, amount) : sums.spread(slot, times.from, times.to, amount);
  }
}

/** An estimate of the number of different values in a window. */
class DistinctValues implements Values {
  readonly stepMs: number;
  readonly #overMs: number;
  readonly #windows: DistinctWindows;
  readonly #counted: Reader;

  constructor(overMs: number, counted: Reader, now: number) {
    this.stepMs = overMs / windowSteps;
    this.#overMs = overMs;
    this.#windows = new DistinctWindows(overMs, now);
    this.#counted = counted;
  }

  reserve(capacity: number): void {
    this.#windows.reserve(capacity);
  }

  advance(now: number): void {
    this.#windows.advance(now);
  }

  get keptMs(): number {
    return this.#overMs;
  }

  nearFrom(limit: number): number {
    return DistinctWindows.bitsOf(limit);
  }

  take(rows: Uint32Array, room: RowRoom, from: number, to: number, weight: number): void {
    const { slots, amounts, most } = room;
    for (let i = from; i < to; i++) {
      const [row, slot] = [rows[i] as number, slots[i] as number];
      if (slot < 0) continue;
      amounts[i] = weight;
      most[i] = this.#counted.has(row) ? this.#windows.add(slot, this.#counted.hash(row)) : 0;
    }
  }

  bound(): number {
    return 1;
  }

  isBelow(slot: number, bound: number): boolean {
    return this.#windows.count(slot) < bound;
  }

  look(slot: number, operator: Comparison["operator"], limit: number, first: number, now: number): Look {
    const value = this.#windows.count(slot);
    const isKnown = operator.startsWith(">") || now - first >= this.#overMs;
    return lookAt(value, isKnown && holds(operator, value, limit), now);
  }

  clear(slot: number): void {
    this.#windows.clear(slot);
  }
}

function lookAt(value: number, does: boolean, now: number): Look {
  return { value, run: 0, peak: value, most: value, began: does ? now : undefined, isWhole: true };
}

/** An older reading says nothing about the present. */
const staleMs = 15 * 60_000;

/** The growth of a counter, by slot. */
class CounterGrowth {
  readonly #reader: Reader;
  readonly #received: Reader;
  readonly #counts: (number | undefined)[] = [];
  readonly #at: number[] = [];

  constructor(reader: Reader, received: Reader) {
    this.#reader = reader;
    this.#received = received;
  }

  /** Returns the growth per second since the record before; undefined for the first record and after a reset. */
  take(slot: number, row: number): number | undefined {
    if (!this.#reader.has(row)) return undefined;
    const [before, beforeAt = 0] = [this.#counts[slot], this.#at[slot]];
    const count = this.#reader.number(row);
    const at = this.#received.number(row) / timeFactor;
    this.#counts[slot] = count;
    this.#at[slot] = at;
    if (before === undefined || count < before || at <= beforeAt) return undefined;
    return (second * (count - before)) / (at - beforeAt);
  }

  clear(slot: number): void {
    this.#counts[slot] = undefined;
  }
}

/** The last reading of a key: a value, the growth of a counter per second, or the utilisation of an interface. */
class ReadingValues implements Values {
  readonly stepMs = second;
  readonly #read: (slot: number, row: number) => number | undefined;
  readonly #counters: readonly CounterGrowth[];
  readonly #values: (number | undefined)[] = [];
  readonly #at: number[] = [];

  constructor(measure: Extract<Measure, { readonly kind: "value" | "rate" | "utilisation" }>, rows: Rows) {
    const received = rows.reader("@timestamp");
    if (measure.kind === "utilisation") {
      const speed = rows.reader("netif.bandwidth.bw");
      const ways = ["netif.bytes.in", "netif.bytes.out"].map((field) => ({
        rate: rows.reader(`${field}_rate`),
        counter: new CounterGrowth(rows.reader(field), received),
      }));
      this.#counters = ways.map(({ counter }) => counter);
      this.#read = (slot, row) => {
        const bits = speed.number(row);
        const bytes = ways
          .map(({ rate, counter }) => (rate.has(row) ? rate.number(row) : counter.take(slot, row)))
          .filter((each) => each !== undefined);
        return bits > 0 && bytes.length > 0 ? (100 * 8 * Math.max(...bytes)) / bits : undefined;
      };
      return;
    }
    const reader = rows.reader(measure.column.field);
    const counter = new CounterGrowth(reader, received);
    this.#counters = [counter];
    this.#read =
      measure.kind === "rate"
        ? (slot, row) => counter.take(slot, row)
        : (_slot, row) => (reader.has(row) ? reader.number(row) : undefined);
  }

  take(rows: Uint32Array, room: RowRoom, from: number, to: number, _weight: number, now: number): void {
    room.amounts.fill(0, from, to);
    room.most.fill(0, from, to);
    for (let i = from; i < to; i++) {
      const slot = room.slots[i] as number;
      const value = slot < 0 ? undefined : this.#read(slot, rows[i] as number);
      if (value === undefined) continue;
      this.#values[slot] = value;
      this.#at[slot] = now;
    }
  }

  look(slot: number, operator: Comparison["operator"], limit: number, _first: number, now: number): Look {
    const value = this.#values[slot];
    const isFresh = value !== undefined && now - (this.#at[slot] ?? 0) < staleMs;
    return lookAt(rounded(value ?? 0), isFresh && holds(operator, value, limit), now);
  }

  clear(slot: number): void {
    this.#values[slot] = undefined;
    for (const counter of this.#counters) counter.clear(slot);
  }
}

/** Intervals are equal within this share of them plus one second. */
const evenPart = 0.1;
/** Longer flows are permanent connections, whose records come at even intervals anyway. */
const shortMs = 10_000;
/** Flows closer together count as one beat. */
const shortestMs = 2000;
const smoothing = 0.2;

/** The number of consecutive short flows of a key at equal intervals. */
class BeatValues implements Values {
  readonly stepMs = second;
  readonly #times: FlowTimes;
  readonly #last: number[] = [];
  readonly #interval: number[] = [];
  readonly #count: number[] = [];

  constructor(rows: Rows) {
    this.#times = new FlowTimes(rows, 60_000);
  }

  use(): void {
    this.#times.use();
  }

  take(rows: Uint32Array, room: RowRoom, from: number, to: number, weight: number, now: number): void {
    room.amounts.fill(weight, from, to);
    room.most.fill(0, from, to);
    for (let i = from; i < to; i++)
      if ((room.slots[i] as number) >= 0) this.#take(room.slots[i] as number, rows[i] as number, now);
  }

  #take(slot: number, row: number, now: number): void {
    this.#times.read(row, now);
    const { from, to } = this.#times;
    const last = this.#last[slot];
    const passed = from - (last ?? -Infinity);
    if (to - from > shortMs || passed < shortestMs) return;
    this.#last[slot] = from;
    if (last === undefined) return;
    const interval = this.#interval[slot] ?? 0;
    const isEven = Math.abs(passed - interval) <= Math.max(second, evenPart * interval);
    this.#interval[slot] = isEven ? interval + smoothing * (passed - interval) : passed;
    this.#count[slot] = isEven ? (this.#count[slot] ?? 0) + 1 : 1;
  }

  look(slot: number, operator: Comparison["operator"], limit: number, _first: number, now: number): Look {
    const goesOn = now - (this.#last[slot] ?? 0) < 2 * (this.#interval[slot] ?? 0);
    const value = goesOn ? (this.#count[slot] ?? 0) : 0;
    return lookAt(value, holds(operator, value, limit), now);
  }

  clear(slot: number): void {
    for (const each of [this.#last, this.#interval, this.#count]) each.length = Math.max(each.length, slot + 1);
    this.#last[slot] = -Infinity;
    this.#interval[slot] = this.#count[slot] = 0;
  }
}

function rounded(value: number): number {
  return Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toFixed(3));
}
