import type { FieldDefinition } from "../values/put-value.ts";
import { meaningHash, readingRules } from "./object-shape.ts";
import {
  type Attribute,
  type Definitions,
  type IndexPart,
  type ObjectDefinition,
  kinds,
  type Device,
  type Kind,
  deviceGroupsOf,
  pollIntervalMs,
  reachedObjects,
} from "./definitions.ts";
import { atOnce, inPieces, type Pacer } from "../limits.ts";

/** A single difference for a device. */
export interface DeviceChange {
  readonly class: ChangeClass;
  /** `MIB::object` or `MIB::object attribute`, if the change concerns one. */
  readonly subject: string | undefined;
}

type Reach = ReadonlyMap<string, ObjectDefinition>;

/** Reports whether any enumeration differs, so that labels must be compared. */
function haveOtherLabels(old: Definitions, next: Definitions): boolean {
  return Object.values(labelKinds).some((kind) => !sameHashes(old.hashes[kind], next.hashes[kind]));
}

/** Compares the objects that a device had before with those that it has now. */
function diffReach(
  old: Definitions,
  next: Definitions,
  before: Reach,
  after: Reach,
  lookAtLabels: boolean,
): DeviceChange[] {
  const changes: DeviceChange[] = [];
  for (const [id, object] of after) {
    const earlier = before.get(id);
    if (earlier === undefined) {
      changes.push({ class: "extension", subject: id });
      continue;
    }
    // The definition of the object is compared only if it differs; its index may come from another object.
    const isSame = old.hashes.object.get(id) === next.hashes.object.get(id);
    changes.push(...diffStructure(earlier, object));
    if (!isSame) changes.push(...diffAttributes(earlier, object));
    if (lookAtLabels) changes.push(...diffLabels(old, next, object));
  }
  for (const id of before.keys()) if (!after.has(id)) changes.push({ class: "removal", subject: id });
  return changes;
}

function sameHashes(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): boolean {
  return before.size === after.size && [...before].every(([id, value]) => after.get(id) === value);
}

function deviceChange(changeClass: ChangeClass, object: ObjectDefinition, attribute?: string): DeviceChange {
  return { class: changeClass, subject: attribute === undefined ? object.id : `${object.id} ${attribute}` };
}

function diffStructure(before: ObjectDefinition, after: ObjectDefinition): DeviceChange[] {
  const isFoundTheSame =
    before.augments === after.augments &&
    before.contexts.join("\n") === after.contexts.join("\n") &&
    before.discoveryAttribute?.name === after.discoveryAttribute?.name &&
    sameParts(before.index, after.index, sameEncoding);
  if (!isFoundTheSame) return [deviceChange("extension", after)];
  const isReadTheSame =
    before.mib === after.mib &&
    before.object === after.object &&
    meaningHash([before.fixed, before.fixedBy]) === meaningHash([after.fixed, after.fixedBy]) &&
    sameParts(before.index, after.index, sameReading);
  return isReadTheSame ? [] : [deviceChange("reading", after)];
}

function diffAttributes(before: ObjectDefinition, after: ObjectDefinition): DeviceChange[] {
  const changes: DeviceChange[] = [];
  for (const name of before.attributes.keys()) {
    if (!after.attributes.has(name)) changes.push(deviceChange("removal", after, name));
  }
  for (const [name, attribute] of after.attributes) {
    const earlier = before.attributes.get(name);
    if (earlier?.oidText !== attribute.oidText) changes.push(deviceChange("extension", after, name));
    if (earlier !== undefined && !sameAttributeReading(earlier, attribute))
      changes.push(deviceChange("reading", after, name));
  }
  return changes;
}

function diffLabels(old: Definitions, next: Definitions, object: ObjectDefinition): DeviceChange[] {
  const changes: DeviceChange[] = [];
  if (object.index.some((part) => hasOtherLabels(old, next, part))) changes.push(deviceChange("schedule", object));
  for (const [name, attribute] of object.attributes) {
    if (hasOtherLabels(old, next, attribute)) changes.push(deviceChange("schedule", object, name));
  }
  return changes;
}

function sameParts(
  before: readonly IndexPart[],
  after: readonly IndexPart[],
  isSame: (a: IndexPart, b: IndexPart) => boolean,
): boolean {
  return (
    before === after ||
    (before.length === after.length && before.every((part, i) => isSame(part, after[i] as IndexPart)))
  );
}

