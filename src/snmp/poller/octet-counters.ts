import type { PolledRows } from "./poll-object.ts";
import type { PolledObject } from "./poll-plan.ts";

/** One reading of the counters of an interface, in bytes since some time before: differences are what counts. */
export interface OctetReading {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** ifHCInOctets and ifHCOutOctets; undefined where the device does not have it. */
  readonly in: number | undefined;
  readonly out: number | undefined;
}

/** The last readings of the counters of a device's interfaces. */
export interface OctetCounters {
  /** @param at when the object was read, milliseconds since the epoch. */
  see(object: PolledObject, polled: PolledRows, at: number): void;
  /** By ifIndex, each in the order of time, since the counters last went back. */
  readings(): ReadonlyMap<number, readonly OctetReading[]>;
  /** Interfaces that are kept. */
  readonly size: number;
  clear(): void;
}

/** How many interfaces of all devices are kept. */
export interface OctetBudget {
  readonly max: number;
  used: number;
  /** Readings that were not kept for want of room. */
  leftOut: number;
}

/** IF-MIB (RFC 2863). Counters of 32 bits go round in less than a minute at 1 Gbit/s, so they say nothing. */
const ifHcInOctets = ".1.3.6.1.2.1.31.1.1.1.6";
const ifHcOutOctets = ".1.3.6.1.2.1.31.1.1.1.10";
const keptMs = 30 * 60_000;
/** Of readings that come more often some are left out. */
const leastGapMs = 50_000;

/** @param budget undefined: nothing is kept. */
export function createOctetCounters(budget: OctetBudget | undefined): OctetCounters {
  const kept = new Map<number, OctetReading[]>();
  return {
    see(object, polled, at) {
      if (budget === undefined) return;
      const [inColumn, outColumn] = [ifHcInOctets, ifHcOutOctets].map((oid) =>
        object.columns.findIndex(({ attribute }) => attribute.oidText === oid),
      ) as [number, number];
      if (inColumn < 0 && outColumn < 0) return;
      for (const { key, values } of polled.rows) {
        const index = Number(key);
        const reading = { at, in: numberOf(values[inColumn]?.value), out: numberOf(values[outColumn]?.value) };
        if (!Number.isSafeInteger(index) || (reading.in === undefined && reading.out === undefined)) continue;
        const before = kept.get(index);
        if (before !== undefined) kept.set(index, extend(before, reading));
        else if (budget.used < budget.max) {
          budget.used++;
          kept.set(index, [reading]);
        } else budget.leftOut++;
      }
      if (!polled.isComplete) return;
      for (const [index, readings] of kept) {
        if ((readings.at(-1) as OctetReading).at > at - keptMs) continue;
        kept.delete(index);
        budget.used--;
      }
    },
    readings: () => kept,
    get size() {
      return kept.size;
    },
    clear() {
      if (budget !== undefined) budget.used -= kept.size;
      kept.clear();
    },
  };
}

function extend(before: OctetReading[], reading: OctetReading): OctetReading[] {
  const last = before.at(-1) as OctetReading;
  // The device started again, or the interface is another one.
  if (isBehind(reading.in, last.in) || isBehind(reading.out, last.out) || reading.at <= last.at) return [reading];
  if (reading.at - last.at < leastGapMs) return before;
  return [...before.filter(({ at }) => at > reading.at - keptMs), reading];
}

function isBehind(now: number | undefined, before: number | undefined): boolean {
  return now !== undefined && before !== undefined && now < before;
}

/** Counter64. Beyond 2^53 the lowest digits are lost, which differences of megabytes do not notice. */
function numberOf(value: unknown): number | undefined {
  return typeof value === "bigint" || typeof value === "number" ? Number(value) : undefined;
}
