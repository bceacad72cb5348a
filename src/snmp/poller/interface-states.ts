import type { PolledRows } from "./poll-object.ts";
import type { PolledObject, PolledColumn } from "./poll-plan.ts";
import { heldValue, readName, readNumber, type SnmpValue } from "../values/convert-value.ts";
import { boundsByUnit, isOutside } from "../values/put-value.ts";

/** One reading of the counters of an interface, in bytes since an arbitrary time, so that only differences count. */
export interface OctetReading {
  /** The time in ms since the epoch. */
  readonly at: number;
  /** ifHCInOctets and ifHCOutOctets; undefined if the device does not have them. */
  readonly in: number | undefined;
  readonly out: number | undefined;
}

/** The budget of interfaces to keep for all devices. */
export interface OctetBudget {
  readonly max: number;
  used: number;
  /** The number of readings that were not kept for lack of room. */
  leftOut: number;
}

/** The columns of IF-MIB (RFC 2863). Counters of 32 bits are not used, because they wrap in less than a minute at 1 Gbit/s. */
const ifHcInOctets = ".1.3.6.1.2.1.31.1.1.1.6";
const ifHcOutOctets = ".1.3.6.1.2.1.31.1.1.1.10";
const keptMs = 30 * 60_000;
/** The least time between readings. Some of those that come more often are left out. */
const leastGapMs = 50_000;

/**
 * The last readings of the counters of a device's interfaces.
 *
 * @param budget undefined to keep nothing.
 */
export class OctetCounters {
  readonly #budget: OctetBudget | undefined;
  readonly #kept = new Map<number, OctetReading[]>();

  constructor(budget: OctetBudget | undefined) {
    this.#budget = budget;
  }

  /** Keeps the counters of a poll. @param at the time of the reading, in ms since the epoch. */
  see(object: PolledObject, polled: PolledRows, at: number): void {
    if (this.#budget === undefined) return;
    const [inColumn, outColumn] = [ifHcInOctets, ifHcOutOctets].map((oid) =>
      object.columns.findIndex(({ attribute }) => attribute.oidText === oid),
    ) as [number, number];
    if (inColumn < 0 && outColumn < 0) return;
    for (const { key, values } of polled.rows) {
      const index = Number(key);
      const reading = { at, in: numberOf(values[inColumn]?.value), out: numberOf(values[outColumn]?.value) };
      if (!Number.isSafeInteger(index) || (reading.in === undefined && reading.out === undefined)) continue;
      const before = this.#kept.get(index);
      if (before !== undefined) this.#kept.set(index, extend(before, reading));
      else if (this.#budget.used < this.#budget.max) {
        this.#budget.used++;
        this.#kept.set(index, [reading]);
      } else this.#budget.leftOut++;
    }
    if (!polled.isComplete) return;
    for (const [index, readings] of this.#kept) {
      if ((readings.at(-1) as OctetReading).at > at - keptMs) continue;
      this.#kept.delete(index);
      this.#budget.used--;
    }
  }

  /** Returns the readings by ifIndex, in the order of time, since the counters last went back. */
  readings(): ReadonlyMap<number, readonly OctetReading[]> {
    return this.#kept;
  }

  /** Returns the number of interfaces that are kept. */
  get size(): number {
    return this.#kept.size;
  }

  clear(): void {
    if (this.#budget !== undefined) this.#budget.used -= this.#kept.size;
    this.#kept.clear();
  }
}

function extend(before: OctetReading[], reading: OctetReading): OctetReading[] {
  const last = before.at(-1) as OctetReading;
  // The device has restarted, or the interface is another one.
  if (isBehind(reading.in, last.in) || isBehind(reading.out, last.out) || reading.at <= last.at) return [reading];
  if (reading.at - last.at < leastGapMs) return before;
  return [...before.filter(({ at }) => at > reading.at - keptMs), reading];
}

function isBehind(now: number | undefined, before: number | undefined): boolean {
  return now !== undefined && before !== undefined && now < before;
}

/** Returns a Counter64 as a number. Beyond 2^53 it loses the lowest digits, which does not matter for differences of megabytes. */
function numberOf(value: unknown): number | undefined {
  return typeof value === "bigint" || typeof value === "number" ? Number(value) : undefined;
}

/** The facts that a device gives about an interface. Unknown ones are absent. */
export interface InterfaceFacts {
  /** ifName, or ifDescr if there is none. */
  readonly name?: string;
  readonly alias?: string;
  /** The label of ifType. */
  readonly type?: string;
  readonly admin?: string;
  /** The speed of the interface. */
  readonly bitsPerSecond?: number;
}

/** An interface as people see it. Values that need a second poll are absent until then, too. */
export interface InterfaceView extends Omit<InterfaceFacts, "type"> {
  readonly index: number;
  readonly oper?: string;
  readonly inBitsPerSecond?: number;
  readonly outBitsPerSecond?: number;
  readonly inErrorsPerSecond?: number;
  readonly outErrorsPerSecond?: number;
  readonly inDiscardsPerSecond?: number;
  readonly outDiscardsPerSecond?: number;
}

/** Returns the rate per second of the counter with this OID in the row with this key; undefined if unknown. */
type RateOf = (oid: string, key: string) => number | undefined;

type Rate = Exclude<keyof InterfaceView, "index" | "oper" | keyof InterfaceFacts>;

const wholes = ["admin", "oper", "speed", "highSpeed", "type"] as const;
type Meaning = (typeof wholes)[number] | "alias";

const ifEntry = ".1.3.6.1.2.1.2.2.1";
const ifXEntry = ".1.3.6.1.2.1.31.1.1.1";

/** The OID of ifType, whose labels are in a table. */
export const ifType = `${ifEntry}.3`;

const columns: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  [ifType, "type"],
  [`${ifEntry}.5`, "speed"],
  [`${ifEntry}.7`, "admin"],
  [`${ifEntry}.8`, "oper"],
  [`${ifXEntry}.15`, "highSpeed"],
  [`${ifXEntry}.18`, "alias"],
]);

