import {
  InterfaceLearner,
  interfaceNames,
  mergeLearnt,
  nothingLearnt,
  type LearntColumn,
  type LearntInterfaces,
} from "../discovery/learn-interfaces.ts";
import { heldValue, convertValue, type HeldValue, readNumber } from "../values/convert-value.ts";
import { suffixOf, type PolledRows, type PolledRow } from "./poll-object.ts";
import type { PolledObject, NamingColumn } from "./poll-plan.ts";
import type { RelatedFields, RelatedKind, EnumTables, NameTables } from "../values/put-value.ts";
import { syntaxes, type Syntax } from "../values/syntaxes-and-units.ts";
import { hasRestarted } from "./device-sessions.ts";
import { hashText } from "../../base/text/index.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";
import { CounterRates, type CountedRows, type RateBudget } from "./counter-rates.ts";
import {
  InterfaceStates,
  interfaceCounters,
  type InterfaceFacts,
  type InterfaceView,
  ifType,
  OctetCounters,
  type OctetBudget,
  type OctetReading,
} from "./interface-states.ts";

/** Reports whether the object has a column from which names are made. */
export function givesNames({ columns }: PolledObject): boolean {
  return columns.some(({ learnt }) => learnt !== undefined);
}

/** The names of a device's interfaces, and its addresses, from the last reading of each column. */
class DeviceNames {
  #learnt = nothingLearnt;
  #interfaces: ReadonlyMap<number, string> = new Map();
  #addresses: readonly string[] = [];
  /** The columns that have not been read since the names became doubtful. */
  readonly #suspect = new Set<LearntColumn>();

  /** Returns the names by ifIndex. */
  get interfaces(): ReadonlyMap<number, string> {
    return this.#interfaces;
  }

  get addresses(): readonly string[] {
    return this.#addresses;
  }

  /** Replaces everything with the results of a discovery. */
  set(next: LearntInterfaces): void {
    this.#suspect.clear();
    this.#set(next);
  }

