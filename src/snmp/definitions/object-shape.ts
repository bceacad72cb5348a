import { hash } from "node:crypto";
import { nearName, quote, Secret } from "../../base/text/index.ts";
import {
  list,
  mapOf,
  mapping,
  oneOf,
  optional,
  required,
  scalar,
  Shape,
  type FileNode,
  type Values,
} from "../../base/yaml/index.ts";
import {
  type Bounds,
  boundsOf,
  type FieldDefinition,
  fieldNames,
  hasSeverity,
  isRelated,
  plainLabel,
  scaleKinds,
  stateSeverities,
  type StateSeverity,
} from "../values/put-value.ts";
import { indexTypes, isImplicit, isIndexType } from "../values/convert-value.ts";
import { placeholder } from "../values/put-row.ts";
import { syntaxes, type Syntax } from "../values/syntaxes-and-units.ts";
import { metrics, namesPutBy, rediscoveries } from "./definitions.ts";
import type { Attribute, IndexPart, ObjectDefinition } from "./definitions.ts";
import { anyText, distinctWords, oid, textLine, tolerant, trueOrFalse } from "./settings-file.ts";

/** Returns the shape of labels by number, or by bit number for a bitmap. */
export function numberLabels(isBitmap: boolean): Shape<Map<number, string>> {
  const form = isBitmap ? /^\d{1,5}$/ : /^-?\d{1,10}$/;
  const key = scalar(isBitmap ? "a bit number" : "a whole number", (given) =>
    form.test(given) ? Number(given) : undefined,
  );
  return mapOf(key, anyText, { name: "<number>" });
}

/** An object as in its file. */
export interface ObjectDraft extends Omit<ObjectDefinition, "index"> {
  readonly index: readonly IndexPart[] | undefined;
}

const fieldName = scalar("a field name such as netif.bytes.in", (given) =>
  /^[^\s."\p{Cc}]+(?:\.[^\s."\p{Cc}]+)*$/u.test(given) ? given : undefined,
);

const syntax: Shape<Syntax> = scalar("a syntax, such as Counter64", (given) => syntaxes.get(given), {
  near: () => syntaxes.keys(),
});

const indexType = scalar(`one of ${indexTypes.join(", ")}`, (given) => (isIndexType(given) ? given : undefined), {
  near: () => indexTypes,
});

const indexPart: Shape<IndexPart> = mapping(
  {
    type: required(indexType, "How its numbers follow the OID; `OctetString` with a number has that many octets."),
    oid: required(oid, "Of the attribute that it is."),
    name: required(fieldName, "The field of the record."),
    syntax: required(syntax, "What the numbers mean."),
  },
  tolerant,
).to(({ type, oid: numbers, name, syntax: read }) => ({ type, ...numbers, field: name, syntax: read }));

const indexShape: Shape<IndexPart[]> = list(indexPart).to((parts, at) => {
  const items = at.children();
  if (items.length === 0) at.error("expected at least one part");
  for (const item of items.slice(0, -1)) {
    const type = item.below("type");
    if (type.node.kind !== "scalar" || !isIndexType(type.node.text) || !isImplicit(type.node.text)) continue;
    type.error(`${type.node.text} takes all that follows, so it can only be the last part`);
  }
  return parts;
});

function numberThat(expected: string, isOne: (value: number) => boolean): Shape<number> {
  return scalar(expected, (given) => (!given.includes("\n") && isOne(Number(given)) ? Number(given) : undefined));
}

const rangeShape: Shape<Bounds> = list(numberThat("a number", (value) => !Number.isNaN(value))).to((bounds, at) => {
  const [least = Number.NaN, most = Number.NaN] = bounds;
  if (at.children().length === 2 && least <= most) return [least, most];
  return at.error("expected the least and the greatest reading, such as [-50, 1200]");
});

