import { hash } from "node:crypto";
import { formatOid, parseOid } from "../session/var-bind.ts";
import { quote, Secret, nearName } from "../../base/text/index.ts";
import { describe, isNull, type MapReader, type YamlMap, type YamlValue } from "./map-reader.ts";
import { type FieldDefinition, fieldNames, isRelated, boundsOf, type Bounds } from "../values/put-value.ts";
import { indexTypes, isFixedIndexType, isImplicit, type IndexType } from "../values/convert-value.ts";
import { syntaxes, type Syntax } from "../values/syntax.ts";
import { metrics, rediscoveries, type Attribute, type AttributeReference, type IndexPart } from "./definitions.ts";
import { readContexts } from "./read-device.ts";

/** Labels by number; of a bitmap by bit number. */
export function readNumberLabels(map: YamlMap, reader: MapReader, isBitmap: boolean): Map<number, string> {
  const labels = new Map<number, string>();
  for (const [key, node] of map) {
    const number = Number(key);
    const isNumber = isBitmap ? /^\d{1,5}$/.test(key) : /^-?\d{1,10}$/.test(key);
    if (!isNumber)
      reader.error([key], "key", `expected a ${isBitmap ? "bit number" : "whole number"}, found ${quote(key)}`);
    const label = readLabel(key, node, reader);
    if (isNumber && labels.has(number)) reader.error([key], "key", `${number} is there twice`);
    if (label !== undefined) labels.set(number, label);
  }
  return labels;
}

/** Labels by OID, as text with a leading dot. */
export function readOidLabels(map: YamlMap, reader: MapReader): Map<string, string> {
  const labels = new Map<string, string>();
  for (const [key, node] of map) {
    const oid = parseOid(key);
    if (oid === undefined) reader.error([key], "key", `${quote(key)} is not an OID such as .1.3.6.1.2.1.1.5`);
    const label = readLabel(key, node, reader);
    if (oid !== undefined && label !== undefined) labels.set(formatOid(oid), label);
  }
  return labels;
}

function readLabel(key: string, node: YamlValue, reader: MapReader): string | undefined {
  // A label may well be the word null.
  if (typeof node === "string" && node !== "") return node;
  reader.error([key], isNull(node) ? "key" : "value", `${key}: expected a label, found ${describe(node)}`);
  return undefined;
}

/**
 * Hash of what a value means: the order of a map's entries does not count, that of a list's does. Lists without a
 * meaningful order are sorted before they come here.
 */
export function meaningHash(value: unknown): string {
  return hash("sha256", canonicalText(value), "hex");
}

/** The same for an object, of which there are so many that a text without quotes pays off: no name in it has a line end. */
export function objectMeaningHash(draft: ObjectDraft): string {
  const { id, mib, object, type, index, augments, discoveryAttribute, attributes, fixed } = draft;
  let text = `${id}\n${mib}\n${object}\n${type}\n${augments}\n${discoveryAttribute?.name}\n`;
  if (fixed.size > 0) text += `${canonicalText(fixed)}\n`;
  for (const part of index ?? []) text += `${part.type}\n${fieldText(part)}`;
  const lines: string[] = [];
  for (const attribute of attributes.values()) {
    const { name, tag, metric, rediscover, overrides, noValue, noValueWhen, range } = attribute;
    const missing =
      noValue === undefined && noValueWhen === undefined && range === undefined
        ? ""
        : `${canonicalText([noValue, noValueWhen, range])}\n`;
    lines.push(
      `${missing}${name}\n${fieldText(attribute)}${tag}\n${metric}\n${rediscover}\n${overrides?.object}\n${overrides?.attribute}\n`,
    );
  }
  return hash("sha256", text + lines.sort().join(""), "hex");
}

function fieldText(target: FieldDefinition): string {
  return `${target.field}\n${target.oidText}\n${target.syntax.name}\n`;
}

