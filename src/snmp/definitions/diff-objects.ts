import type { FieldDefinition } from "../values/put-value.ts";
import type { ChangeClass } from "./definition-change.ts";
import type { Attribute, Definitions, IndexPart, ObjectDefinition } from "./definitions.ts";

/** One thing that is different for a device. */
export interface DeviceChange {
  readonly class: ChangeClass;
  /** `MIB::object`, or `MIB::object attribute`, where it is about one. */
  readonly subject: string | undefined;
}

export type Reach = ReadonlyMap<string, ObjectDefinition>;

/** What is different between the objects that a device reached and those that it reaches. */
export function diffReach(old: Definitions, next: Definitions, before: Reach, after: Reach): DeviceChange[] {
  const changes: DeviceChange[] = [];
  for (const [id, object] of after) {
    const earlier = before.get(id);
    if (earlier === undefined) changes.push({ class: "extension", subject: id });
    else changes.push(...diffObject(old, next, earlier, object));
  }
  for (const id of before.keys()) if (!after.has(id)) changes.push({ class: "removal", subject: id });
  return changes;
}

function diffObject(
  old: Definitions,
  next: Definitions,
  before: ObjectDefinition,
  after: ObjectDefinition,
): DeviceChange[] {
  const changes: DeviceChange[] = [];
  const add = (changeClass: ChangeClass, attribute?: string): void => {
    changes.push({ class: changeClass, subject: attribute === undefined ? after.id : `${after.id} ${attribute}` });
  };
  if (!sameParts(before.index, after.index, sameEncoding)) add("extension");
  else if (!sameParts(before.index, after.index, sameReading)) add("reading");
  if (after.index.some((part) => hasOtherLabels(old, next, part))) add("schedule");
  if (old.hashes.object.get(after.id) !== next.hashes.object.get(after.id)) {
    if (before.augments !== after.augments || before.discoveryAttribute.name !== after.discoveryAttribute.name)
      add("extension");
    if (before.mib !== after.mib || before.object !== after.object) add("reading");
    for (const name of before.attributes.keys()) if (!after.attributes.has(name)) add("removal", name);
  }
  for (const [name, attribute] of after.attributes) {
    const earlier = before.attributes.get(name);
    if (earlier?.oidText !== attribute.oidText) add("extension", name);
    if (earlier === undefined) continue;
    if (!sameAttributeReading(earlier, attribute)) add("reading", name);
    if (hasOtherLabels(old, next, attribute)) add("schedule", name);
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