/** The shape of labels by severity, for labels whose words do not show it. */
const saidSeverity = mapping(
  Object.fromEntries(
    stateSeverities.map((severity) => [severity, optional(list(anyText), `Labels that mean ${severity}.`)]),
  ) as Record<StateSeverity, ReturnType<typeof optional<string[]>>>,
  tolerant,
).to((given) => {
  const said = new Map<string, StateSeverity>();
  for (const severity of stateSeverities)
    for (const label of given[severity] ?? []) said.set(plainLabel(label), severity);
  return said;
});

const severityShape = new Shape<ReadonlyMap<string, StateSeverity> | "none">(
  "`words`, `none` or labels by severity",
  (at) => {
    if (at.node.kind === "mapping") return saidSeverity.read(at);
    if (at.node.kind === "scalar" && at.node.text === "words") return new Map<string, StateSeverity>();
    return at.node.kind === "scalar" && at.node.text === "none"
      ? "none"
      : at.expected("words, none, or labels by severity");
  },
  saidSeverity.rows,
);

const scaleShape = mapping(
  {
    attribute: optional(textLine, "Another attribute of the object."),
    index: optional(fieldName, "In the place of `attribute`: the name of a part of the index."),
    as: optional(
      oneOf(scaleKinds),
      "What its number is: the digits behind the point, a power of ten, a factor, a divisor.",
    ),
    factors: optional(
      mapOf(anyText, numberThat("a number", Number.isFinite), { name: "<value>" }),
      "In the place of `as`: what the reading is multiplied with, by its value.",
    ),
  },
  {
    ...tolerant,
    check: (given, at) => {
      if ((given.attribute === undefined) === (given.index === undefined))
        at.error("expected either attribute or index", undefined, "key");
      if ((given.as === undefined) === (given.factors === undefined))
        at.error("expected either as or factors", undefined, "key");
    },
  },
);

const attributeName = new Shape("a name without blanks", (at) => {
  const name = String(at.step);
  return /[\s\p{Cc}]/u.test(name) ? at.expected("a name without blanks") : name;
});

const wordsOnly: ReadonlyMap<string, StateSeverity> = new Map();

const attributeShape: Shape<Attribute> = mapping(
  {
    oid: required(oid, "Without an instance."),
    name: required(fieldName, "The field of the record."),
    syntax: required(syntax, "What its value means."),
    tag: optional(trueOrFalse, "Whether it tells rows apart, rather than being measured."),
    metric: optional(oneOf(metrics), "How it is measured."),
    rediscover: optional(
      oneOf(rediscoveries),
      "What makes the device be discovered again: it went back, or changed at all.",
    ),
    overrides: optional(
      mapping(
        { object: required(textLine, "`MIB::object`"), attribute: required(textLine, "Its key there.") },
        tolerant,
      ),
      "The attribute that is not polled where this one is supported.",
    ),
    no_value: optional(numberLabels(false), "Numbers that stand for no reading, with the reason."),
    no_value_when: optional(
      mapping(
        {
          attribute: required(textLine, "Another attribute of the object."),
          is: required(
            list(numberThat("a whole number", Number.isInteger)),
            "Its numbers at which this one has no reading.",
          ),
        },
        tolerant,
      ),
      "When it has no reading.",
    ),
    range: optional(rangeShape, "The least and the greatest reading, in the place of the bounds of its unit."),
    severity: optional(
      severityShape,
      "What states mean: `words`, as their words say; `none`; or labels by severity, others as their words say.",
    ),
    scale: optional(scaleShape, "Another attribute that says what the number is to be multiplied with or divided by."),
  },
  tolerant,
).to((given, at) =>
  attributeOf({
    name: String(at.step),
    ...given.oid,
    field: given.name,
    syntax: given.syntax,
    tag: given.tag ?? false,
    metric: given.metric,
    rediscover: given.rediscover,
    noValue: given.no_value,
    noValueWhen: given.no_value_when,
    range: given.range,
    severity:
      given.severity === "none"
        ? undefined
        : (given.severity ?? (hasSeverity(given.name, given.syntax) ? wordsOnly : undefined)),
    scale: given.scale && scaleOf(given.scale),
    overrides: given.overrides,
  }),
);

