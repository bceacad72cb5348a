import type { Attribute } from "../definitions/definitions.ts";
import type { FieldDefinition } from "../values/put-value.ts";
import type { PolledObject } from "./poll-plan.ts";
import { convertValue, readNumber } from "../values/convert-value.ts";
import type { Cell } from "../values/put-row.ts";

/**
 * The reasons why two readings of a counter give no rate. `reset`: it went back. `narrow`: it has 32 bits and may wrap more than once
 * between two polls at the speed of its interface. `step`: it grew by more than its interface can count.
 */
export const rateRefusals = ["reset", "narrow", "step"] as const;
type RateRefusal = (typeof rateRefusals)[number];

/** The change of a counter between two polls, in the unit of its field. */
export type CounterChange =
  | { readonly attribute: Attribute; readonly delta: number | bigint; readonly perSecond: number }
  | { readonly attribute: Attribute; readonly refused: RateRefusal };

/** The value at which a 32-bit counter wraps. */
const counter32 = 2 ** 32;
/** The octets on the wire of the shortest packet. For this reason 32 bits of packets last longer than 32 bits of octets. */
const leastPacket = 84;

/** Returns the most that an interface can count in this many ms; undefined if that is unknown. */
function mostIn({ field }: Attribute, speed: number | undefined, elapsed: number): number | undefined {
  if (speed === undefined || speed <= 0) return undefined;
  const octets = (speed * elapsed) / 8000;
  return /(?:^|[._])(?:bytes|octets)(?:$|[._])/.test(field) ? octets : octets / leastPacket;
}

/** The inaccuracy of a reading's time: agents do not count up to the millisecond of the answer. */
const readingMs = 1000;

/**
 * Reports whether the change is more than the interface can count in this many ms. Tunnels and virtual interfaces often report invented
 * speeds. So a change is a step only if the change before was slower.
 *
 * @param rateBefore the rate per second of the change before; {@link steppedRate} if that was a step.
 */
function isStep(
  change: number,
  rateBefore: number,
  attribute: Attribute,
  speed: number | undefined,
  elapsed: number,
): boolean {
  const most = mostIn(attribute, speed, elapsed + readingMs);
  if (most === undefined || change <= Math.max(most * tolerance, 1)) return false;
  return rateBefore !== steppedRate && !(rateBefore > (mostIn(attribute, speed, 1000) as number) * tolerance);
}

/** Stands for the rate of a change that was a step. */
const steppedRate = -1;

/** The factor by which interfaces may exceed their speed: clocks differ, and some count octets that are not on the wire. */
const tolerance = 1.1;

/**
 * Interprets the change of a counter (RFC 2863 section 3.1.6). A 32-bit counter that went back has wrapped, unless the change would be
 * more than the interface can count. If the speed is unknown, the limit is half of the range.
 */
function judgeChange(
  change: number,
  isReset: boolean,
  isNarrow: boolean,
  most: number | undefined,
): number | RateRefusal {
  if (isReset) return "reset";
  if (isNarrow && most !== undefined && most >= counter32) return "narrow";
  if (change >= 0) return change;
  const round = change + counter32;
  if (!isNarrow || round < 0) return "reset";
  return round <= (most === undefined ? counter32 / 2 : Math.max(most * tolerance, 1)) ? round : "reset";
}

/** The budget of rows for all devices. */
export class RateBudget {
  /** The most rows to keep for all devices. */
  readonly max: number;
  used = 0;
  /** The number of rows that were not kept for lack of room. */
  leftOut = 0;
  readonly refused: Record<RateRefusal, number> = { reset: 0, narrow: 0, step: 0 };

  constructor(max: number) {
    this.max = max;
  }
}

/**
 * The numbers at the start of a row: the time of its reading, and the last reset of its counters. The numbers of each counter follow.
 */
const rowHead = 2;
/** The numbers of a counter: its high and low 32 bits, and its rate. A double cannot hold a Counter64. */
const counterWidth = 3;

/** The positions at which the counters of an object's rows are kept. */
interface RowLayout {
  readonly counters: readonly Attribute[];
  readonly places: ReadonlyMap<FieldDefinition, number>;
  /** The sysUpTime at the last reset of a row's counters (RFC 2578 section 7.1.6). */
  readonly discontinuity: Attribute | undefined;
  /** True if a row belongs to an interface, so that its key is the ifIndex. */
  readonly isOfInterface: boolean;
}

function layoutOf({ columns, indexFields }: PolledObject, isCounted: (attribute: Attribute) => boolean): RowLayout {
  const attributes = columns.map(({ attribute }) => attribute);
  const counters = attributes.filter(isCounted);
  return {
    counters,
    places: new Map(counters.map((attribute, place) => [attribute, place])),
    discontinuity: attributes.find(({ name }) => name.endsWith("DiscontinuityTime")),
    isOfInterface: indexFields.length === 1 && indexFields[0]?.syntax.kind === "interface",
  };
}

