import type { DevicePlan, PlannedObject } from "../discovery/device-plan.ts";
import type { Attribute, Definitions, Device, ObjectDefinition } from "../definitions/definitions.ts";
import { pollIntervalMs, reachedObjects } from "../definitions/reach.ts";
import { parseOid, type Oid } from "../session/oid.ts";
import type { IndexType } from "../values/decode-index.ts";
import type { FieldDefinition } from "../values/put-value.ts";
import { syntaxes, type Syntax } from "../values/syntax.ts";

/** A column, or a scalar: how the definitions in force read it, at the OID where the discovery found it. */
export interface PolledColumn {
  readonly attribute: Attribute;
  readonly oid: Oid;
}

/** An object as it is polled. */
export interface PolledObject {
  readonly id: string;
  readonly isTable: boolean;
  readonly indexTypes: readonly IndexType[];
  readonly indexFields: readonly FieldDefinition[];
  readonly columns: readonly PolledColumn[];
}

/** What is polled together: the objects of one type. */
export interface PolledType {
  readonly intervalMs: number;
  readonly objects: readonly PolledObject[];
}

/**
 * What is polled of a device, by the name of the object type ("" for objects without one). The discovery decides where
 * things are, the definitions in force how they are read: what they do not have any more is left out, what they have
 * beyond the plan waits for the next discovery.
 */
export function compilePollPlan(
  plan: DevicePlan,
  definitions: Definitions,
  device: Device,
): ReadonlyMap<string, PolledType> {
  const reached = reachedObjects(definitions, plan.deviceGroups);
  const overridden = overriddenAttributes(plan, reached);
  const types = new Map<string, { intervalMs: number; objects: PolledObject[] }>();
  for (const [id, planned] of plan.objects) {
    const object = reached.get(id);
    if (object === undefined) continue;
    const polled = polledObject(object, planned, overridden);
    if (polled.columns.length === 0) continue;
    const name = object.type ?? "";
    let type = types.get(name);
    if (type === undefined) {
      type = { intervalMs: pollIntervalMs(definitions, device, object.type), objects: [] };
      types.set(name, type);
    }
    type.objects.push(polled);
  }
  return types;
}

const reference = (object: string, attribute: string): string => `${object} ${attribute}`;

function overriddenAttributes(plan: DevicePlan, reached: ReadonlyMap<string, ObjectDefinition>): ReadonlySet<string> {
  const overridden = new Set<string>();
  for (const [id, planned] of plan.objects) {
    for (const name of planned.attributes.keys()) {
      const overrides = reached.get(id)?.attributes.get(name)?.overrides;
      if (overrides !== undefined) overridden.add(reference(overrides.object, overrides.attribute));
    }
  }
  return overridden;
}

function polledObject(object: ObjectDefinition, planned: PlannedObject, overridden: ReadonlySet<string>): PolledObject {
  const columns: PolledColumn[] = [];
  for (const [name, oidText] of planned.attributes) {
    const attribute = object.attributes.get(name);
    const oid = parseOid(oidText);
    if (attribute === undefined || oid === undefined || overridden.has(reference(object.id, name))) continue;
    columns.push({ attribute, oid });
  }
  const isSameIndex =
    object.index.length === planned.index.length &&
    planned.index.every(
      ({ type, oidText }, i) => object.index[i]?.type === type && object.index[i]?.oidText === oidText,
    );
  const indexFields = isSameIndex
    ? object.index
    : planned.index.map(({ field, syntax, oidText }) => ({ field, oidText, syntax: syntaxes.get(syntax) as Syntax }));
  return {
    id: object.id,
    isTable: planned.index.length > 0,
    indexTypes: planned.index.map(({ type }) => type),
    indexFields,
    columns,
  };
}