/** Makes an attribute from the given properties. All attributes have the same keys in the same order, because polls read them often. */
export function attributeOf(said: Omit<Attribute, "bounds">): Attribute {
  return {
    name: said.name,
    oid: said.oid,
    oidText: said.oidText,
    field: said.field,
    syntax: said.syntax,
    tag: said.tag,
    metric: said.metric,
    rediscover: said.rediscover,
    noValue: said.noValue,
    noValueWhen: said.noValueWhen,
    range: said.range,
    bounds: said.range ?? boundsOf(said.field, said.syntax, said.metric === "counter"),
    severity: said.severity,
    scale: said.scale,
    overrides: said.overrides,
  };
}

/** Makes a scale with all its keys. The values that have factors are in small letters, because case does not count. */
export function scaleOf(said: Partial<NonNullable<Attribute["scale"]>>): NonNullable<Attribute["scale"]> {
  const factors = said.factors && new Map([...said.factors].map(([value, factor]) => [value.toLowerCase(), factor]));
  return { attribute: said.attribute, index: said.index, as: said.as, factors };
}

const fixedTexts = mapOf(fieldName, textLine, { name: "<field>" });

const objectFields = {
  mib: optional(textLine, "Left out: what stands before `::` in the id."),
  object: optional(textLine, "Left out: what stands behind it."),
  type: optional(textLine, "The object type that gives the interval of its polls."),
  contexts: optional(distinctWords, "In which of the agent's contexts it is read. Left out: in that of the device."),
  index: optional(indexShape, "What tells the rows of a table apart. Left out: scalars."),
  augments: optional(textLine, "The object that has the index of this one, in the place of `index`."),
  discovery_attribute: optional(textLine, "The attribute that shows whether a device has the object. Left out: any."),
  fields: optional(fixedTexts, "What every record of the object has."),
  fields_by: optional(
    mapOf(fieldName, mapOf(anyText, fixedTexts, { name: "<value>" }), { name: "<field>" }),
    "What records have by the value of a field of theirs, such as the label of a part of the index.",
  ),
  attributes: required(
    mapOf(attributeName, attributeShape, { each: "attribute" }),
    "Columns, or scalars, by their names in the MIB.",
  ),
};

export const objectShape: Shape<ObjectDraft> = mapping(objectFields, { ...tolerant, check: checkObject }).to(
  (given, at) => {
    const id = String(at.step);
    const [mib = "", object = ""] = id.split("::");
    return {
      id,
      mib: given.mib ?? mib,
      object: given.object ?? object,
      type: given.type,
      contexts: given.contexts ?? [],
      index: given.index,
      augments: given.augments,
      attributes: given.attributes,
      fixed: given.fields ?? new Map<string, string>(),
      fixedBy: given.fields_by ?? new Map<string, Map<string, Map<string, string>>>(),
      discoveryAttribute:
        given.discovery_attribute === undefined ? undefined : given.attributes.get(given.discovery_attribute),
    };
  },
);

function checkObject(given: Partial<Values<typeof objectFields>>, at: FileNode): void {
  if (!/^[^\s:]+::[^\s:]+$/.test(String(at.step)))
    at.error("an object's id is of the form MIB::object", undefined, "key");
  if (given.index !== undefined && given.augments !== undefined)
    at.below("augments").error("either index or augments, not both", undefined, "key");
  const { attributes = new Map<string, Attribute>(), discovery_attribute: lead } = given;
  const columns = at.below("attributes");
  if (given.attributes !== undefined && columns.children().length === 0)
    at.error("attributes are missing", undefined, "key");
  if (lead !== undefined && !attributes.has(lead) && columns.below(lead) === columns)
    at.below("discovery_attribute").error(`no attribute ${quote(lead)}`, nearName(lead, attributes.keys()));
  let nodes: ReadonlyMap<unknown, FileNode> | undefined;
  const nodeOf = (name: string): FileNode => {
    nodes ??= new Map(columns.children("attribute").map((node) => [node.step, node]));
    return nodes.get(name) ?? at;
  };
  checkOids(attributes, nodeOf);
  for (const { name, noValueWhen, scale } of attributes.values()) {
    for (const [key, other] of [
      ["no_value_when", noValueWhen?.attribute],
      ["scale", scale?.attribute],
    ] as const) {
      if (other === undefined || attributes.has(other)) continue;
      const near = nearName(other, attributes.keys());
      nodeOf(name)
        .below(key)
        .below("attribute")
        .error(`no attribute ${quote(other)}`, near);
    }
    const parts = given.index?.map(({ field }) => field);
    if (scale?.index !== undefined && given.augments === undefined && parts?.includes(scale.index) !== true)
      nodeOf(name)
        .below("scale")
        .below("index")
        .error(`no part of the index has the name ${quote(scale.index)}`, nearName(scale.index, parts ?? []));
  }
  warnOfSharedFields(given.index ?? [], attributes, nodeOf);
  checkFixed(given, at);
  warnOfUnguarded(given, nodeOf);
}