/** The counters of each rate, of which the first that exists counts: 64-bit counters come before those of 32 bits. */
const rates: Readonly<Record<Rate, { readonly of: readonly string[]; readonly factor: number }>> = {
  inBitsPerSecond: { of: [`${ifXEntry}.6`, `${ifEntry}.10`], factor: 8 },
  outBitsPerSecond: { of: [`${ifXEntry}.10`, `${ifEntry}.16`], factor: 8 },
  inErrorsPerSecond: { of: [`${ifEntry}.14`], factor: 1 },
  outErrorsPerSecond: { of: [`${ifEntry}.20`], factor: 1 },
  inDiscardsPerSecond: { of: [`${ifEntry}.13`], factor: 1 },
  outDiscardsPerSecond: { of: [`${ifEntry}.19`], factor: 1 },
};

/** The OIDs of the counters for which {@link InterfaceView} has rates. */
export const interfaceCounters: ReadonlySet<string> = new Set(Object.values(rates).flatMap(({ of }) => of));

/** The labels of ifAdminStatus and ifOperStatus. */
const states = ["", "up", "down", "testing", "unknown", "dormant", "not present", "lower layer down"] as const;

/** The most interfaces to keep for a device. */
const maxInterfaces = 20_000;

/**
 * Keeps the state of a device's interfaces from its last polls (IF-MIB, RFC 2863).
 *
 * Thousands of devices may have dozens of interfaces each, so an interface is a row of numbers and nothing else.
 */
export class InterfaceStates {
  readonly #width = wholes.length;
  readonly #slots = new Map<number, number>();
  readonly #aliases = new Map<number, string>();
  #numbers = new Float64Array(0);
  /** The number of changes to the facts that {@link InterfaceStates.facts} returns. */
  changes = 0;

  /** Returns bits per second; undefined if unknown. */
  speedOf(index: number): number | undefined {
    // ifSpeed stops at its largest number; ifHighSpeed rounds slow interfaces to 0.
    const high = this.#whole(index, "highSpeed") * 1_000_000;
    const speed = high > 0 && !isOutside(high, boundsByUnit["bit/s"]) ? high : this.#whole(index, "speed");
    return speed > 0 ? speed : undefined;
  }

  see(object: PolledObject, polled: PolledRows): void {
    for (const { position, meaning } of interfaceColumns(object)) {
      for (const row of polled.rows) {
        const value = row.values[position];
        const index = Number(row.key);
        if (value !== undefined && Number.isInteger(index)) this.#put(index, meaning, heldValue(value));
      }
    }
  }

  /** Takes one value. @param column its OID; columns that are not kept are ignored. */
  take(column: string, index: number, value: SnmpValue): void {
    const meaning = columns.get(column);
    if (meaning !== undefined) this.#put(index, meaning, value);
  }