function canonicalText(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "undefined";
  if (value instanceof Secret) return JSON.stringify(value.reveal());
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  // A syntax is known by its name.
  if ("keepsId" in value && "name" in value) return canonicalText(value.name);
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  const texts = entries
    .filter(([, entry]) => entry !== undefined)
    .map(([key, entry]) => `${JSON.stringify(key)}:${canonicalText(entry)}`)
    .sort();
  return `{${texts.join(",")}}`;
}

/** An object as its file has it. */
export interface ObjectDraft {
  readonly id: string;
  readonly mib: string;
  readonly object: string;
  readonly type: string | undefined;
  readonly contexts: readonly string[];
  readonly index: readonly IndexPart[] | undefined;
  readonly augments: string | undefined;
  readonly discoveryAttribute: Attribute | undefined;
  readonly attributes: ReadonlyMap<string, Attribute>;
  readonly fixed: ReadonlyMap<string, string>;
}

export function readObject(id: string, reader: MapReader): ObjectDraft | undefined {
  reader.knowOnly([
    "mib",
    "object",
    "type",
    "contexts",
    "index",
    "augments",
    "discovery_attribute",
    "fields",
    "attributes",
  ]);
  const [mib, object] = id.split("::");
  if (!/^[^\s:]+::[^\s:]+$/.test(id)) reader.error([], "key", "an object's id is of the form MIB::object");
  const index = readIndex(reader);
  const augments = reader.text("augments");
  if (index !== undefined && augments !== undefined)
    reader.error(["augments"], "key", "either index or augments, not both");
  const fixed = readFixedFields(reader);
  const attributes = readAttributes(reader);
  const draft = {
    id,
    mib: reader.text("mib") ?? mib ?? "",
    object: reader.text("object") ?? object ?? "",
    type: reader.text("type"),
    contexts: readContexts(reader, "contexts") ?? [],
    index,
    augments,
    attributes,
    fixed,
  };
  const discoveryAttribute = readDiscoveryAttribute(reader, attributes);
  checkNoValueWhen(reader, attributes);
  warnOfSharedFields(reader, index ?? [], attributes);
  return reader.isValid ? { ...draft, discoveryAttribute } : undefined;
}

/** What every record of the object says: texts by the name of the field. */
function readFixedFields(reader: MapReader): ReadonlyMap<string, string> {
  const fixed = new Map<string, string>();
  const map = reader.map("fields");
  if (map === undefined) return fixed;
  const inner = reader.within(map, ["fields"], "fields: ");
  for (const field of map.keys()) {
    if (!isFieldName(field)) inner.error([field], "key", notAFieldName(field));
    const text = inner.requiredText(field);
    if (text !== undefined) fixed.set(field, text);
  }
  if (!inner.isValid) reader.isValid = false;
  return fixed;
}

function readDiscoveryAttribute(reader: MapReader, attributes: ReadonlyMap<string, Attribute>): Attribute | undefined {
  const name = reader.text("discovery_attribute");
  if (name === undefined) return undefined;
  const attribute = attributes.get(name);
  if (attribute === undefined && reader.isValid) {
    const near = nearName(name, attributes.keys());
    reader.error(["discovery_attribute"], "value", `discovery_attribute: no attribute ${quote(name)}`, near);
  }
  return attribute;
}

function readIndex(reader: MapReader): IndexPart[] | undefined {
  const list = reader.list("index");
  if (list === undefined) return undefined;
  const parts: IndexPart[] = [];
  for (const [i, item] of list.entries()) {
    const label = `index ${i + 1}: `;
    if (!(item instanceof Map)) {
      reader.error(["index", i], "value", `${label}expected a mapping, found ${describe(item)}`);
      continue;
    }
    const inner = reader.within(item, ["index", i], label);
    inner.knowOnly(["type", "oid", "name", "syntax"]);
    if (!inner.has("type")) inner.error([], "key", "type is missing");
    const type = readIndexType(inner);
    const oid = inner.oid("oid");
    const field = readFieldName(inner);
    const syntax = readSyntax(inner);
    if (type !== undefined && isImplicit(type) && i < list.length - 1) {
      inner.error(["type"], "value", `${type} takes all that follows, so it can only be the last part`);
    }
    if (!inner.isValid) reader.isValid = false;
    else if (type && oid && field && syntax) parts.push({ type, ...oid, field, syntax });
  }
  if (list.length === 0) reader.error(["index"], "value", "index: expected at least one part");
  return parts;
}