/** Checks a fixed field: it must not be a part of the index, and its text may only refer to fields of the row. */
function checkFixed(given: Partial<Values<typeof objectFields>>, at: FileNode): void {
  const { index = [], attributes, fields = new Map<string, string>(), fields_by: fieldsBy } = given;
  const ofIndex = new Set(index.flatMap(fieldNames));
  const known = new Set(
    [...ofIndex, ...(attributes?.values() ?? [])].flatMap((one) => (typeof one === "string" ? [one] : fieldNames(one))),
  );
  const checkTexts = (said: ReadonlyMap<string, string>, below: FileNode): void => {
    for (const [field, text] of said) {
      const node = below.below(field);
      if (ofIndex.has(field)) node.error(`a part of the index has the same name ${field}`, undefined, "key");
      for (const [, named = ""] of text.matchAll(placeholder)) checkKnown(named, node);
    }
  };
  const checkKnown = (named: string, node: FileNode, part?: "key"): void => {
    if (!known.has(named) && at.below("augments") === at)
      node.error(`no field ${quote(named)} in the row`, nearName(named, known), part);
  };
  for (const [field, byValue] of fieldsBy ?? []) {
    const node = at.below("fields_by").below(field);
    checkKnown(field, node, "key");
    for (const [value, said] of byValue) checkTexts(said, node.below(value));
    for (const said of byValue.values()) for (const put of said.keys()) known.add(put);
  }
  checkTexts(fields, at.below("fields"));
}

/** The fields that show, at least by a name, what the sensor of a row measures. */
const sensorUnits = /^(?:hw\.sensor\.(?:unit|type|name|data_type|data_unit|probe_type)(?:\.name)?|entity\.index)$/;

/** Warns of sensor readings without a unit. They have no bounds, and without bounds 32767 looks like a temperature. */
function warnOfUnguarded(given: Partial<Values<typeof objectFields>>, nodeOf: NodeOf): void {
  const { fields, fields_by: fieldsBy, attributes, index = [] } = given;
  const said = [
    ...(fields?.keys() ?? []),
    ...namesPutBy(fieldsBy ?? new Map()),
    ...[...index, ...(attributes?.values() ?? [])].map(({ field }) => field),
  ];
  if (said.some((field) => sensorUnits.test(field))) return;
  for (const { name, field, syntax: read, range } of attributes?.values() ?? [])
    if (field === "hw.sensor.value" && read.unit === undefined && range === undefined)
      nodeOf(name)
        .below("name")
        .warn(
          `${field} has no unit, so that readings that cannot be true are not recognized: give a syntax with a unit, hw.sensor.unit, or a range`,
        );
}

type NodeOf = (attribute: string) => FileNode;

function checkOids(attributes: ReadonlyMap<string, Attribute>, nodeOf: NodeOf): void {
  const owners = new Map<string, string>();
  for (const { name, oidText } of attributes.values()) {
    const twin = owners.get(oidText);
    if (twin !== undefined) nodeOf(name).below("oid").error(`${oidText} is the OID of ${twin} already`);
    owners.set(oidText, name);
  }
}

