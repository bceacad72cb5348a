import type { Attribute } from "../definitions/definitions.ts";
import { convertValue } from "../values/convert-value.ts";
import type { Cell } from "../values/put-row.ts";
import { readNumber } from "../values/read-number.ts";
import { counter32, isStep, judgeChange, mostIn, steppedRate, type CounterChange } from "./counter-change.ts";
import {
  counterWidth,
  createKeptCounters,
  layoutOf,
  rowHead,
  type KeptCounters,
  type RateBudget,
  type RowLayout,
} from "./kept-counters.ts";
import type { PolledObject } from "./poll-plan.ts";

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

/** The last readings of the counters of a device. */
export interface CounterRates {
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
  ): CountedRows | undefined;
  /** Per second between the last two polls, in the unit of the device; undefined where these give none. */
  rateOf(oid: string, key: string): number | undefined;
  /** What was counted before says nothing any more: the device has restarted, or its interfaces have other numbers. */
  forget(): void;
}

/**
 * @param isCounted which counters are kept.
 * @param givesChanges whether the changes of a row are wanted, or its rates alone.
 */
export function createCounterRates(
  budget: RateBudget,
  isCounted: (attribute: Attribute) => boolean,
  givesChanges = true,
): CounterRates {
  const objects = new Map<string, KeptCounters>();
  const layouts = new WeakMap<PolledObject, RowLayout>();

  const layoutFor = (object: PolledObject): RowLayout => {
    const known = layouts.get(object);
    if (known !== undefined) return known;
    const layout = layoutOf(object, isCounted);
    layouts.set(object, layout);
    return layout;
  };
  const drop = (id: string): void => {
    budget.used -= objects.get(id)?.size ?? 0;
    objects.delete(id);
  };

  return {
    begin(object, at, leastMs, speedOf) {
      const layout = layoutFor(object);
      if (layout.counters.length === 0) return undefined;
      let kept = objects.get(object.id);
      // Other definitions: the columns may have other places.
      if (kept === undefined || kept.layout !== layout) {
        drop(object.id);
        objects.set(object.id, (kept = createKeptCounters(layout, budget)));
      }
      if (at - kept.readAt < leastMs) return undefined;
      kept.readAt = at;
      return countRows(kept, at, budget, givesChanges, speedOf);
    },
    rateOf(oid, key) {
      for (const kept of objects.values()) {
        const place = kept.layout.counters.findIndex(({ oidText }) => oidText === oid);
        const rate = place === -1 ? Number.NaN : kept.rateAt(key, place);
        if (!Number.isNaN(rate)) return rate;
      }
      return undefined;
    },
    forget() {
      for (const id of objects.keys()) drop(id);
    },
  };
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

/** Whether the time of the last reset of a row's counters is another one than before. */
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