function sameEncoding(a: IndexPart, b: IndexPart): boolean {
  return a.type === b.type && a.oidText === b.oidText;
}

function sameReading(a: FieldDefinition, b: FieldDefinition): boolean {
  return a.field === b.field && a.syntax === b.syntax;
}

function sameAttributeReading(a: Attribute, b: Attribute): boolean {
  return (
    sameReading(a, b) &&
    a.tag === b.tag &&
    a.metric === b.metric &&
    a.rediscover === b.rediscover &&
    meaningHash(readingRules(a)) === meaningHash(readingRules(b)) &&
    a.overrides?.object === b.overrides?.object &&
    a.overrides?.attribute === b.overrides?.attribute
  );
}

const labelKinds = { "enum-integer": "enum_integer", "enum-bitmap": "enum_bitmap", "enum-oid": "enum_oid" } as const;

function hasOtherLabels(old: Definitions, next: Definitions, target: FieldDefinition): boolean {
  const { kind } = target.syntax;
  if (kind !== "enum-integer" && kind !== "enum-bitmap" && kind !== "enum-oid") return false;
  const labels = labelKinds[kind];
  return old.hashes[labels].get(target.oidText) !== next.hashes[labels].get(target.oidText);
}

/**
 * The kind of change for a device, one for each row of the table of changes:
 *
 * - `added`, `removed`: the device, by `ip:port`
 * - `access`: credentials, version, device groups
 * - `schedule`: intervals, time-outs, maxima, name, enumeration labels
 * - `reading`: the name or syntax of an attribute or index part; tag, metric, overrides, rediscover
 * - `removal`: an object or attribute that the device's groups no longer have
 * - `extension`: an object or attribute that the groups have now; OID, index, augments, discovery_attribute
 */
export type ChangeClass = "added" | "removed" | "access" | "schedule" | "reading" | "removal" | "extension";

/**
 * The action of a poller after a change:
 *
 * - `discover`: a discovery at once, also as the first one
 * - `stop`: no further poll
 * - `next-poll`: polls use the new definitions, without extra packets
 * - `drop`: removed objects are no longer polled
 * - `wait`: nothing until the next discovery; reported as pending
 * - `rediscover`: a discovery, queued with jitter
 */
export type ChangeEffect = "discover" | "stop" | "next-poll" | "drop" | "wait" | "rediscover";

const effects: Readonly<Record<ChangeClass, { readonly plain: ChangeEffect; readonly forced: ChangeEffect }>> = {
  added: { plain: "discover", forced: "discover" },
  removed: { plain: "stop", forced: "stop" },
  access: { plain: "discover", forced: "discover" },
  schedule: { plain: "next-poll", forced: "next-poll" },
  reading: { plain: "next-poll", forced: "rediscover" },
  removal: { plain: "drop", forced: "rediscover" },
  extension: { plain: "wait", forced: "rediscover" },
};

export function changeEffect(change: ChangeClass, forceRediscovery: boolean): ChangeEffect {
  return effects[change][forceRediscovery ? "forced" : "plain"];
}