/** Reports whether a field of an attribute comes from another table; the object may then have the same field itself. */
function isOfAnotherTable({ syntax: { kind }, field: number }: FieldDefinition, field: string): boolean {
  return kind === "interface" ? field.endsWith(".name") : isRelated(kind) && field !== number;
}

/** Warns of attributes with the same field: one would hide the other in the record, or Elasticsearch would refuse it. */
function warnOfSharedFields(
  index: readonly IndexPart[],
  attributes: ReadonlyMap<string, Attribute>,
  nodeOf: NodeOf,
): void {
  const owners = new Map<string, string>();
  const claim = (owner: string, target: FieldDefinition): string | undefined => {
    for (const field of fieldNames(target)) {
      const other = owners.get(field);
      // An attribute may contain the name of the interface that the index refers to.
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
    const message = `${other} has the same name ${attribute.field}`;
    const name = nodeOf(attribute.name).below("name");
    // The record would lose the fields that distinguish the rows.
    if (other.startsWith("index ")) name.error(message);
    else name.warn(message);
  }
  for (const attribute of attributes.values()) {
    for (const field of fieldNames(attribute)) {
      for (let dot = field.indexOf("."); dot >= 0; dot = field.indexOf(".", dot + 1)) {
        const owner = owners.get(field.slice(0, dot));
        if (owner === undefined) continue;
        nodeOf(attribute.name).below("name").error(`${field} lies below the name of ${owner}`);
      }
    }
  }
}

/**
 * Returns the hash of the meaning of a value. The order of a map's entries does not count, that of a list's does. Lists without a
 * meaningful order must be sorted beforehand.
 */
export function meaningHash(value: unknown): string {
  return hash("sha256", canonicalText(value), "hex");
}

/**
 * Returns the hash of the meaning of an object. There are so many objects that a text without quotes is worthwhile; no name in it
 * contains a line end.
 */
export function objectMeaningHash(draft: ObjectDraft): string {
  const { id, mib, object, type, contexts, index, augments, discoveryAttribute, attributes, fixed, fixedBy } = draft;
  let text = `${id}\n${mib}\n${object}\n${type}\n${augments}\n${discoveryAttribute?.name}\n`;
  if (contexts.length > 0) text += `${canonicalText(contexts)}\n`;
  if (fixed.size > 0) text += `${canonicalText(fixed)}\n`;
  if (fixedBy.size > 0) text += `${canonicalText(fixedBy)}\n`;
  for (const part of index ?? []) text += `${part.type}\n${fieldText(part)}`;
  const lines: string[] = [];
  for (const attribute of attributes.values()) {
    const { name, tag, metric, rediscover, overrides } = attribute;
    const said = readingRules(attribute);
    const missing = said.every((rule) => rule === undefined) ? "" : `${canonicalText(said)}\n`;
    lines.push(
      `${missing}${name}\n${fieldText(attribute)}${tag}\n${metric}\n${rediscover}\n${overrides?.object}\n${overrides?.attribute}\n`,
    );
  }
  return hash("sha256", text + lines.sort().join(""), "hex");
}

/** Returns the properties that definitions give a value in addition to its name and syntax. */
export function readingRules({ noValue, noValueWhen, range, severity, scale }: Attribute): readonly unknown[] {
  return [noValue, noValueWhen, range, severity?.size === 0 ? "words" : severity, scale];
}

function fieldText(target: FieldDefinition): string {
  return `${target.field}\n${target.oidText}\n${target.syntax.name}\n`;
}

function canonicalText(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "undefined";
  if (value instanceof Secret) return JSON.stringify(value.reveal());
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  // A syntax is identified by its name.
  if ("keepsId" in value && "name" in value) return canonicalText(value.name);
  const entries: Iterable<[unknown, unknown]> = value instanceof Map ? value : Object.entries(value);
  const texts: string[] = [];
  for (const [key, entry] of entries) {
    if (entry !== undefined) texts.push(`${JSON.stringify(key)}:${canonicalText(entry)}`);
  }
  return `{${texts.sort().join(",")}}`;
}
