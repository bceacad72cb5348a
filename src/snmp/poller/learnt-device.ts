import { readNumber } from "../values/convert-value.ts";
import { heldValue, type HeldValue } from "../values/convert-value.ts";
import type { PolledObject } from "./poll-plan.ts";
import type { PolledRows, PolledRow } from "./poll-object.ts";
import { hasRestarted } from "./device-sessions.ts";
import { hashText } from "../../base/text/index.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";
import type { EnumTables, NameTables } from "../values/put-value.ts";
import { createCounterRates, type CountedRows } from "./counter-rates.ts";
import { createDeviceNames, type DeviceNames } from "./row-names.ts";
import { createInterfaceStates, interfaceCounters, type InterfaceView } from "./interface-states.ts";
import type { RateBudget } from "./counter-rates.ts";
import { createOctetCounters, type OctetBudget, type OctetReading } from "./interface-states.ts";
import { createRowNames } from "./row-names.ts";

/** Remembers the values of attributes whose definition says `rediscover`. */
interface WatchedValues {
  /** @returns the first attribute that went back (OnReset) or changed (OnChange) since it was seen last. */
  see(object: PolledObject, polled: PolledRows, at: number): string | undefined;
  /** Forgets everything, because the device has been discovered. */
  clear(): void;
}

interface Seen {
  readonly value: HeldValue;
  readonly at: number;
}

/** Values kept in addition to those of a poll that has not read all; many more than anybody watches. */
const maxKept = 100_000;

function createWatchedValues(): WatchedValues {
  /** By object, then by instance. */
  const seen = new Map<string, ReadonlyMap<string, Seen>>();
  return {
    see(object, polled, at) {
      if (object.columns.every(({ attribute }) => attribute.rediscover === undefined)) return undefined;
      let reason: string | undefined;
      const before = seen.get(object.id) ?? new Map<string, Seen>();
      // What the object has no longer is forgotten with the next complete poll.
      const now = new Map(polled.isComplete || before.size > maxKept ? [] : before);
      seen.set(object.id, now);
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
    },
    clear: () => seen.clear(),
  };
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

/** Remembers which rows each object had in its last complete poll. */
interface VanishedRows {
  /** @returns how many rows the object had, and has no longer. */
  see(objectId: string, rows: readonly PolledRow[]): number;
  /** Forgets all objects but these. */
  keep(objects: { has(objectId: string): boolean }): void;
}

/** Rows are kept as hashes of 32 bits: two that share one are counted as one, which a metric can bear. */
function createVanishedRows(): VanishedRows {
  const last = new Map<string, Uint32Array>();
  return {
    see(objectId, rows) {
      const present = Uint32Array.from(rows, ({ key }) => hashText(key));
      const before = last.get(objectId);
      last.set(objectId, present);
      if (before === undefined || isSame(before, present)) return 0;
      const known = new Set(present);
      return before.reduce((vanished, row) => vanished + (known.has(row) ? 0 : 1), 0);
    },
    keep(objects) {
      for (const objectId of last.keys()) if (!objects.has(objectId)) last.delete(objectId);
    },
  };
}

function isSame(a: Uint32Array, b: Uint32Array): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}

