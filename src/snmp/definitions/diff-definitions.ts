import { kinds, type Definitions, type Device, type Kind } from "./definitions.ts";
import { diffReach, haveOtherLabels, type DeviceChange } from "./diff-objects.ts";
import { meaningHash } from "./meaning-hash.ts";
import { atOnce, inPieces, type Pacer } from "./pacer.ts";
import { deviceGroupsOf, pollIntervalMs, reachedObjects } from "./reach.ts";

/** Ids in the order of ids. */
export interface IdChanges {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

export interface DefinitionsDiff {
  readonly byKind: Readonly<Record<Kind, IdChanges>>;
  /** The devices for which something is different, by identity. A device with another ip or port is another device. */
  readonly devices: ReadonlyMap<string, readonly DeviceChange[]>;
}

/** The device groups that count for a device in a set of definitions. */
export type GroupsOf = (definitions: Definitions, device: Device) => readonly string[];

/**
 * What is different in meaning between two sets. `groupsOf` says which groups count for a device whose groups follow
 * from its sysObjectID; without it such a device is taken for `generic`.
 */
export function diffDefinitions(old: Definitions, next: Definitions, groupsOf?: GroupsOf): DefinitionsDiff {
  return atOnce(diffSteps(old, next, groupsOf));
}

/** The same in pieces, with a turn of the event loop in between. */
export function diffDefinitionsInPieces(
  old: Definitions,
  next: Definitions,
  groupsOf: GroupsOf,
  pacer: Pacer,
): Promise<DefinitionsDiff> {
  return inPieces(diffSteps(old, next, groupsOf), pacer);
}

/** One step for each device. */
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

  /** Devices of the same groups see the same changes of objects. */
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
  /** The object types before and after, of the objects reached in both. */
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
