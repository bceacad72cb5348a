import { readNumber } from "../values/convert-value.ts";
import { heldValue, type HeldValue } from "../values/convert-value.ts";
import type { PolledObject } from "./poll-plan.ts";
import type { PolledRows, PolledRow } from "./poll-object.ts";
import { hasRestarted } from "./device-sessions.ts";
import { hashText } from "../../base/text/index.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";
import type { EnumTables, NameTables } from "../values/put-value.ts";
import { CounterRates, type CountedRows } from "./counter-rates.ts";
import { DeviceNames } from "./row-names.ts";
import { InterfaceStates, interfaceCounters, type InterfaceView } from "./interface-states.ts";
import type { RateBudget } from "./counter-rates.ts";
import { OctetCounters, type OctetBudget, type OctetReading } from "./interface-states.ts";
import { RowNames } from "./row-names.ts";

interface Seen {
  readonly value: HeldValue;
  readonly at: number;
}

/** Values kept in addition to those of a poll that has not read all; many more than anybody watches. */
const maxKept = 100_000;

/** Remembers the values of attributes whose definition says `rediscover`. */
class WatchedValues {
  /** By object, then by instance. */
  readonly #seen = new Map<string, ReadonlyMap<string, Seen>>();

  /** @returns the first attribute that went back (OnReset) or changed (OnChange) since it was seen last. */
  see(object: PolledObject, polled: PolledRows, at: number): string | undefined {
    if (object.columns.every(({ attribute }) => attribute.rediscover === undefined)) return undefined;
    let reason: string | undefined;
    const before = this.#seen.get(object.id) ?? new Map<string, Seen>();
    // Keys that the object has no longer are forgotten with the next complete poll.
    const now = new Map(polled.isComplete || before.size > maxKept ? [] : before);
    this.#seen.set(object.id, now);
    for (const [i, { attribute }] of object.columns.entries()) {
      if (attribute.rediscover === undefined) continue;
      for (const { key: row, values } of polled.rows) {
        const value = values[i];
        if (value === undefined) continue;
        const key = `${attribute.oidText}.${row}`;
        const earlier = before.get(key);
        now.set(key, { value, at });
        if (earlier === undefined) continue;
        const isHit =
          attribute.rediscover === "OnReset" ? wentBack(earlier, { value, at }) : isOther(earlier.value, value);
        if (isHit) reason ??= `${object.id} ${attribute.name}`;
      }
    }
    return reason;
  }

  /** Forgets everything, because the device has been discovered. */
  clear(): void {
    this.#seen.clear();
  }
}

function wentBack(earlier: Seen, later: Seen): boolean {
  const before = readNumber(heldValue(earlier.value));
  const after = readNumber(heldValue(later.value));
  if (before === undefined || after === undefined) return false;
  if (earlier.value.type === "TimeTicks" && later.value.type === "TimeTicks") {
    const reading = ({ value, at }: Seen) => ({
      ticks: Number(value.value),
      boots: undefined,
      engineId: undefined,
      at,
    });
    return hasRestarted(reading(earlier), reading(later));
  }
  return after < before;
}

function isOther(before: HeldValue, after: HeldValue): boolean {
  return textOf(before) !== textOf(after);
}

function textOf({ type, value }: HeldValue): string {
  return `${type} ${String(value)}`;
}

/**
 * Remembers which rows each object had in its last complete poll.
 *
 * Rows are kept as hashes of 32 bits: two that share one are counted as one, which a metric can bear.
 */
class VanishedRows {
  readonly #last = new Map<string, Uint32Array>();

  /** @returns how many rows the object had, and has no longer. */
  see(objectId: string, rows: readonly PolledRow[]): number {
    const present = Uint32Array.from(rows, ({ key }) => hashText(key));
    const before = this.#last.get(objectId);
    this.#last.set(objectId, present);
    if (before === undefined || isSame(before, present)) return 0;
    const known = new Set(present);
    return before.reduce((vanished, row) => vanished + (known.has(row) ? 0 : 1), 0);
  }

  /** Forgets all objects but these. */
  keep(objects: { has(objectId: string): boolean }): void {
    for (const objectId of this.#last.keys()) if (!objects.has(objectId)) this.#last.delete(objectId);
  }
}

function isSame(a: Uint32Array, b: Uint32Array): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}

export interface SeenChanges {
  /** The name of an attribute that went back or changed and so calls for a discovery. */
  readonly rediscover: string | undefined;
  /** True if the names or addresses are others. */
  readonly areNamesOthers: boolean;
}

