import { nearName } from "../../src/base/text/index.ts";
import type { IndexFacts, ObjectFacts } from "./module-facts.ts";
import { MibFault } from "./mib-module.ts";
import { syntaxOf, type ChosenSyntax } from "./syntax-of.ts";

/** One object of the definitions: a table, or the scalars that are side by side. */
interface ChosenObject {
  /** `MIB::table`, `MIB::group`. */
  readonly id: string;
  readonly module: string;
  readonly name: string;
  readonly description: string | undefined;
  readonly isTable: boolean;
  /** Empty for scalars, and for tables whose module does not name the objects of the index. */
  readonly index: readonly IndexFacts[];
  readonly augments: string | undefined;
  /** Attributes that can be read, in the order of the module. */
  readonly attributes: readonly ObjectFacts[];
  /** Names that are not polled, with the reason. */
  readonly leftOut: readonly (readonly [name: string, reason: string])[];
  /** All columns or scalars, with those that cannot be read: the field names are made of them. */
  readonly siblings: readonly ObjectFacts[];
}

/**
 * The objects at and below the roots: names, `MODULE::name` or OIDs. Of a column or scalar it is the only attribute.
 *
 * @throws MibFault for a root that is in none of the modules, or has nothing to read below it.
 */
export function chooseObjects(facts: readonly ObjectFacts[], roots: readonly string[]): readonly ChosenObject[] {
  const chosen = new Set<ObjectFacts>();
  for (const root of roots) {
    const oid = findRoot(facts, root);
    const below = facts.filter((one) => isLeaf(one) && (one.oid === oid || one.oid.startsWith(`${oid}.`)));
    if (below.length === 0) throw new MibFault(`--root ${root}: there is no object at or below ${oid}`);
    for (const one of below) chosen.add(one);
  }
  const groups = new Map<string, ObjectFacts[]>();
  for (const one of facts) {
    if (!chosen.has(one)) continue;
    const above = `${one.module} ${parentOid(one.oid)}`;
    groups.set(above, [...(groups.get(above) ?? []), one]);
  }
  return [...groups.values()].flatMap((members) => groupOf(facts, members));
}

const isLeaf = ({ kind }: ObjectFacts): boolean => kind === "column" || kind === "scalar";

function parentOid(oid: string): string {
  return oid.slice(0, oid.lastIndexOf("."));
}

function findRoot(facts: readonly ObjectFacts[], root: string): string {
  if (/^\.?\d+(?:\.\d+)*$/.test(root)) return root.startsWith(".") ? root : `.${root}`;
  const found = facts.find(({ module, name }) => name === root || `${module}::${name}` === root);
  if (found !== undefined) return found.oid;
  const near = nearName(
    root,
    facts.map(({ name }) => name),
  );
  const hint = near === undefined ? "" : ` (did you mean ${JSON.stringify(near)}?)`;
  const modules = [...new Set(facts.map(({ module }) => module))].join(", ");
  throw new MibFault(`--root ${root}: no such object in ${modules}${hint}`);
}

function groupOf(facts: readonly ObjectFacts[], members: readonly ObjectFacts[]): ChosenObject[] {
  const [first] = members as readonly [ObjectFacts, ...ObjectFacts[]];
  const { module } = first;
  const above = parentOid(first.oid);
  const inModule = facts.filter((one) => one.module === module);
  const siblings = inModule.filter((one) => isLeaf(one) && parentOid(one.oid) === above);
  const row = first.kind === "column" ? inModule.find((one) => one.oid === above) : undefined;
  const holder = inModule.find((one) => one.oid === (row === undefined ? above : parentOid(above)));
  const name = holder?.name ?? row?.name ?? first.name;
  const index = row?.index ?? [];
  const leftOut: [string, string][] = [];
  const attributes = members.filter((one) => {
    // Its value is in every instance.
    if (index.some((part) => part.oid === one.oid)) return false;
    const reason = reasonAgainst(one);
    if (reason !== undefined) leftOut.push([one.name, reason]);
    return reason === undefined;
  });
  if (attributes.length === 0) return [];
  const description = holder?.description;
  return [
    {
      id: `${module}::${name}`,
      module,
      name,
      description,
      isTable: row !== undefined,
      index,
      augments: row?.augments,
      attributes,
      leftOut,
      siblings,
    },
  ];
}

/** Why an object is not polled; undefined where it is. */
function reasonAgainst({ access, status, type, name }: ObjectFacts): string | undefined {
  if (access === "not-accessible" || access === "accessible-for-notify" || access === "write-only")
    return `is ${access}`;
  if (status === "obsolete") return "is obsolete";
  const [convention] = type?.conventions ?? [];
  if (convention === "RowStatus" || convention === "StorageType" || convention === "TestAndIncr")
    return `is a ${convention}, which is for managers that write`;
  if (convention === "InetAddressType" && /(?:Type|Family|Version)$/.test(name)) return "is seen in the address itself";
  return undefined;
}