/** What the polls of a device have learnt of it, for its records, for flows and for people. */
export interface LearntDevice {
  readonly names: Pick<DeviceNames, "interfaces" | "addresses">;
  interfaceViews(): readonly InterfaceView[];
  octets(): ReadonlyMap<number, readonly OctetReading[]>;
  /** The name of a port by its lldpLocPortNum; undefined while it is not known. */
  lldpPort(port: number): string | undefined;
  /** Keeps counters of bytes. @param at milliseconds since the epoch. */
  countOctets(object: PolledObject, polled: PolledRows, at: number): void;
  /** Learns from a poll that was not cut short. @param at monotonic milliseconds. */
  see(object: PolledObject, polled: PolledRows, at: number): SeenChanges;
  /** @returns how many rows the object had in its last complete poll, and has no longer. */
  vanished(object: PolledObject, polled: PolledRows): number;
  /** @param isOfThisBoot false: the names may be those of other interfaces. */
  nameTables(enums: EnumTables, isOfThisBoot: boolean): NameTables;
  /**
   * Compares counters with those of the poll before.
   *
   * @param intervalMs of the polls: one that comes sooner than after half of it is not counted.
   */
  count(object: PolledObject, at: number, intervalMs: number): CountedRows | undefined;
  /** Takes over what a discovery learnt. @returns whether names of rows were lost since the last discovery. */
  discovered(plan: DevicePlan): boolean;
  /** The numbers of interfaces may be others: what was read of them says nothing any more. */
  forgetInterfaces(): void;
  /** The device has restarted. */
  restarted(): void;
  /** The device is polled no more: gives back its part of shared budgets. */
  end(): void;
}

export interface SeenChanges {
  /** What calls for a discovery: the name of an attribute that went back or changed. */
  readonly rediscover: string | undefined;
  /** Whether the names or addresses are others. */
  readonly areNamesOthers: boolean;
}

export interface LearntDeviceOptions {
  readonly octets: OctetBudget | undefined;
  readonly rates: RateBudget;
  /** Whether all counters are compared, for records; else those of interfaces are, for people. */
  readonly comparesAll: boolean;
}

/** Its enumeration has the labels of PhysicalClass. */
const entPhysicalClass = ".1.3.6.1.2.1.47.1.1.1.1.5";

export function createLearntDevice(options: LearntDeviceOptions): LearntDevice {
  const watched = createWatchedValues();
  const vanishedRows = createVanishedRows();
  const names = createDeviceNames();
  const rowNames = createRowNames();
  const interfaces = createInterfaceStates();
  const octets = createOctetCounters(options.octets);
  const rates = createCounterRates(
    options.rates,
    ({ metric, oidText }) => interfaceCounters.has(oidText) || (options.comparesAll && metric === "counter"),
    options.comparesAll,
  );
  let areRowNamesGone = false;
  const forgetInterfaces = (): void => {
    names.distrust();
    interfaces.forget();
    rates.forget();
  };
  return {
    names,
    interfaceViews: () => interfaces.view(names.interfaces, (oid, key) => rates.rateOf(oid, key)),
    octets: () => octets.readings(),
    lldpPort(port) {
      const name = rowNames.of("lldp-port", port, () => undefined).find(([field]) => field === "name")?.[1];
      return name === undefined ? undefined : String(name);
    },
    countOctets: (object, polled, at) => octets.see(object, polled, at),
    see(object, polled, at) {
      const rediscover = watched.see(object, polled, at);
      const areNamesOthers = names.see(object, polled);
      rowNames.see(object, polled);
      if (object.context === undefined) interfaces.see(object, polled);
      return { rediscover, areNamesOthers };
    },
    vanished: (object, polled) => vanishedRows.see(object.id, polled.rows),
    nameTables(enums, isOfThisBoot) {
      const classes = enums.integer.get(entPhysicalClass);
      return {
        enums,
        interfaceName: (index) => (isOfThisBoot ? names.nameOf(index) : undefined),
        related: (kind, index) => rowNames.of(kind, index, (value) => classes?.get(value)),
      };
    },
    count: (object, at, intervalMs) => rates.begin(object, at, intervalMs / 2, (index) => interfaces.speedOf(index)),
    discovered(plan) {
      names.set(plan.learnt);
      watched.clear();
      vanishedRows.keep(plan.objects);
      const wereGone = areRowNamesGone;
      areRowNamesGone = false;
      return wereGone;
    },
    forgetInterfaces,
    restarted() {
      octets.clear();
      forgetInterfaces();
      rowNames.forget();
      areRowNamesGone = true;
    },
    end() {
      octets.clear();
      rates.forget();
    },
  };
}