/** The changes of ids, in the order of ids. */
export interface IdChanges {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

export interface DefinitionsDiff {
  readonly byKind: Readonly<Record<Kind, IdChanges>>;
  /** The devices with a difference, by identity. A device with another ip or port is another device. */
  readonly devices: ReadonlyMap<string, readonly DeviceChange[]>;
}

/** Returns the effective device groups of a device in a set of definitions. */
export type GroupsOf = (definitions: Definitions, device: Device) => readonly string[];

/**
 * Compares the meaning of two sets. `groupsOf` returns the effective groups of a device whose groups follow from its sysObjectID;
 * without it such a device counts as `generic`.
 */
export function diffDefinitions(old: Definitions, next: Definitions, groupsOf?: GroupsOf): DefinitionsDiff {
  return atOnce(diffSteps(old, next, groupsOf));
}

/** Compares the sets in pieces, with a cycle of the event loop between them. */
export function diffDefinitionsInPieces(
  old: Definitions,
  next: Definitions,
  groupsOf: GroupsOf,
  pacer: Pacer,
): Promise<DefinitionsDiff> {
  return inPieces(diffSteps(old, next, groupsOf), pacer);
}

/** Compares the sets, with one step for each device. */
function* diffSteps(
  old: Definitions,
  next: Definitions,
  groupsOf: GroupsOf = (definitions, device) => deviceGroupsOf(definitions, device, undefined),
): Generator<void, DefinitionsDiff> {
  const byKind = Object.fromEntries(
    kinds.map((kind) => [kind, diffIds(old.hashes[kind], next.hashes[kind])]),
  ) as Record<Kind, IdChanges>;
  const devices = new Map<string, readonly DeviceChange[]>();
  if (old.revision === next.revision) return { byKind, devices };
  const lookAtLabels = haveOtherLabels(old, next);
  const groupChanges = new Map<string, GroupChanges>();
  for (const id of [...new Set([...old.devices.keys(), ...next.devices.keys()])].sort()) {
    const before = old.devices.get(id);
    const after = next.devices.get(id);
    let changes: readonly DeviceChange[];
    if (before === undefined) changes = [{ class: "added", subject: undefined }];
    else if (after === undefined) changes = [{ class: "removed", subject: undefined }];
    else changes = diffDevice(before, after);
    if (changes.length > 0) devices.set(id, changes);
    yield;
  }
  return { byKind, devices };

  function diffDevice(before: Device, after: Device): DeviceChange[] {
    const oldGroups = [...groupsOf(old, before)].sort();
    const newGroups = [...groupsOf(next, after)].sort();
    const ofGroups = changesOfGroups(oldGroups, newGroups);
    const isSame = old.hashes.device.get(before.id) === next.hashes.device.get(after.id);
    const changes: DeviceChange[] = [];
    if (ofGroups.areOther || (!isSame && meaningHash(accessOf(before)) !== meaningHash(accessOf(after)))) {
      changes.push({ class: "access", subject: undefined });
    }
    if (
      (!isSame && meaningHash(scheduleOf(before)) !== meaningHash(scheduleOf(after))) ||
      ofGroups.types.some(([was, is]) => pollIntervalMs(old, before, was) !== pollIntervalMs(next, after, is))
    ) {
      changes.push({ class: "schedule", subject: undefined });
    }
    return [...changes, ...ofGroups.changes];
  }

  /** Returns the changes of objects for devices with these groups; devices of the same groups share the result. */
  function changesOfGroups(oldGroups: readonly string[], newGroups: readonly string[]): GroupChanges {
    const key = JSON.stringify([oldGroups, newGroups]);
    let changes = groupChanges.get(key);
    if (changes === undefined) {
      const before = reachedObjects(old, oldGroups);
      const after = reachedObjects(next, newGroups);
      const types = new Map<string, readonly [string | undefined, string | undefined]>();
      for (const [id, { type }] of after) {
        const earlier = before.get(id);
        if (earlier !== undefined) types.set(JSON.stringify([earlier.type, type]), [earlier.type, type]);
      }
      changes = {
        areOther: JSON.stringify(oldGroups) !== JSON.stringify(newGroups),
        changes: diffReach(old, next, before, after, lookAtLabels),
        types: [...types.values()],
      };
      groupChanges.set(key, changes);
    }
    return changes;
  }
}

interface GroupChanges {
  readonly areOther: boolean;
  readonly changes: readonly DeviceChange[];
  /** The object types before and after, of the objects in both sets. */
  readonly types: readonly (readonly [string | undefined, string | undefined])[];
}

function diffIds(old: ReadonlyMap<string, string>, next: ReadonlyMap<string, string>): IdChanges {
  const added: string[] = [];
  const changed: string[] = [];
  for (const [id, value] of next) {
    const earlier = old.get(id);
    if (earlier === undefined) added.push(id);
    else if (earlier !== value) changed.push(id);
  }
  const removed = [...old.keys()].filter((id) => !next.has(id));
  return { added: added.sort(), changed: changed.sort(), removed: removed.sort() };
}

function accessOf(device: Device): unknown {
  return [
    device.transport,
    device.version,
    device.context,
    device.objectContexts,
    device.communities,
    device.v3Credentials,
    device.deviceGroups,
  ];
}

function scheduleOf(device: Device): unknown {
  return [
    device.name,
    device.timeoutMs,
    device.retries,
    device.exponentialTimeout,
    device.pollIntervalMs,
    device.pollIntervalsMs,
    device.maxOids,
    device.maxRepetitions,
    device.maxRows,
    device.rediscoverIntervalMs,
    device.maxConcurrentPolls,
  ];
}