/** The words of a descriptor, lower case: `ifHCInOctets` is if, hc, in, octets. */
function wordsOf(descriptor: string): string[] {
  const found = descriptor.replace(/IPv([46])/g, "Ipv$1").match(/[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+(?:\d+[a-z]*)*|\d+/g);
  return (found ?? [descriptor]).map((word) => word.toLowerCase());
}

/** Words for quantities that can flow in two directions. */
const measured =
  /^(?:octets?|bytes|pkts?|packets?|frames?|errors?|errs?|discards?|drops?|dropped|bits|msgs?|messages|cells|requests|rate|utilization|util|bandwidth|segs|datagrams|ucast|mcast|bcast|multicast|broadcast|power)$/;

/**
 * The field of an object or of a part of its index. The words that all columns (or scalars side by side) begin with are
 * the first steps: the first word, then the others joined by `_`. What is left of a descriptor is the last step; `in`
 * and `out` of what is counted come after it.
 */
function fieldName(object: ChosenObject, descriptor: string): string {
  const common = commonWords(object);
  const words = wordsOf(descriptor);
  const isOwn = common.every((word, at) => words[at] === word);
  if (!isOwn || common.length === 0) return foreignName(words);
  const [first = "", ...others] = common;
  const steps = others.length === 0 ? first : `${first}.${others.join("_")}`;
  return `${steps}.${stepOf(words.slice(common.length))}`;
}

/** Names an object that does not begin as its neighbours do: `hrDeviceIndex` is `hr.device.index`. */
function foreignName(words: readonly string[]): string {
  const [first = "", ...others] = words;
  if (others.length === 0) return `${first}.value`;
  const last = others.at(-1) ?? "";
  if (others.length > 1 && last === "index") return `${first}.${others.slice(0, -1).join("_")}.index`;
  return `${first}.${stepOf(others)}`;
}

function stepOf(words: readonly string[]): string {
  if (words.length === 0) return "value";
  const directions = words.filter((word) => word === "in" || word === "out");
  const [direction] = directions;
  const rest = words.filter((word) => word !== direction);
  const isDirected = directions.length === 1 && rest.some((word) => measured.test(word));
  return isDirected ? `${rest.join("_")}.${String(direction)}` : words.join("_");
}

/**
 * The words that all columns begin with; where an index of another name makes these few, the words of the table as far
 * as all that is polled begins with them.
 */
function commonWords({ siblings, attributes, name }: ChosenObject): readonly string[] {
  const all = siblings.length > 1 ? commonStart(siblings.map((one) => wordsOf(one.name))) : [];
  const table = wordsOf(name.replace(/(?:Table|Entry|Objects|Group)$/, ""));
  const ofTable = commonStart([table, ...attributes.map((one) => wordsOf(one.name))]);
  return all.length >= ofTable.length ? all : ofTable;
}

function commonStart(lists: readonly (readonly string[])[]): readonly string[] {
  const [first = []] = lists;
  const end = first.findIndex((word, at) => lists.some((words) => words[at] !== word));
  return end < 0 ? first : first.slice(0, end);
}

/** The names that stand in a record: those of a label and its number, of an interface's index and name. */
function recordNames(field: string, syntax: string): readonly string[] {
  // A field that ends in such a word already has it replaced.
  const base = field.replace(/\.(?:name|id|oid|index)$/, "");
  if (syntax === "EnumInteger") return [`${base}.id`, `${base}.name`];
  if (syntax.startsWith("InterfaceIndex")) return [`${base}.index`, `${base}.name`];
  return syntax === "EnumBitmap" ? [`${base}.name`] : [field];
}

/**
 * Other names for those that are the start of another, or below one: `_value` at the end, or `_` for the dots
 * (Elasticsearch refuses both in one index).
 *
 * @param fields with their syntaxes.
 * @param others names that stand in records of other definitions.
 */
function withoutNesting(fields: ReadonlyMap<string, string>, others: ReadonlySet<string>): ReadonlyMap<string, string> {
  const starts = new Set<string>();
  for (const [field, syntax] of fields) for (const name of recordNames(field, syntax)) addStarts(starts, name);
  for (const name of others) addStarts(starts, name);
  const renamed = new Map<string, string>();
  for (const [field, syntax] of fields) {
    const names = recordNames(field, syntax);
    const above = new Set<string>();
    for (const name of names) addStarts(above, name);
    if ([...above].some((name) => others.has(name))) renamed.set(field, field.replace(/\./g, "_"));
    else if (names.some((name) => starts.has(name) || others.has(name))) renamed.set(field, `${field}_value`);
  }
  return renamed;
}

function addStarts(starts: Set<string>, name: string): void {
  for (let dot = name.lastIndexOf("."); dot > 0; dot = name.lastIndexOf(".", dot - 1)) starts.add(name.slice(0, dot));
}

/** A 32-bit counter that a 64-bit one takes the place of. */
interface Narrow {
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
      // It has the name of the one that it takes the place of, which is found below.
      if (overrides !== undefined) return { facts, field: wanted, chosen, overrides };
      const field = freeName(wanted, chosen.syntax, taken, inObject);
      taken.set(field, chosen.syntax);
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
  const finalName = (field: string): string => (sharedFields.has(field) ? field : (final.get(field) ?? field));
  const fields = new Map(
    drafts.flatMap(({ object, attributes }) => attributes.map((one) => [`${object.id} ${one.facts.name}`, one.field])),
  );
  const ownField = ({ field, overrides }: NamedAttribute): string =>
    overrides === undefined ? field : (fields.get(`${overrides.object} ${overrides.attribute}`) ?? field);
  return drafts.map(({ object, attributes, index }) => ({
    object,
    attributes: attributes.map((one) => ({ ...one, field: finalName(ownField(one)) })),
    index: index.map((one) => ({ ...one, field: finalName(one.field) })),
  }));
}

/** Fields that mean the same wherever they are. */
const sharedFields: ReadonlySet<string> = new Set(["netif", "entity.index"]);

function indexField(object: ChosenObject, { name }: IndexFacts, { syntax }: ChosenSyntax): string {
  if (name === "ifIndex" || (object.index.length === 1 && syntax.startsWith("InterfaceIndex"))) return "netif";
  return name === "entPhysicalIndex" ? "entity.index" : fieldName(object, name);
}

/** Drops the metric of objects that a manager can write: they are settings, not readings. */
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
