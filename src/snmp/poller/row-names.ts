import { convertValue } from "../values/convert-value.ts";
import { heldValue, type HeldValue } from "../values/held-value.ts";
import type { RelatedFields, RelatedKind } from "../values/put-value.ts";
import { readNumber } from "../values/read-number.ts";
import { syntaxes, type Syntax } from "../values/syntax.ts";
import type { NamingColumn } from "./naming-columns.ts";
import type { PolledRows } from "./poll-object.ts";
import type { PolledObject } from "./poll-plan.ts";

/** What rows of one table say of rows of another: entities by entPhysicalIndex, ports by lldpLocPortNum, devices by hrDeviceIndex. */
export interface RowNames {
  /** Learns from a poll. */
  see(object: PolledObject, polled: PolledRows): void;
  /** What is said of a row, as the rest of a field's name and its value. */
  of(kind: RelatedKind, index: number, classLabel: (value: number) => string | undefined): RelatedFields;
  /** The device has restarted: numbers may be others. */
  forget(): void;
}

type Learnt = { [column in NamingColumn]?: ReadonlyMap<number, string | number> };

/** Whether something that other rows are named by is among its columns. */
export function givesRowNames(object: PolledObject): boolean {
  return object.columns.some(({ naming }) => naming !== undefined);
}

const text = syntaxes.get("DisplayString") as Syntax;
/** PhysicalClass: container(5), powerSupply(6), fan(7), module(9) have a place in a chassis(3) or a stack(11). */
const placed = new Set<unknown>([5, 6, 7, 9]);
const holders = new Set<unknown>([3, 11]);
/** Nothing is nested deeper; agents have made circles. */
const maxDepth = 16;

export function createRowNames(): RowNames {
  let learnt: Learnt = {};

  /** The position of what holds the entity in its chassis. */
  const slotOf = (entity: number): number | undefined => {
    let current = entity;
    for (let depth = 0; depth < maxDepth; depth++) {
      const parent = learnt.entityParent?.get(current);
      if (typeof parent !== "number" || parent === 0) return undefined;
      if (holders.has(learnt.entityClass?.get(parent))) {
        const position = learnt.entityPosition?.get(current);
        const isPlaced = placed.has(learnt.entityClass?.get(current));
        return isPlaced && typeof position === "number" && position >= 0 ? position : undefined;
      }
      current = parent;
    }
    return undefined;
  };
  const nameOfPort = (port: number): string | number | undefined => {
    const [id, descr] = [learnt.portId?.get(port), learnt.portDescr?.get(port)];
    // LldpPortIdSubtype: interfaceAlias(1), interfaceName(5) and local(7) are texts, the others numbers of hardware.
    return [1, 5, 7].includes(Number(learnt.portIdSubtype?.get(port))) ? (id ?? descr) : (descr ?? id);
  };
  const fieldsOf: { readonly [kind in RelatedKind]: RowNames["of"] } = {
    entity: (_, index, classLabel) => {
      const entityClass = learnt.entityClass?.get(index);
      return [
        ["name", learnt.entityName?.get(index) ?? learnt.entityDescr?.get(index)],
        ["class.name", typeof entityClass === "number" ? classLabel(entityClass) : undefined],
        ["slot", slotOf(index)],
      ];
    },
    "lldp-port": (_, port) => [["name", nameOfPort(port)]],
    "host-device": (_, index) => [["name", learnt.deviceDescr?.get(index)]],
  };
  return {
    see(object, polled) {
      if (polled.rows.length === 0) return;
      for (const [i, { naming: column }] of object.columns.entries()) {
        if (column === undefined) continue;
        const found = new Map(polled.isComplete ? [] : learnt[column]);
        for (const { key, values } of polled.rows) {
          const value = values[i] === undefined ? undefined : readName(values[i]);
          if (value !== undefined && !key.includes(".")) found.set(Number(key), value);
        }
        learnt[column] = found;
      }
    },
    of: (kind, index, classLabel) => fieldsOf[kind](kind, index, classLabel),
    forget: () => void (learnt = {}),
  };
}

function readName(held: HeldValue): string | number | undefined {
  const value = heldValue(held);
  if (!(value.value instanceof Uint8Array)) return Number(readNumber(value));
  const name = String(convertValue(text, value) ?? "").trim();
  return name === "" ? undefined : name;
}
