import { formatOid, type Oid } from "../session/oid.ts";
import { autoGroup, genericGroup, type Definitions, type Device, type ObjectDefinition } from "./definitions.ts";

/**
 * The device groups that a sysObjectID leads to: those of the longest start of it that the definitions know, the whole
 * of it first; else `generic`.
 */
export function groupsOfSysObjectId(definitions: Definitions, sysObjectId: Oid): readonly string[] {
  return sysoidOf(definitions, sysObjectId)?.groups ?? [genericGroup];
}

/** The longest start of a sysObjectID that the definitions know, with its device groups. */
export function sysoidOf(
  definitions: Definitions,
  sysObjectId: Oid,
): { readonly oid: string; readonly groups: readonly string[] } | undefined {
  for (let length = sysObjectId.length; length > 1; length--) {
    const oid = formatOid(sysObjectId.slice(0, length));
    const groups = definitions.sysoids.get(oid);
    if (groups !== undefined && groups.length > 0) return { oid, groups };
  }
  return undefined;
}

/** The device groups that count for a device: those that it names, in the place of `auto` those of its sysObjectID. */
export function deviceGroupsOf(
  definitions: Definitions,
  device: Device,
  sysObjectId: Oid | undefined,
): readonly string[] {
  const named = device.deviceGroups.filter((group) => group !== autoGroup);
  if (named.length > 0 && named.length === device.deviceGroups.length) return named;
  const found = sysObjectId === undefined ? [genericGroup] : groupsOfSysObjectId(definitions, sysObjectId);
  return [...new Set([...found, ...named])];
}

/** All objects that device groups lead to, by id in the order of ids. Groups that do not exist lead nowhere. */
export function reachedObjects(
  definitions: Definitions,
  deviceGroups: readonly string[],
): ReadonlyMap<string, ObjectDefinition> {
  const ids = new Set<string>();
  for (const deviceGroup of deviceGroups) {
    for (const objectGroup of definitions.deviceGroups.get(deviceGroup) ?? []) {
      for (const id of definitions.objectGroups.get(objectGroup) ?? []) ids.add(id);
    }
  }
  const objects = new Map<string, ObjectDefinition>();
  for (const id of [...ids].sort()) {
    const object = definitions.objects.get(id);
    if (object !== undefined) objects.set(id, object);
  }
  return objects;
}

/** In which contexts an object of a device is read; none: in that of the device. */
export function contextsOf(device: Device, object: ObjectDefinition): readonly string[] {
  return device.objectContexts.get(object.id) ?? object.contexts;
}

/** How often a device's objects of a type are polled: its own interval for the type, the type's, the device's. */
export function pollIntervalMs(definitions: Definitions, device: Device, type: string | undefined): number {
  if (type === undefined) return device.pollIntervalMs;
  return device.pollIntervalsMs.get(type) ?? definitions.objectTypes.get(type) ?? device.pollIntervalMs;
}
