import {
  InterfaceLearner,
  interfaceNames,
  mergeLearnt,
  nothingLearnt,
  type LearntColumn,
  type LearntInterfaces,
} from "../discovery/learn-interfaces.ts";
import { heldValue, convertValue, type HeldValue, readNumber } from "../values/convert-value.ts";
import { suffixOf, type PolledRows } from "./poll-object.ts";
import type { PolledObject, NamingColumn } from "./poll-plan.ts";
import type { RelatedFields, RelatedKind } from "../values/put-value.ts";
import { syntaxes, type Syntax } from "../values/syntaxes-and-units.ts";

/** Tells whether something that the names are made of is among its columns. */
export function givesNames({ columns }: PolledObject): boolean {
  return columns.some(({ learnt }) => learnt !== undefined);
}

/** The names of a device's interfaces, and its addresses, as the last reading of each column had them. */
export class DeviceNames {
  #learnt = nothingLearnt;
  #interfaces: ReadonlyMap<number, string> = new Map();
  #addresses: readonly string[] = [];
  /** Columns that have not been read since the names lost their trust. */
  readonly #suspect = new Set<LearntColumn>();

  /** Names by ifIndex. */
  get interfaces(): ReadonlyMap<number, string> {
    return this.#interfaces;
  }

  get addresses(): readonly string[] {
    return this.#addresses;
  }

  /** Puts what a discovery learnt in the place of everything. */
  set(next: LearntInterfaces): void {
    this.#suspect.clear();
    this.#set(next);
  }

  /** The numbers of interfaces may be others now: what is known counts no more once it is read again. */
  distrust(): void {
    for (const column of ["descriptions", "names"] as const)
      if (this.#learnt[column].size > 0) this.#suspect.add(column);
  }

  /** The name for a record; undefined while the names are not to be trusted. */
  nameOf(index: number): string | undefined {
    return this.#suspect.size > 0 ? undefined : this.#interfaces.get(index);
  }

  /** Learns from a poll. @returns whether anything is different. */
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
 * Tells whether names are what they were, which they nearly always are. To find that out makes nothing that stays: tables of names
 * that are made again at each poll are the greater part of what the garbage collector has to look for.
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
      // The octets of other text than ASCII are not what it is known as.
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

/** Tells whether something that other rows are named by is among its columns. */
export function givesRowNames(object: PolledObject): boolean {
  return object.columns.some(({ naming }) => naming !== undefined);
}

const text = syntaxes.get("DisplayString") as Syntax;
/** PhysicalClass: container(5), powerSupply(6), fan(7), module(9) have a place in a chassis(3) or a stack(11). */
const placed = new Set<unknown>([5, 6, 7, 9]);
const holders = new Set<unknown>([3, 11]);
/** Nothing is nested deeper; agents have made circles. */
const maxDepth = 16;

/** Keeps what rows of one table say of rows of another: entities by entPhysicalIndex, ports by lldpLocPortNum, devices by hrDeviceIndex. */
export class RowNames {
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

  /** Returns what is said of a row, as the rest of a field's name and its value. */
  of(kind: RelatedKind, index: number, classLabel: (value: number) => string | undefined): RelatedFields {
    return this.#fieldsOf[kind](kind, index, classLabel);
  }

  /** The device has restarted: numbers may be others. */
  forget(): void {
    this.#learnt = {};
  }

  /** The position of what holds the entity in its chassis. */
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
    // LldpPortIdSubtype: interfaceAlias(1), interfaceName(5) and local(7) are texts, the others numbers of hardware.
    return [1, 5, 7].includes(Number(this.#learnt.portIdSubtype?.get(port))) ? (id ?? descr) : (descr ?? id);
  }
}

function readName(held: HeldValue): string | number | undefined {
  const value = heldValue(held);
  if (!(value.value instanceof Uint8Array)) return Number(readNumber(value));
  const name = String(convertValue(text, value) ?? "").trim();
  return name === "" ? undefined : name;
}