function readIndexType(reader: MapReader): IndexType | undefined {
  const text = reader.text("type");
  return text !== undefined && isFixedIndexType(text) ? text : reader.oneOf("type", indexTypes);
}

function readAttributes(reader: MapReader): Map<string, Attribute> {
  const attributes = new Map<string, Attribute>();
  const byOid = new Map<string, string>();
  const map: YamlMap = reader.map("attributes") ?? new Map();
  if (map.size === 0 && reader.isValid) reader.error([], "key", "attributes are missing");
  for (const [name, node] of map) {
    const label = `attribute ${name}: `;
    if (!(node instanceof Map)) {
      reader.error(["attributes", name], "value", `${label}expected a mapping, found ${describe(node)}`);
      continue;
    }
    const inner = reader.within(node, ["attributes", name], label);
    if (/[\s\p{Cc}]/u.test(name)) inner.error([], "key", "a name has no blanks");
    const attribute = readAttribute(name, inner);
    if (attribute === undefined) {
      reader.isValid = false;
      continue;
    }
    const twin = byOid.get(attribute.oidText);
    if (twin !== undefined) inner.error(["oid"], "value", `oid: ${attribute.oidText} is the OID of ${twin} already`);
    if (!inner.isValid) reader.isValid = false;
    byOid.set(attribute.oidText, name);
    attributes.set(name, attribute);
  }
  return attributes;
}

function readAttribute(name: string, reader: MapReader): Attribute | undefined {
  reader.knowOnly([
    "oid",
    "name",
    "syntax",
    "tag",
    "metric",
    "rediscover",
    "overrides",
    "no_value",
    "no_value_when",
    "range",
  ]);
  const oid = reader.oid("oid");
  const field = readFieldName(reader);
  const syntax = readSyntax(reader);
  const tag = reader.boolean("tag") ?? false;
  const metric = reader.oneOf("metric", metrics);
  const rediscover = reader.oneOf("rediscover", rediscoveries);
  const overrides = readOverrides(reader);
  const noValue = readNoValue(reader);
  const noValueWhen = readNoValueWhen(reader);
  const range = readRange(reader);
  if (!reader.isValid || !oid || !field || !syntax) return undefined;
  return {
    name,
    oid: oid.oid,
    oidText: oid.oidText,
    field,
    syntax,
    tag,
    metric,
    rediscover,
    noValue,
    noValueWhen,
    range,
    bounds: range ?? boundsOf(field, syntax, metric === "counter"),
    overrides,
  };
}

/** Reasons by number: they go into the record as the state of the attribute. */
function readNoValue(reader: MapReader): ReadonlyMap<number, string> | undefined {
  const map = reader.map("no_value");
  return map && readNumberLabels(map, reader.within(map, ["no_value"], "no_value: "), false);
}

function readNoValueWhen(reader: MapReader): Attribute["noValueWhen"] {
  const map = reader.map("no_value_when");
  if (map === undefined) return undefined;
  const inner = reader.within(map, ["no_value_when"], "no_value_when: ");
  inner.knowOnly(["attribute", "is"]);
  const attribute = inner.requiredText("attribute");
  const is = inner.texts("is")?.map(Number);
  if (is === undefined || is.some((number) => !Number.isInteger(number)))
    inner.error(["is"], "value", "is: expected a list of whole numbers");
  if (!inner.isValid) reader.isValid = false;
  return attribute !== undefined && is !== undefined ? { attribute, is } : undefined;
}

function readRange(reader: MapReader): Bounds | undefined {
  const bounds = reader.texts("range")?.map(Number);
  if (bounds === undefined) return undefined;
  const [least = Number.NaN, most = Number.NaN] = bounds;
  if (bounds.length === 2 && least <= most) return [least, most];
  reader.error(["range"], "value", "range: expected the least and the greatest reading, such as [-50, 1200]");
  return undefined;
}