/** The counters of the rows of one object. */
class KeptCounters {
  /** The time of the object's last reading, in monotonic ms. */
  readAt = -Infinity;
  readonly layout: RowLayout;
  readonly #budget: RateBudget;
  readonly #width: number;
  readonly #slots = new Map<string, number>();
  readonly #free: number[] = [];
  #end = 0;
  #numbers = new Float64Array(0);

  constructor(layout: RowLayout, budget: RateBudget) {
    this.layout = layout;
    this.#budget = budget;
    this.#width = rowHead + counterWidth * layout.counters.length;
  }

  get size(): number {
    return this.#slots.size;
  }

  /** @returns the offset of the row's first number; undefined if there is no room for it. */
  slotOf(key: string): number | undefined {
    const known = this.#slots.get(key);
    if (known !== undefined) return known;
    if (this.#budget.used >= this.#budget.max) {
      this.#budget.leftOut++;
      return undefined;
    }
    this.#budget.used++;
    let slot = this.#free.pop();
    if (slot === undefined) {
      slot = this.#end;
      this.#end += this.#width;
      if (this.#end > this.#numbers.length) this.#grow();
    }
    this.#slots.set(key, slot);
    return slot;
  }

  numbers(): Float64Array {
    return this.#numbers;
  }

  /** Returns the rate; NaN if there is none. */
  rateAt(key: string, counter: number): number {
    const slot = this.#slots.get(key);
    const rate =
      slot === undefined ? Number.NaN : (this.#numbers[slot + rowHead + counterWidth * counter + 2] as number);
    return rate === steppedRate ? Number.NaN : rate;
  }

  /** Drops the rows that were not read at this time. */
  keepOnly(at: number): void {
    for (const [key, slot] of this.#slots) {
      if (this.#numbers[slot] === at) continue;
      this.#slots.delete(key);
      this.#budget.used--;
      this.#free.push(slot);
      this.#numbers.fill(Number.NaN, slot, slot + this.#width);
    }
  }

  #grow(): void {
    const larger = new Float64Array(Math.max(4 * this.#width, 2 * this.#numbers.length)).fill(Number.NaN);
    larger.set(this.#numbers);
    this.#numbers = larger;
  }
}

/** The changes of the counters of one row since the previous poll. */
export interface RowChange {
  /** The time between the two readings. */
  readonly seconds: number;
  readonly changes: readonly CounterChange[];
}

/** The rows of one poll of an object. */
export interface CountedRows {
  /**
   * Compares a row with that of the previous poll, and keeps it.
   *
   * @param key the text of the suffix after the OIDs of the attributes.
   * @returns undefined if the row is new or has no counters, or if changes are not wanted.
   */
  row(key: string, cells: readonly Cell[]): RowChange | undefined;
  /** Drops the rows that this poll did not have. Callers call it after all rows of the object were read. */
  end(): void;
}

/**
 * The last readings of the counters of a device.
 *
 * @param isCounted reports whether a counter is kept.
 * @param givesChanges true if the changes of a row are wanted, false for rates alone.
 */
export class CounterRates {
  readonly #budget: RateBudget;
  readonly #isCounted: (attribute: Attribute) => boolean;
  readonly #givesChanges: boolean;
  readonly #objects = new Map<string, KeptCounters>();
  readonly #layouts = new WeakMap<PolledObject, RowLayout>();

  constructor(budget: RateBudget, isCounted: (attribute: Attribute) => boolean, givesChanges = true) {
    this.#budget = budget;
    this.#isCounted = isCounted;
    this.#givesChanges = givesChanges;
  }

  /**
   * Begins a poll of an object.
   *
   * @param at the time of the reading, in monotonic ms.
   * @param leastMs the least time since the previous reading. An earlier one, such as a poll between those of the interval, is not
   *   compared or kept.
   * @param speedOf returns the bits per second of the interface with this ifIndex, if known.
   */
  begin(
    object: PolledObject,
    at: number,
    leastMs: number,
    speedOf: (index: number) => number | undefined,
  ): CountedRows | undefined {
    const layout = this.#layoutFor(object);
    if (layout.counters.length === 0) return undefined;
    let kept = this.#objects.get(object.id);
    // With other definitions, the columns may have other offsets.
    if (kept === undefined || kept.layout !== layout) {
      this.#drop(object.id);
      this.#objects.set(object.id, (kept = new KeptCounters(layout, this.#budget)));
    }
    if (at - kept.readAt < leastMs) return undefined;
    kept.readAt = at;
    return countRows(kept, at, this.#budget, this.#givesChanges, speedOf);
  }

  /** Returns the rate per second between the last two polls, in the unit of the device; undefined if they give none. */
  rateOf(oid: string, key: string): number | undefined {
    for (const kept of this.#objects.values()) {
      const place = kept.layout.counters.findIndex(({ oidText }) => oidText === oid);
      const rate = place === -1 ? Number.NaN : kept.rateAt(key, place);
      if (!Number.isNaN(rate)) return rate;
    }
    return undefined;
  }

  /** Forgets earlier counts, which are useless after a restart of the device or a renumbering of its interfaces. */
  forget(): void {
    for (const id of this.#objects.keys()) this.#drop(id);
  }

  #layoutFor(object: PolledObject): RowLayout {
    const known = this.#layouts.get(object);
    if (known !== undefined) return known;
    const layout = layoutOf(object, this.#isCounted);
    this.#layouts.set(object, layout);
    return layout;
  }

  #drop(id: string): void {
    this.#budget.used -= this.#objects.get(id)?.size ?? 0;
    this.#objects.delete(id);
  }
}

function countRows(
  kept: KeptCounters,
  at: number,
  budget: RateBudget,
  givesChanges: boolean,
  speedOf: (index: number) => number | undefined,
): CountedRows {
  const { counters, places, discontinuity, isOfInterface } = kept.layout;
  const read = new Uint8Array(counters.length);
  return {
    row(key, cells) {
      const slot = kept.slotOf(key);
      if (slot === undefined) return undefined;
      const numbers = kept.numbers();
      const elapsed = at - (numbers[slot] as number);
      numbers[slot] = at;
      const isReset = isOtherTime(numbers, slot + 1, discontinuity, cells);
      const speed = isOfInterface ? speedOf(Number(key)) : undefined;
      const changes: CounterChange[] = [];
      read.fill(0);
      for (let i = 0; i < cells.length; i++) {
        const [target, value] = cells[i] as Cell;
        const place = places.get(target);
        const number = place === undefined ? undefined : readNumber(value);
        if (place === undefined || number === undefined || number < 0) continue;
        read[place] = 1;
        const attribute = counters[place] as Attribute;
        const to = slot + rowHead + counterWidth * place;
        const change = exchange(numbers, to, number);
        const rateBefore = numbers[to + 2] as number;
        numbers[to + 2] = Number.NaN;
        if (Number.isNaN(change) || !(elapsed > 0)) continue;
        let counted = judgeChange(change, isReset, value.type === "Counter32", mostIn(attribute, speed, elapsed));
        if (typeof counted === "number" && isStep(counted, rateBefore, attribute, speed, elapsed)) {
          counted = "step";
          numbers[to + 2] = steppedRate;
        }
        if (typeof counted === "string") {
          budget.refused[counted]++;
          if (givesChanges) changes.push({ attribute, refused: counted });
          continue;
        }
        numbers[to + 2] = (counted * 1000) / elapsed;
        if (!givesChanges) continue;
        const delta = convertValue(attribute.syntax, { type: "Counter64", value: counted });
        if (typeof delta !== "number" && typeof delta !== "bigint") continue;
        changes.push({ attribute, delta, perSecond: toMilli(Number(delta) / (elapsed / 1000)) });
      }
      // A counter that is missing once has no rate the next time, because its two readings are further apart than those of the row.
      for (let place = 0; place < read.length; place++)
        if (read[place] === 0)
          numbers.fill(Number.NaN, slot + rowHead + counterWidth * place, slot + rowHead + counterWidth * (place + 1));
      return changes.length === 0 ? undefined : { seconds: elapsed / 1000, changes };
    },
    end: () => kept.keepOnly(at),
  };
}

/** Rounds to thousandths, or to a whole number if the value is too large for these. */
function toMilli(value: number): number {
  return value < 2 ** 40 ? Math.round(value * 1000) / 1000 : Math.round(value);
}

/** Keeps a counter. @returns its increase; NaN if there was no earlier value. */
function exchange(numbers: Float64Array, at: number, value: number | bigint): number {
  const high = typeof value === "bigint" ? Number(value >> 32n) : Math.floor(value / counter32);
  const low = typeof value === "bigint" ? Number(value & 0xffff_ffffn) : value % counter32;
  const change = (high - (numbers[at] as number)) * counter32 + (low - (numbers[at + 1] as number));
  numbers[at] = high;
  numbers[at + 1] = low;
  return change;
}

/** Reports whether the last reset of a row's counters has another time than before. */
function isOtherTime(
  numbers: Float64Array,
  at: number,
  discontinuity: Attribute | undefined,
  cells: readonly Cell[],
): boolean {
  if (discontinuity === undefined) return false;
  const cell = cells.find(([target]) => target === discontinuity);
  const time = cell === undefined ? Number.NaN : Number(readNumber(cell[1]) ?? Number.NaN);
  const before = numbers[at] as number;
  numbers[at] = time;
  return !Number.isNaN(before) && !Number.isNaN(time) && before !== time;
}