export interface LearntDeviceOptions {
  readonly octets: OctetBudget | undefined;
  readonly rates: RateBudget;
  /** True if all counters are compared, for records; else those of interfaces are, for people. */
  readonly comparesAll: boolean;
}

/** Its enumeration has the labels of PhysicalClass. */
const entPhysicalClass = ".1.3.6.1.2.1.47.1.1.1.1.5";

/** Keeps what the polls of a device have learnt of it, for its records, for flows and for people. */
export class LearntDevice {
  readonly #watched = new WatchedValues();
  readonly #vanishedRows = new VanishedRows();
  readonly #names = new DeviceNames();
  readonly names: Pick<DeviceNames, "interfaces" | "addresses"> = this.#names;
  readonly #rowNames = new RowNames();
  readonly #interfaces = new InterfaceStates();
  readonly #octets: OctetCounters;
  readonly #rates: CounterRates;
  #areRowNamesGone = false;

  constructor(options: LearntDeviceOptions) {
    this.#octets = new OctetCounters(options.octets);
    this.#rates = new CounterRates(
      options.rates,
      ({ metric, oidText }) => interfaceCounters.has(oidText) || (options.comparesAll && metric === "counter"),
      options.comparesAll,
    );
  }

  /** The numbers of interfaces may be others: what was read of them says nothing any more. */
  forgetInterfaces(): void {
    this.#names.distrust();
    this.#interfaces.forget();
    this.#rates.forget();
  }

  interfaceViews(): readonly InterfaceView[] {
    return this.#interfaces.view(this.names.interfaces, (oid, key) => this.#rates.rateOf(oid, key));
  }

  octets(): ReadonlyMap<number, readonly OctetReading[]> {
    return this.#octets.readings();
  }

  /** The name of a port by its lldpLocPortNum; undefined while it is not known. */
  lldpPort(port: number): string | undefined {
    const name = this.#rowNames.of("lldp-port", port, () => undefined).find(([field]) => field === "name")?.[1];
    return name === undefined ? undefined : String(name);
  }

  /** Keeps counters of bytes. @param at milliseconds since the epoch. */
  countOctets(object: PolledObject, polled: PolledRows, at: number): void {
    this.#octets.see(object, polled, at);
  }

  /** Learns from a poll that was not cut short. @param at monotonic milliseconds. */
  see(object: PolledObject, polled: PolledRows, at: number): SeenChanges {
    const rediscover = this.#watched.see(object, polled, at);
    const areNamesOthers = this.#names.see(object, polled);
    this.#rowNames.see(object, polled);
    if (object.context === undefined) this.#interfaces.see(object, polled);
    return { rediscover, areNamesOthers };
  }

  /** @returns how many rows the object had in its last complete poll, and has no longer. */
  vanished(object: PolledObject, polled: PolledRows): number {
    return this.#vanishedRows.see(object.id, polled.rows);
  }

  /** @param isOfThisBoot false: the names may be those of other interfaces. */
  nameTables(enums: EnumTables, isOfThisBoot: boolean): NameTables {
    const classes = enums.integer.get(entPhysicalClass);
    return {
      enums,
      interfaceName: (index) => (isOfThisBoot ? this.#names.nameOf(index) : undefined),
      related: (kind, index) => this.#rowNames.of(kind, index, (value) => classes?.get(value)),
    };
  }

  /**
   * Compares counters with those of the poll before.
   *
   * @param intervalMs of the polls: one that comes sooner than after half of it is not counted.
   */
  count(object: PolledObject, at: number, intervalMs: number): CountedRows | undefined {
    return this.#rates.begin(object, at, intervalMs / 2, (index) => this.#interfaces.speedOf(index));
  }

  /** Takes over what a discovery learnt. @returns whether names of rows were lost since the last discovery. */
  discovered(plan: DevicePlan): boolean {
    this.#names.set(plan.learnt);
    this.#watched.clear();
    this.#vanishedRows.keep(plan.objects);
    const wereGone = this.#areRowNamesGone;
    this.#areRowNamesGone = false;
    return wereGone;
  }

  /** The device has restarted. */
  restarted(): void {
    this.#octets.clear();
    this.forgetInterfaces();
    this.#rowNames.forget();
    this.#areRowNamesGone = true;
  }

  /** The device is polled no more: gives back its part of shared budgets. */
  end(): void {
    this.#octets.clear();
    this.#rates.forget();
  }
}
