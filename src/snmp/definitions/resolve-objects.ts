import { fieldNames, type EnumTables, type FieldDefinition } from "../values/put-value.ts";
import { syntaxes, type Syntax } from "../values/syntax.ts";
import type { IndexPart, ObjectDefinition } from "./definitions.ts";
import type { DefinitionSet, Placed } from "./definition-set.ts";
import type { Pacer } from "./pacer.ts";

/** Resolves the index of what augments another object, and checks what objects refer to. */
export async function resolveObjects(
  set: DefinitionSet,
  enums: EnumTables,
  objectTypes: ReadonlyMap<string, number>,
  pacer: Pacer,
): Promise<Map<string, ObjectDefinition>> {
  const drafts = set.of("object");
  const objects = new Map<string, ObjectDefinition>();
  for (const [id, placed] of drafts) {
    if (pacer.isDue()) await pacer.rest();
    const { draft } = placed;
    const { type } = draft;
    if (type !== undefined && !objectTypes.has(type)) {
      const near = set.suggest(type, objectTypes.keys());
      set.add(
        placed,
        "warning",
        ["type"],
        "value",
        `type: no object type ${JSON.stringify(type)}, so the device's poll_interval counts`,
        near,
      );
    }
    checkOverrides(set, placed);
    const object = { ...draft, index: resolveIndex(set, placed) };
    checkLabels(set, placed, enums);
    objects.set(id, object);
  }
  await warnOfNestedNames(set, pacer);
  return objects;
}

/** Within one object it is an error. Two objects make two records, and only some stores refuse one of these. */
async function warnOfNestedNames(set: DefinitionSet, pacer: Pacer): Promise<void> {
  const drafts = set.of("object");
  const owners = new Map<string, string>();
  for (const [id, { draft }] of drafts) {
    for (const target of draft.index ?? []) for (const field of fieldNames(target)) owners.set(field, id);
    for (const target of draft.attributes.values()) for (const field of fieldNames(target)) owners.set(field, id);
  }
  if (pacer.isDue()) await pacer.rest();
  /** Starts of names that are no names, nor are their starts. */
  const free = new Set<string>();
  const nameAbove = (field: string): string | undefined => {
    const seen: string[] = [];
    for (let dot = field.lastIndexOf("."); dot > 0; dot = field.lastIndexOf(".", dot - 1)) {
      const above = field.slice(0, dot);
      if (free.has(above)) break;
      if (owners.has(above)) return above;
      seen.push(above);
    }
    for (const above of seen) free.add(above);
    return undefined;
  };
  for (const [id, placed] of drafts) {
    if (pacer.isDue()) await pacer.rest();
    for (const attribute of placed.draft.attributes.values()) {
      const [field = ""] = fieldNames(attribute);
      const above = nameAbove(field);
      const owner = above === undefined ? id : owners.get(above);
      if (owner === id) continue;
      const message = `attribute ${attribute.name}: name ${field} lies below ${above} of ${owner}: stores such as Elasticsearch refuse one of them`;
      set.add(placed, "warning", ["attributes", attribute.name, "name"], "value", message);
    }
  }
}

/** How the rows of a table without a known index are distinguished: by the numbers that follow the attribute's OID. */
const unknownIndex: readonly IndexPart[] = [
  {
    type: "ImplicitObjectIdentifier",
    oid: [0, 0],
    oidText: ".0.0",
    field: "snmp.object.instance",
    syntax: syntaxes.get("ObjectIdentifier") as Syntax,
  },
];

function resolveIndex(set: DefinitionSet, placed: Placed<"object">): readonly IndexPart[] {
  const drafts = set.of("object");
  const seen = new Set([placed.id]);
  let current = placed;
  while (current.draft.augments !== undefined) {
    const base = current.draft.augments;
    if (seen.has(base)) {
      set.add(placed, "error", ["augments"], "value", `augments: ${[...seen, base].join(" augments ")}`);
      return unknownIndex;
    }
    const next = drafts.get(base);
    if (next === undefined) {
      if (current === placed) set.refer(placed, "warning", ["augments"], "object", base, "augments: object");
      return unknownIndex;
    }
    seen.add(base);
    current = next;
  }
  if (current !== placed && current.draft.index === undefined) {
    set.add(placed, "warning", ["augments"], "value", `augments: object ${JSON.stringify(current.id)} has no index`);
    return unknownIndex;
  }
  return current.draft.index ?? [];
}

function checkOverrides(set: DefinitionSet, placed: Placed<"object">): void {
  for (const { name, overrides } of placed.draft.attributes.values()) {
    if (overrides === undefined) continue;
    const path = ["attributes", name, "overrides"];
    const label = `attribute ${name}: overrides:`;
    if (!set.refer(placed, "warning", [...path, "object"], "object", overrides.object, `${label} object`)) continue;
    const attributes = set.of("object").get(overrides.object)?.draft.attributes;
    if (attributes === undefined || attributes.has(overrides.attribute)) continue;
    const near = set.suggest(overrides.attribute, attributes.keys());
    const message = `${label} object ${overrides.object} has no attribute ${JSON.stringify(overrides.attribute)}`;
    set.add(placed, "warning", [...path, "attribute"], "value", message, near);
  }
}

/** An enumeration without labels gives numbers. */
function checkLabels(set: DefinitionSet, placed: Placed<"object">, enums: EnumTables): void {
  for (const attribute of placed.draft.attributes.values()) {
    if (hasLabels(attribute, enums)) continue;
    const message = `attribute ${attribute.name}: no enumeration has the labels of ${attribute.oidText}`;
    set.add(placed, "warning", ["attributes", attribute.name, "syntax"], "value", message);
  }
  for (const [i, part] of (placed.draft.index ?? []).entries()) {
    if (hasLabels(part, enums)) continue;
    const message = `index ${i + 1}: no enumeration has the labels of ${part.oidText}`;
    set.add(placed, "warning", ["index", i, "syntax"], "value", message);
  }
}

function hasLabels(target: FieldDefinition, enums: EnumTables): boolean {
  const { kind } = target.syntax;
  if (kind === "enum-integer") return enums.integer.has(target.oidText);
  if (kind === "enum-bitmap") return enums.bitmap.has(target.oidText);
  return kind !== "enum-oid" || enums.oid.has(target.oidText);
}