  /** Returns the facts about interfaces with a name or any other fact. @param types labels of ifType. */
  facts(
    names: ReadonlyMap<number, string>,
    types: ReadonlyMap<number, string> | undefined,
  ): ReadonlyMap<number, InterfaceFacts> {
    const indexes = new Set([...names.keys(), ...this.#slots.keys(), ...this.#aliases.keys()]);
    return new Map(Array.from(indexes, (index) => [index, this.#factsOf(index, names.get(index), types)]));
  }

  #factsOf(index: number, name: string | undefined, types?: ReadonlyMap<number, string>): InterfaceFacts {
    const alias = this.#aliases.get(index);
    const type = types?.get(this.#whole(index, "type"));
    const admin = states[this.#whole(index, "admin")];
    const bitsPerSecond = this.speedOf(index);
    return {
      ...(name !== undefined && { name }),
      ...(alias !== undefined && { alias }),
      ...(type !== undefined && { type }),
      ...(admin && { admin }),
      ...(bitsPerSecond !== undefined && { bitsPerSecond }),
    };
  }

  /** Forgets earlier readings, because the interfaces may have other numbers. */
  forget(): void {
    this.#slots.clear();
    this.#aliases.clear();
    this.#numbers = new Float64Array(0);
  }

  view(names: ReadonlyMap<number, string>, rateOf: RateOf): readonly InterfaceView[] {
    const all = [...new Set([...names.keys(), ...this.#slots.keys()])].toSorted((a, b) => a - b);
    return all.map((index) => this.#viewInterface(index, names.get(index), rateOf));
  }

  #slotOf(index: number): number | undefined {
    const known = this.#slots.get(index);
    if (known !== undefined || this.#slots.size === maxInterfaces) return known;
    const slot = this.#slots.size * this.#width;
    this.#slots.set(index, slot);
    if (slot + this.#width > this.#numbers.length) {
      const larger = new Float64Array(Math.max(8 * this.#width, 2 * this.#numbers.length)).fill(Number.NaN);
      larger.set(this.#numbers);
      this.#numbers = larger;
    }
    return slot;
  }

  #put(index: number, meaning: Meaning, value: SnmpValue): void {
    if (meaning === "alias") {
      const text = value.value instanceof Uint8Array ? readName(value.value) : undefined;
      if (text === this.#aliases.get(index)) return;
      this.changes++;
      if (text === undefined) this.#aliases.delete(index);
      else if (this.#aliases.size < maxInterfaces) this.#aliases.set(index, text);
      return;
    }
    const number = readNumber(value);
    const slot = number === undefined ? undefined : this.#slotOf(index);
    if (slot === undefined) return;
    const at = slot + wholes.indexOf(meaning);
    if (meaning !== "oper" && this.#numbers[at] !== Number(number)) this.changes++;
    this.#numbers[at] = Number(number);
  }

  #whole(index: number, one: (typeof wholes)[number]): number {
    const slot = this.#slots.get(index);
    return slot === undefined ? Number.NaN : (this.#numbers[slot + wholes.indexOf(one)] as number);
  }

  #viewInterface(index: number, name: string | undefined, rateOf: RateOf): InterfaceView {
    const known = Object.entries(rates).flatMap(([rate, { of, factor }]) => {
      const value = of.map((oid) => rateOf(oid, String(index))).find((one) => one !== undefined);
      return value === undefined ? [] : [[rate, value * factor] as const];
    });
    const oper = states[this.#whole(index, "oper")];
    return { index, ...this.#factsOf(index, name), ...(oper && { oper }), ...Object.fromEntries(known) };
  }
}

interface SeenColumn {
  readonly position: number;
  readonly meaning: Meaning;
}

const seenColumns = new WeakMap<PolledObject, readonly SeenColumn[]>();

/** Returns the columns of an object. Devices with the same object share the result. */
function interfaceColumns(object: PolledObject): readonly SeenColumn[] {
  const known = seenColumns.get(object);
  if (known !== undefined) return known;
  const found = object.columns.flatMap(({ oid }: PolledColumn, position) => {
    const meaning = columns.get(`.${oid.join(".")}`);
    return meaning === undefined ? [] : [{ position, meaning }];
  });
  seenColumns.set(object, found);
  return found;
}
