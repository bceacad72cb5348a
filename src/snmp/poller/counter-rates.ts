import type { Attribute } from "../definitions/definitions.ts";
import type { FieldDefinition } from "../values/put-value.ts";
import type { PolledObject } from "./poll-plan.ts";
import { convertValue, readNumber } from "../values/convert-value.ts";
import type { Cell } from "../values/put-row.ts";

/**
 * Why two readings of a counter give no rate: it went back (`reset`), it has 32 bits and goes round more than once between
 * two polls at the speed of its interface (`narrow`), or it went on by more than its interface can count (`step`).
 */
export const rateRefusals = ["reset", "narrow", "step"] as const;
type RateRefusal = (typeof rateRefusals)[number];

/** The change of a counter between two polls, in the unit of its field. */
export type CounterChange =
  | { readonly attribute: Attribute; readonly delta: number | bigint; readonly perSecond: number }
  | { readonly attribute: Attribute; readonly refused: RateRefusal };

/** The value at which a counter of 32 bits wraps. */
const counter32 = 2 ** 32;
/** The octets on the wire of the shortest packet: 32 bits of packets last longer than 32 bits of octets. */
const leastPacket = 84;

/** Returns what an interface can count in this many milliseconds at most; undefined where that is not known. */
function mostIn({ field }: Attribute, speed: number | undefined, elapsed: number): number | undefined {
  if (speed === undefined || speed <= 0) return undefined;
  const octets = (speed * elapsed) / 8000;
  return /(?:^|[._])(?:bytes|octets)(?:$|[._])/.test(field) ? octets : octets / leastPacket;
}

/** Readings are not taken at the time of the answer to the millisecond, nor do agents count up to then. */
const readingMs = 1000;

/**
 * Tells whether the change is more than the interface can count in this many milliseconds. Speeds of tunnels and virtual
 * interfaces are often made up, so that a change is a step only where the one before was not as fast.
 *
 * @param rateBefore per second, of the change before; {@link steppedRate} when that was a step.
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

/** In the place of the rate of a change that was a step. */
const steppedRate = -1;

/** Interfaces count a little more than their speed: clocks differ, and some count what is not on the wire. */
const tolerance = 1.1;

/**
 * Interprets the change of a counter (RFC 2863 section 3.1.6). One of 32 bits that went back has wrapped, unless that
 * would be more than the interface can count, or, where its speed is not known, more than half of the range.
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

/** The budget that all devices share. */
export class RateBudget {
  /** Rows of all devices that are kept at most. */
  readonly max: number;
  used = 0;
  /** Rows that were not kept for want of room. */
  leftOut = 0;
  readonly refused: Record<RateRefusal, number> = { reset: 0, narrow: 0, step: 0 };

  constructor(max: number) {
    this.max = max;
  }
}

/** Numbers of a row: when it was read, and what its counters were last reset by; then those of each counter. */
const rowHead = 2;
/** Numbers of a counter: its high and its low 32 bits, and its rate. A double holds no Counter64. */
const counterWidth = 3;

/** The positions at which the counters of an object's rows are kept. */
interface RowLayout {
  readonly counters: readonly Attribute[];
  readonly places: ReadonlyMap<FieldDefinition, number>;
  /** The sysUpTime at which the counters of a row were last reset (RFC 2578 section 7.1.6). */
  readonly discontinuity: Attribute | undefined;
  /** True if a row is one of an interface: its key is the ifIndex. */
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
  /** When the object was read last, monotonic milliseconds. */
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

  /** @returns the offset of the row's first number; undefined when there is no room for it. */
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

  /** NaN: there is none. */
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

/** The counters of one row, compared with those of the poll before. */
export interface RowChange {
  /** Between the two readings. */
  readonly seconds: number;
  readonly changes: readonly CounterChange[];
}

/** The rows of one poll of an object. */
export interface CountedRows {
  /**
   * Compares a row with that of the poll before, and keeps it.
   *
   * @param key what follows the OIDs of the attributes, as text.
   * @returns undefined: the row is new or has no counters, or changes are not wanted.
   */
  row(key: string, cells: readonly Cell[]): RowChange | undefined;
  /** All rows of the object were there: those that were not are no more. */
  end(): void;
}

/**
 * The last readings of the counters of a device.
 *
 * @param isCounted which counters are kept.
 * @param givesChanges whether the changes of a row are wanted, or its rates alone.
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
   * @param at when the object was read, monotonic milliseconds.
   * @param leastMs less than this after the reading before there is nothing to compare: a poll between those of the
   * interval is not kept.
   * @param speedOf bits per second of the interface with this ifIndex, as far as it is known.
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
    // Other definitions: the columns may have other offsets.
    if (kept === undefined || kept.layout !== layout) {
      this.#drop(object.id);
      this.#objects.set(object.id, (kept = new KeptCounters(layout, this.#budget)));
    }
    if (at - kept.readAt < leastMs) return undefined;
    kept.readAt = at;
    return countRows(kept, at, this.#budget, this.#givesChanges, speedOf);
  }

  /** Per second between the last two polls, in the unit of the device; undefined where these give none. */
  rateOf(oid: string, key: string): number | undefined {
    for (const kept of this.#objects.values()) {
      const place = kept.layout.counters.findIndex(({ oidText }) => oidText === oid);
      const rate = place === -1 ? Number.NaN : kept.rateAt(key, place);
      if (!Number.isNaN(rate)) return rate;
    }
    return undefined;
  }

  /** Forgets earlier counts, which say nothing any more: the device has restarted, or its interfaces have other numbers. */
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
      // A counter that is missing once has no rate the next time: the two readings are further apart than the rows.
      for (let place = 0; place < read.length; place++)
        if (read[place] === 0)
          numbers.fill(Number.NaN, slot + rowHead + counterWidth * place, slot + rowHead + counterWidth * (place + 1));
      return changes.length === 0 ? undefined : { seconds: elapsed / 1000, changes };
    },
    end: () => kept.keepOnly(at),
  };
}

/** Rounded to thousandths; a number that is so large that it has none, to a whole one. */
function toMilli(value: number): number {
  return value < 2 ** 40 ? Math.round(value * 1000) / 1000 : Math.round(value);
}

/** Keeps a counter. @returns by how much it is more than before; NaN: there was none. */
function exchange(numbers: Float64Array, at: number, value: number | bigint): number {
  const high = typeof value === "bigint" ? Number(value >> 32n) : Math.floor(value / counter32);
  const low = typeof value === "bigint" ? Number(value & 0xffff_ffffn) : value % counter32;
  const change = (high - (numbers[at] as number)) * counter32 + (low - (numbers[at + 1] as number));
  numbers[at] = high;
  numbers[at + 1] = low;
  return change;
}

/** Tells whether the time of the last reset of a row's counters is another one than before. */
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