function readOverrides(reader: MapReader): AttributeReference | undefined {
  const map = reader.map("overrides");
  if (map === undefined) return undefined;
  const inner = reader.within(map, ["overrides"], "overrides: ");
  inner.knowOnly(["object", "attribute"]);
  const object = inner.requiredText("object");
  const attribute = inner.requiredText("attribute");
  if (!inner.isValid) reader.isValid = false;
  return object && attribute ? { object, attribute } : undefined;
}

function readFieldName(reader: MapReader): string | undefined {
  const name = reader.requiredText("name");
  if (name === undefined || isFieldName(name)) return name;
  reader.error(["name"], "value", `name: ${notAFieldName(name)}`);
  return undefined;
}

function isFieldName(name: string): boolean {
  return /^[^\s."\p{Cc}]+(?:\.[^\s."\p{Cc}]+)*$/u.test(name);
}

function notAFieldName(name: string): string {
  return `${quote(name)} is not a field name such as netif.bytes.in`;
}

function readSyntax(reader: MapReader): Syntax | undefined {
  const name = reader.requiredText("syntax");
  if (name === undefined) return undefined;
  const syntax = syntaxes.get(name);
  if (syntax === undefined)
    reader.error(["syntax"], "value", `unknown syntax ${quote(name)}`, nearName(name, syntaxes.keys()));
  return syntax;
}

function checkNoValueWhen(reader: MapReader, attributes: ReadonlyMap<string, Attribute>): void {
  for (const { name, noValueWhen } of attributes.values()) {
    if (noValueWhen === undefined || attributes.has(noValueWhen.attribute)) continue;
    const near = nearName(noValueWhen.attribute, attributes.keys());
    const message = `attribute ${name}: no_value_when: no attribute ${quote(noValueWhen.attribute)}`;
    reader.error(["attributes", name, "no_value_when", "attribute"], "value", message, near);
  }
}

/** A table may have for itself what other tables have of it. */
function isOfAnotherTable({ syntax: { kind }, field: number }: FieldDefinition, field: string): boolean {
  return kind === "interface" ? field.endsWith(".name") : isRelated(kind) && field !== number;
}

/** One would hide the other in the record, or Elasticsearch would refuse it. */
function warnOfSharedFields(
  reader: MapReader,
  index: readonly IndexPart[],
  attributes: ReadonlyMap<string, Attribute>,
): void {
  const owners = new Map<string, string>();
  const claim = (owner: string, target: FieldDefinition): string | undefined => {
    for (const field of fieldNames(target)) {
      const other = owners.get(field);
      // An attribute may hold the name of the very interface that the index is of.
      if (other !== undefined && other !== "") return other;
      owners.set(field, isOfAnotherTable(target, field) ? "" : owner);
    }
    return undefined;
  };
  for (const [i, part] of index.entries()) claim(`index ${i + 1}`, part);
  for (const attribute of attributes.values()) {
    if (attribute.overrides !== undefined) continue;
    const other = claim(attribute.name, attribute);
    if (other === undefined) continue;
    const message = `attribute ${attribute.name}: ${other} has the same name ${attribute.field}`;
    const path = ["attributes", attribute.name, "name"];
    // What tells the rows apart would be lost.
    if (other.startsWith("index ")) reader.error(path, "value", message);
    else reader.warn(path, "value", message);
  }
  for (const attribute of attributes.values()) {
    for (const field of fieldNames(attribute)) {
      for (let dot = field.indexOf("."); dot >= 0; dot = field.indexOf(".", dot + 1)) {
        const owner = owners.get(field.slice(0, dot));
        if (owner === undefined) continue;
        const message = `attribute ${attribute.name}: name ${field} lies below the name of ${owner}`;
        reader.error(["attributes", attribute.name, "name"], "value", message);
      }
    }
  }
}