  /** Marks all names as doubtful until they are read again, because interfaces may have other numbers now. */
  distrust(): void {
    for (const column of ["descriptions", "names"] as const)
      if (this.#learnt[column].size > 0) this.#suspect.add(column);
  }

  /** Returns the name for a record; undefined while the names are doubtful. */
  nameOf(index: number): string | undefined {
    return this.#suspect.size > 0 ? undefined : this.#interfaces.get(index);
  }

  /** Learns from a poll. @returns true if anything has changed. */
  see(object: PolledObject, polled: PolledRows): boolean {
    const columns = object.columns.map(({ learnt: column }) => column);
    const seen = columns.filter((column): column is LearntColumn => column !== undefined);
    if (seen.length === 0 || (this.#suspect.size === 0 && saysTheSame(this.#learnt, columns, polled))) return false;
    const learner = new InterfaceLearner();
    for (const row of polled.rows) {
      const suffix = suffixOf(row);
      for (const [i, column] of columns.entries()) {
        const value = row.values[i];
        if (column !== undefined && value !== undefined) learner.add(column, suffix, heldValue(value));
      }
    }
    const isReplaced = (column: LearntColumn): boolean => polled.isComplete || this.#suspect.has(column);
    const next = mergeLearnt(this.#learnt, learner.result(), new Set(seen.filter(isReplaced)));
    for (const column of seen) this.#suspect.delete(column);
    const [earlierInterfaces, earlierAddresses] = [this.#interfaces, this.#addresses];
    this.#set(next);
    return !hasSameNames(earlierInterfaces, this.#interfaces) || earlierAddresses.join() !== this.#addresses.join();
  }

  #set(next: LearntInterfaces): void {
    this.#learnt = next;
    this.#interfaces = interfaceNames(next);
    this.#addresses = [...new Set([...next.ipv4Addresses, ...next.inetAddresses])];
  }
}

/**
 * Reports whether names have not changed, which is nearly always so. The comparison allocates nothing that stays: new tables of names
 * at each poll would be the greater part of the garbage collector's work.
 */
function saysTheSame(
  learnt: LearntInterfaces,
  columns: readonly (LearntColumn | undefined)[],
  { rows, isComplete }: PolledRows,
): boolean {
  if (!isComplete) return false;
  for (let i = 0; i < columns.length; i++) {
    const column = columns[i];
    if (column === undefined) continue;
    if (column !== "names" && column !== "descriptions") return false;
    let same = 0;
    for (const { key, values } of rows) {
      const text = values[i]?.value;
      if (text === undefined || text === "") continue;
      // The kept form of non-ASCII text differs from its octets, so such text always takes the full comparison.
      if (typeof text !== "string" || learnt[column].get(Number(key)) !== text || !isAscii(text)) return false;
      same++;
    }
    if (same !== learnt[column].size) return false;
  }
  return true;
}

const isAscii = (text: string): boolean => /^[ -~]*$/.test(text);

function hasSameNames(before: ReadonlyMap<number, string>, after: ReadonlyMap<number, string>): boolean {
  return before.size === after.size && [...after].every(([index, name]) => before.get(index) === name);
}

type Learnt = { [column in NamingColumn]?: ReadonlyMap<number, string | number> };

/** Reports whether the object has a column that names rows of other tables. */
export function givesRowNames(object: PolledObject): boolean {
  return object.columns.some(({ naming }) => naming !== undefined);
}

const text = syntaxes.get("DisplayString") as Syntax;
/** The PhysicalClass values of parts with a place in a chassis(3) or a stack(11): container(5), powerSupply(6), fan(7), module(9). */
const placed = new Set<unknown>([5, 6, 7, 9]);
const holders = new Set<unknown>([3, 11]);
/** The most levels of nesting. Nothing real is deeper, but agents have reported circles. */
const maxDepth = 16;

/**
 * The facts that rows of one table give about rows of another: entities by entPhysicalIndex, ports by lldpLocPortNum, devices by
 * hrDeviceIndex.
 */
class RowNames {
  #learnt: Learnt = {};
  readonly #fieldsOf: { readonly [kind in RelatedKind]: RowNames["of"] } = {
    entity: (_, index, classLabel) => {
      const entityClass = this.#learnt.entityClass?.get(index);
      return [
        ["name", this.#learnt.entityName?.get(index) ?? this.#learnt.entityDescr?.get(index)],
        ["class.name", typeof entityClass === "number" ? classLabel(entityClass) : undefined],
        ["slot", this.#slotOf(index)],
      ];
    },
    "lldp-port": (_, port) => [["name", this.#nameOfPort(port)]],
    "host-device": (_, index) => [["name", this.#learnt.deviceDescr?.get(index)]],
  };

  /** Learns from a poll. */
  see(object: PolledObject, polled: PolledRows): void {
    if (polled.rows.length === 0) return;
    for (const [i, { naming: column }] of object.columns.entries()) {
      if (column === undefined) continue;
      const found = new Map(polled.isComplete ? [] : this.#learnt[column]);
      for (const { key, values } of polled.rows) {
        const value = values[i] === undefined ? undefined : readName(values[i]);
        if (value !== undefined && !key.includes(".")) found.set(Number(key), value);
      }
      this.#learnt[column] = found;
    }
  }

  /** Returns the facts about a row, each as the rest of a field's name and a value. */
  of(kind: RelatedKind, index: number, classLabel: (value: number) => string | undefined): RelatedFields {
    return this.#fieldsOf[kind](kind, index, classLabel);
  }

  /** Forgets all facts, because numbers may have changed after a restart of the device. */
  forget(): void {
    this.#learnt = {};
  }

  /** Returns the position in the chassis of the part that contains the entity. */
  #slotOf(entity: number): number | undefined {
    let current = entity;
    for (let depth = 0; depth < maxDepth; depth++) {
      const parent = this.#learnt.entityParent?.get(current);
      if (typeof parent !== "number" || parent === 0) return undefined;
      if (holders.has(this.#learnt.entityClass?.get(parent))) {
        const position = this.#learnt.entityPosition?.get(current);
        const isPlaced = placed.has(this.#learnt.entityClass?.get(current));
        return isPlaced && typeof position === "number" && position >= 0 ? position : undefined;
      }
      current = parent;
    }
    return undefined;
  }

  #nameOfPort(port: number): string | number | undefined {
    const [id, descr] = [this.#learnt.portId?.get(port), this.#learnt.portDescr?.get(port)];
    // For LldpPortIdSubtype, interfaceAlias(1), interfaceName(5) and local(7) are texts; the others are numbers of hardware.
    return [1, 5, 7].includes(Number(this.#learnt.portIdSubtype?.get(port))) ? (id ?? descr) : (descr ?? id);
  }
}

function readName(held: HeldValue): string | number | undefined {
  const value = heldValue(held);
  if (!(value.value instanceof Uint8Array)) return Number(readNumber(value));
  const name = String(convertValue(text, value) ?? "").trim();
  return name === "" ? undefined : name;
}

interface Seen {
  readonly value: HeldValue;
  readonly at: number;
}

/** The most values to keep in addition to those of an incomplete poll; many more than anybody watches. */
const maxKept = 100_000;

/** Remembers the values of attributes whose definition has `rediscover`. */
class WatchedValues {
  /** The values by object, then by instance. */
  readonly #seen = new Map<string, ReadonlyMap<string, Seen>>();

  /** @returns the first attribute that went back (OnReset) or changed (OnChange) since its last reading. */
  see(object: PolledObject, polled: PolledRows, at: number): string | undefined {
    if (object.columns.every(({ attribute }) => attribute.rediscover === undefined)) return undefined;
    let reason: string | undefined;
    const before = this.#seen.get(object.id) ?? new Map<string, Seen>();
    // Keys that the object has lost are forgotten with the next complete poll.
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
 * Remembers the rows of each object in its last complete poll.
 *
 * Rows are kept as hashes of 32 bits. Two rows with the same hash count as one, which is acceptable for a metric.
 */
class VanishedRows {
  readonly #last = new Map<string, Uint32Array>();

  /** @returns the number of rows that the object has lost. */
  see(objectId: string, rows: readonly PolledRow[]): number {
    const present = Uint32Array.from(rows, ({ key }) => hashText(key));
    const before = this.#last.get(objectId);
    this.#last.set(objectId, present);
    if (before === undefined || isSame(before, present)) return 0;
    const known = new Set(present);
    return before.reduce((vanished, row) => vanished + (known.has(row) ? 0 : 1), 0);
  }

  /** Forgets all objects except these. */
  keep(objects: { has(objectId: string): boolean }): void {
    for (const objectId of this.#last.keys()) if (!objects.has(objectId)) this.#last.delete(objectId);
  }
}

function isSame(a: Uint32Array, b: Uint32Array): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}

interface SeenChanges {
  /** The name of an attribute that went back or changed, so that a discovery is necessary. */
  readonly rediscover: string | undefined;
  /** True if names, other facts about interfaces, or addresses have changed. */
  readonly areNamesOthers: boolean;
}

export interface LearntDeviceOptions {
  readonly octets: OctetBudget | undefined;
  readonly rates: RateBudget;
  /** True if all counters are compared, for records; false if only those of interfaces are, for people. */
  readonly comparesAll: boolean;
}

/** The column whose enumeration has the labels of PhysicalClass. */
const entPhysicalClass = ".1.3.6.1.2.1.47.1.1.1.1.5";

/** Keeps the facts about a device from its polls, for its records, for flows and for people. */
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

  /** Forgets the facts about interfaces, because they may have other numbers. */
  forgetInterfaces(): void {
    this.#names.distrust();
    this.#interfaces.forget();
    this.#rates.forget();
  }

  interfaceViews(): readonly InterfaceView[] {
    return this.#interfaces.view(this.names.interfaces, (oid, key) => this.#rates.rateOf(oid, key));
  }

  /** Returns the facts about interfaces for flows. */
  interfaceFacts(enums: EnumTables): ReadonlyMap<number, InterfaceFacts> {
    return this.#interfaces.facts(this.names.interfaces, enums.integer.get(ifType));
  }

  octets(): ReadonlyMap<number, readonly OctetReading[]> {
    return this.#octets.readings();
  }

  /** Returns the name of a port by its lldpLocPortNum; undefined if it is unknown. */
  lldpPort(port: number): string | undefined {
    const name = this.#rowNames.of("lldp-port", port, () => undefined).find(([field]) => field === "name")?.[1];
    return name === undefined ? undefined : String(name);
  }

  /** Keeps counters of bytes. @param at in ms since the epoch. */
  countOctets(object: PolledObject, polled: PolledRows, at: number): void {
    this.#octets.see(object, polled, at);
  }

  /** Learns from a poll that was not cut. @param at in monotonic ms. */
  see(object: PolledObject, polled: PolledRows, at: number): SeenChanges {
    const rediscover = this.#watched.see(object, polled, at);
    const areNamesOthers = this.#names.see(object, polled);
    this.#rowNames.see(object, polled);
    const { changes } = this.#interfaces;
    if (object.context === undefined) this.#interfaces.see(object, polled);
    return { rediscover, areNamesOthers: areNamesOthers || this.#interfaces.changes > changes };
  }

  /** @returns the number of rows that the object has lost since its last complete poll. */
  vanished(object: PolledObject, polled: PolledRows): number {
    return this.#vanishedRows.see(object.id, polled.rows);
  }

  /** @param isOfThisBoot false if the names may be those of other interfaces. */
  nameTables(enums: EnumTables, isOfThisBoot: boolean): NameTables {
    const classes = enums.integer.get(entPhysicalClass);
    return {
      enums,
      interfaceName: (index) => (isOfThisBoot ? this.#names.nameOf(index) : undefined),
      related: (kind, index) => this.#rowNames.of(kind, index, (value) => classes?.get(value)),
    };
  }

  /**
   * Compares counters with those of the previous poll.
   *
   * @param intervalMs the interval of the polls. A poll that comes sooner than after half of it is not counted.
   */
  count(object: PolledObject, at: number, intervalMs: number): CountedRows | undefined {
    return this.#rates.begin(object, at, intervalMs / 2, (index) => this.#interfaces.speedOf(index));
  }

  /** Takes over the results of a discovery. @returns true if names of rows were lost since the last discovery. */
  discovered(plan: DevicePlan): boolean {
    this.#names.set(plan.learnt);
    this.#watched.clear();
    this.#vanishedRows.keep(plan.objects);
    const wereGone = this.#areRowNamesGone;
    this.#areRowNamesGone = false;
    return wereGone;
  }

  /** Handles a restart of the device. */
  restarted(): void {
    this.#octets.clear();
    this.forgetInterfaces();
    this.#rowNames.forget();
    this.#areRowNamesGone = true;
  }

  /** Gives back the device's part of shared budgets when it is no longer polled. */
  end(): void {
    this.#octets.clear();
    this.#rates.forget();
  }
}
