import type { IndexFacts, ObjectFacts } from "../facts/module-facts.ts";
import type { ChosenObject } from "./choose-objects.ts";
import { fieldName, recordNames, withoutNesting } from "./field-names.ts";
import { syntaxOf, type ChosenSyntax } from "./syntax-of.ts";

/** A 32-bit counter that a 64-bit one takes the place of. */
export interface Narrow {
  readonly object: string;
  readonly attribute: string;
}

export interface NamedAttribute {
  readonly facts: ObjectFacts;
  readonly field: string;
  readonly chosen: ChosenSyntax;
  readonly overrides: Narrow | undefined;
}

export interface NamedIndexPart {
  readonly facts: IndexFacts;
  readonly field: string;
  readonly chosen: ChosenSyntax;
}

export interface NamedObject {
  readonly object: ChosenObject;
  readonly attributes: readonly NamedAttribute[];
  readonly index: readonly NamedIndexPart[];
}

/**
 * Names of fields and syntaxes for all objects together: a name has one syntax, and none is the start of another, nor
 * of those that there are already.
 */
export function nameAttributes(
  objects: readonly ChosenObject[],
  knownFields: ReadonlySet<string>,
): readonly NamedObject[] {
  const narrows = narrowCounters(objects);
  const taken = new Map<string, string>();
  const drafts = objects.map((object): NamedObject => {
    const inObject = new Set<string>();
    const attributes = object.attributes.map((facts): NamedAttribute => {
      const chosen = ofAccess(facts, syntaxOf(facts.name, facts.type as NonNullable<typeof facts.type>, facts.units));
      const overrides = narrows.get(facts.oid);
      const wanted = suffixed(fieldName(object, overrides?.attribute ?? facts.name), chosen.syntax);
      const field = overrides === undefined ? freeName(wanted, chosen.syntax, taken, inObject) : wanted;
      taken.set(field, overrides === undefined ? chosen.syntax : (taken.get(field) ?? chosen.syntax));
      for (const name of recordNames(field, chosen.syntax)) inObject.add(name);
      return { facts, field, chosen, overrides };
    });
    const index = object.index.map((facts): NamedIndexPart => {
      const chosen = syntaxOf(facts.name, facts.type, undefined);
      const field = freeName(indexField(object, facts, chosen), chosen.syntax, taken, inObject);
      taken.set(field, chosen.syntax);
      for (const name of recordNames(field, chosen.syntax)) inObject.add(name);
      return { facts, field, chosen };
    });
    return { object, attributes, index };
  });
  const final = withoutNesting(taken, knownFields);
  const finalName = ({ field }: { readonly field: string }): string =>
    sharedFields.has(field) ? field : (final.get(field) ?? field);
  return drafts.map(({ object, attributes, index }) => ({
    object,
    attributes: attributes.map((one) => ({ ...one, field: finalName(one) })),
    index: index.map((one) => ({ ...one, field: finalName(one) })),
  }));
}

/** Fields that mean the same wherever they are. */
const sharedFields: ReadonlySet<string> = new Set(["netif", "entity.index"]);

function indexField(object: ChosenObject, { name }: IndexFacts, { syntax }: ChosenSyntax): string {
  if (name === "ifIndex" || (object.index.length === 1 && syntax.startsWith("InterfaceIndex"))) return "netif";
  return name === "entPhysicalIndex" ? "entity.index" : fieldName(object, name);
}

/** What a manager can write is a setting, not a reading. */
function ofAccess({ access, type }: ObjectFacts, chosen: ChosenSyntax): ChosenSyntax {
  if (chosen.metric !== "gauge" || access === "read-only" || type?.base.startsWith("Gauge") === true) return chosen;
  const { syntax, questions } = chosen;
  return { syntax, questions };
}

/** Bytes and percent are in the name, other units are not; a number of an entity comes with the entity's name and class. */
function suffixed(field: string, syntax: string): string {
  if (syntax.startsWith("PhysicalIndex")) return field.endsWith(".index") ? field : `${field}.index`;
  if (syntax.startsWith("Bytes") && !/(?:byte|octet)/.test(field)) return `${field}.bytes`;
  return syntax.startsWith("Percent") && !/(?:pct|percent)/.test(field) ? `${field}.pct` : field;
}

/** A name that no other object of this table has, and no other syntax anywhere. */
function freeName(
  wanted: string,
  syntax: string,
  taken: ReadonlyMap<string, string>,
  inObject: ReadonlySet<string>,
): string {
  const isFree = (name: string): boolean =>
    !recordNames(name, syntax).some((one) => inObject.has(one)) && (!taken.has(name) || taken.get(name) === syntax);
  let name = wanted;
  for (let number = 2; !isFree(name); number++) name = `${wanted}_${number}`;
  return name;
}

/** By the OID of a 64-bit counter with HC in its name: the 32-bit one of a table with the same index. */
function narrowCounters(objects: readonly ChosenObject[]): ReadonlyMap<string, Narrow> {
  const narrows = new Map<string, Narrow>();
  const key = (object: ChosenObject, name: string): string =>
    `${object.module} ${object.index.map(({ oid }) => oid).join()} ${name}`;
  const counters = new Map<string, Narrow>();
  for (const object of objects) {
    for (const { name, type } of object.attributes)
      if (/^Counter(?:32)?$/.test(type?.base ?? ""))
        counters.set(key(object, name), { object: object.id, attribute: name });
  }
  for (const object of objects) {
    for (const { name, oid, type } of object.attributes) {
      const narrow = /HC/.test(name) ? counters.get(key(object, name.replace("HC", ""))) : undefined;
      if (type?.base === "Counter64" && narrow !== undefined) narrows.set(oid, narrow);
    }
  }
  return narrows;
}
