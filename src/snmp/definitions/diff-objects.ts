import type { FieldDefinition } from "../values/put-value.ts";
import { meaningHash } from "./meaning-hash.ts";
import type { ChangeClass } from "./definition-change.ts";
import type { Attribute, Definitions, IndexPart, ObjectDefinition } from "./definitions.ts";

/** One thing that is different for a device. */
export interface DeviceChange {
  readonly class: ChangeClass;
  /** `MIB::object`, or `MIB::object attribute`, where it is about one. */
  readonly subject: string | undefined;
}

export type Reach = ReadonlyMap<string, ObjectDefinition>;

/** Whether any enumeration is different, so that labels have to be looked at. */
export function haveOtherLabels(old: Definitions, next: Definitions): boolean {
  return Object.values(labelKinds).some((kind) => !sameHashes(old.hashes[kind], next.hashes[kind]));
}

/** What is different between the objects that a device reached and those that it reaches. */
export function diffReach(
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
    // What an object says by itself is compared only where it says something else; its index may come from another.
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

function change(changeClass: ChangeClass, object: ObjectDefinition, attribute?: string): DeviceChange {
  return { class: changeClass, subject: attribute === undefined ? object.id : `${object.id} ${attribute}` };
}

function diffStructure(before: ObjectDefinition, after: ObjectDefinition): DeviceChange[] {
  const isFoundTheSame =
    before.augments === after.augments &&
    before.contexts.join("\n") === after.contexts.join("\n") &&
    before.discoveryAttribute?.name === after.discoveryAttribute?.name &&
    sameParts(before.index, after.index, sameEncoding);
  if (!isFoundTheSame) return [change("extension", after)];
  const isReadTheSame =
    before.mib === after.mib &&
    before.object === after.object &&
    meaningHash(before.fixed) === meaningHash(after.fixed) &&
    sameParts(before.index, after.index, sameReading);
  return isReadTheSame ? [] : [change("reading", after)];
}

function diffAttributes(before: ObjectDefinition, after: ObjectDefinition): DeviceChange[] {
  const changes: DeviceChange[] = [];
  for (const name of before.attributes.keys()) {
    if (!after.attributes.has(name)) changes.push(change("removal", after, name));
  }
  for (const [name, attribute] of after.attributes) {
    const earlier = before.attributes.get(name);
    if (earlier?.oidText !== attribute.oidText) changes.push(change("extension", after, name));
    if (earlier !== undefined && !sameAttributeReading(earlier, attribute))
      changes.push(change("reading", after, name));
  }
  return changes;
}

function diffLabels(old: Definitions, next: Definitions, object: ObjectDefinition): DeviceChange[] {
  const changes: DeviceChange[] = [];
  if (object.index.some((part) => hasOtherLabels(old, next, part))) changes.push(change("schedule", object));
  for (const [name, attribute] of object.attributes) {
    if (hasOtherLabels(old, next, attribute)) changes.push(change("schedule", object, name));
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
    meaningHash([a.noValue, a.noValueWhen, a.range]) === meaningHash([b.noValue, b.noValueWhen, b.range]) &&
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
