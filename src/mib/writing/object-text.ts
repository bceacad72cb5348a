import { fixedLength } from "../facts/resolve-type.ts";
import type { IndexFacts } from "../facts/module-facts.ts";
import type { NamedAttribute, NamedIndexPart, NamedObject } from "./name-attributes.ts";
import { noValueQuestion, standardFieldQuestion, unitQuestion } from "./standard-fields.ts";
import { comment, question } from "./yaml-text.ts";

export interface TextOptions {
  /** Objects that are defined: only these can be augmented. */
  readonly definedObjects: ReadonlySet<string>;
  readonly withDescriptions: boolean;
}

/** One object of a definition file. */
export function objectText({ object, attributes, index }: NamedObject, options: TextOptions): string[] {
  const { id, module, name, description, leftOut, augments, isTable } = object;
  const described = options.withDescriptions && description !== undefined ? comment(description, "") : [];
  const lines = [...described, `${id}:`, `  mib: ${module}`, `  object: ${name}`, `  type: ${objectType(attributes)}`];
  if (augments !== undefined && options.definedObjects.has(augments)) lines.push(`  augments: ${augments}`);
  else if (isTable) lines.push("  index:", ...indexText(object.id, object.siblings[0]?.oid, index));
  lines.push("  attributes:");
  for (const attribute of attributes) lines.push(...attributeText(attribute, options));
  for (const [left, reason] of leftOut) lines.push(`    # ${left} ${reason}`);
  return lines;
}

/** How often it is worth asking: counters and readings, states, settings. */
function objectType(attributes: readonly NamedAttribute[]): string {
  if (attributes.some(({ chosen }) => chosen.metric !== undefined)) return "dynamic";
  const hasState = attributes.some(
    ({ chosen, facts }) =>
      facts.access === "read-only" && (chosen.labels !== undefined || chosen.syntax === "TruthValue"),
  );
  return hasState ? "active" : "stable";
}

function indexText(id: string, column: string | undefined, index: readonly NamedIndexPart[]): string[] {
  if (index.length > 0) return index.flatMap(indexPartText);
  const row = (column ?? ".0.0").replace(/\.\d+$/, "");
  return [
    ...question(`the module does not name the objects of the index of ${id}: what identifies its rows?`, "    "),
    "    - type: ImplicitObjectIdentifier",
    `      oid: ${row}`,
    "      name: snmp.object.instance",
    "      syntax: ObjectIdentifier",
  ];
}

function indexPartText({ facts, field, chosen }: NamedIndexPart): string[] {
  return [
    `    # ${facts.module}::${facts.name}`,
    ...chosen.questions.flatMap((text) => question(text, "    ")),
    `    - type: ${indexType(facts)}`,
    `      oid: ${facts.oid}`,
    `      name: ${field}`,
    `      syntax: ${chosen.syntax}`,
  ];
}

/** How a part is encoded in an instance (RFC 2578 section 7.7). */
function indexType({ type, isImplied }: IndexFacts): string {
  const implicit = isImplied ? "Implicit" : "";
  switch (type.base) {
    case "OCTET STRING":
    case "BITS": {
      const length = fixedLength(type);
      if (length === 6) return "MacAddress";
      return length === undefined || length === 0 || length > 128 ? `${implicit}OctetString` : `OctetString${length}`;
    }
    case "OBJECT IDENTIFIER":
      return `${implicit}ObjectIdentifier`;
    case "IpAddress":
      return "IpAddress";
    // The kind of address, which is always 1, stands before its four octets.
    case "NetworkAddress":
      return "OctetString5";
    case "Opaque":
      return "Opaque";
    default:
      return /^(?:INTEGER|Integer32)$/.test(type.base) ? "Integer32" : "Unsigned32";
  }
}

function attributeText({ facts, field, chosen, overrides }: NamedAttribute, options: TextOptions): string[] {
  const { name, oid, units, status, description, type } = facts;
  const isNumber = chosen.metric !== undefined || /^(?:Integer|Unsigned|Gauge|Number)/.test(chosen.syntax);
  const questions = [
    ...chosen.questions,
    standardFieldQuestion(name, description, isNumber),
    unitQuestion(chosen.syntax, units, description),
    noValueQuestion(description),
  ];
  const isTag =
    /^(?:DisplayString|SnmpAdminString|OctetString|Utf8String)$/.test(chosen.syntax) &&
    /[._](?:name|descr|description|alias|label)$/.test(field);
  const convention = type?.conventions[0];
  const about = [
    ...(convention !== undefined && convention !== chosen.syntax ? [convention] : []),
    ...(units === undefined ? [] : [`units: ${units.replace(/\s+/g, " ")}`]),
    ...(status === "deprecated" ? ["deprecated"] : []),
  ];
  return [
    ...(options.withDescriptions && description !== undefined ? comment(description, "    ") : []),
    ...(about.length === 0 ? [] : comment(about.join("; "), "    ")),
    ...questions.flatMap((text) => (text === undefined ? [] : question(text, "    "))),
    `    ${name}:`,
    `      oid: ${oid}`,
    `      name: ${field}`,
    `      syntax: ${chosen.syntax}`,
    ...(isTag ? ["      tag: true"] : []),
    ...(chosen.metric === undefined ? [] : [`      metric: ${chosen.metric}`]),
    ...(overrides === undefined
      ? []
      : ["      overrides:", `        object: ${overrides.object}`, `        attribute: ${overrides.attribute}`]),
  ];
}
