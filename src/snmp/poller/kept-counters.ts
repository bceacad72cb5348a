import type { Attribute } from "../definitions/definitions.ts";
import type { FieldDefinition } from "../values/put-value.ts";
import { steppedRate, type RateRefusal } from "./counter-change.ts";
import type { PolledObject } from "./poll-plan.ts";

/** What all devices share. */
export interface RateBudget {
  /** Rows of all devices that are kept at most. */
  readonly max: number;
  used: number;
  /** Rows that were not kept for want of room. */
  leftOut: number;
  readonly refused: Record<RateRefusal, number>;
}

export function createRateBudget(max: number): RateBudget {
  return { max, used: 0, leftOut: 0, refused: { reset: 0, narrow: 0, step: 0 } };
}

/** Numbers of a row: when it was read, and what its counters were last reset by; then those of each counter. */
export const rowHead = 2;
/** Numbers of a counter: its high and its low 32 bits, and its rate. A double holds no Counter64. */
export const counterWidth = 3;

/** Where the counters of an object's rows are kept. */
export interface RowLayout {
  readonly counters: readonly Attribute[];
  readonly places: ReadonlyMap<FieldDefinition, number>;
  /** The sysUpTime at which the counters of a row were last reset (RFC 2578 section 7.1.6). */
  readonly discontinuity: Attribute | undefined;
  /** Whether a row is one of an interface: its key is the ifIndex. */
  readonly isOfInterface: boolean;
}

export function layoutOf(
  { columns, indexFields }: PolledObject,
  isCounted: (attribute: Attribute) => boolean,
): RowLayout {
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
export interface KeptCounters {
  readonly layout: RowLayout;
  readonly size: number;
  /** When the object was read last, monotonic milliseconds. */
  readAt: number;
  /** @returns the place of the row's first number; undefined when there is no room for it. */
  slotOf(key: string): number | undefined;
  numbers(): Float64Array;
  /** NaN: there is none. */
  rateAt(key: string, counter: number): number;
  /** Drops the rows that were not read at this time. */
  keepOnly(at: number): void;
}

export function createKeptCounters(layout: RowLayout, budget: RateBudget): KeptCounters {
  const width = rowHead + counterWidth * layout.counters.length;
  const slots = new Map<string, number>();
  const free: number[] = [];
  let end = 0;
  let numbers = new Float64Array(0);
  const grow = (): void => {
    const larger = new Float64Array(Math.max(4 * width, 2 * numbers.length)).fill(Number.NaN);
    larger.set(numbers);
    numbers = larger;
  };
  return {
    layout,
    readAt: -Infinity,
    get size() {
      return slots.size;
    },
    slotOf(key) {
      const known = slots.get(key);
      if (known !== undefined) return known;
      if (budget.used >= budget.max) {
        budget.leftOut++;
        return undefined;
      }
      budget.used++;
      let slot = free.pop();
      if (slot === undefined) {
        slot = end;
        end += width;
        if (end > numbers.length) grow();
      }
      slots.set(key, slot);
      return slot;
    },
    numbers: () => numbers,
    rateAt(key, counter) {
      const slot = slots.get(key);
      const rate = slot === undefined ? Number.NaN : (numbers[slot + rowHead + counterWidth * counter + 2] as number);
      return rate === steppedRate ? Number.NaN : rate;
    },
    keepOnly(at) {
      for (const [key, slot] of slots) {
        if (numbers[slot] === at) continue;
        slots.delete(key);
        budget.used--;
        free.push(slot);
        numbers.fill(Number.NaN, slot, slot + width);
      }
    },
  };
}
