import { fixedLength } from "./module-facts.ts";
import type { IndexFacts, ObjectFacts } from "./module-facts.ts";
import { type NamedAttribute, type NamedIndexPart, type NamedObject, nameAttributes } from "./name-attributes.ts";
import { chooseObjects } from "./name-attributes.ts";

const width = 116;
const longest = 600;

/** A text as a YAML comment of several lines, no longer than 600 characters. */
function comment(text: string, indent: string): string[] {
  // A comment ends with its line, so nothing in it may look like the end of one.
  const clean = text.replace(/[\s\p{Cc}\u2028\u2029]+/gu, " ").trim();
  const shown = clean.length > longest ? `${clean.slice(0, longest)}…` : clean;
  const lines: string[] = [];
  let line = "";
  for (const word of shown.split(" ")) {
    if (line !== "" && indent.length + 3 + line.length + word.length > width) {
      lines.push(`${indent}# ${line}`);
      line = "";
    }
    line += line === "" ? word : ` ${word}`;
  }
  if (line !== "") lines.push(`${indent}# ${line}`);
  return lines;
}

/** A question that a person has to answer; `questions` in reports counts these. */
function question(text: string, indent: string): string[] {
  return comment(`question: ${text}`, indent);
}

/** A text in single quotes. */
function quoted(text: string): string {
  return `'${text.replace(/[\p{Cc}\u2028\u2029]/gu, " ").replaceAll("'", "''")}'`;
}

/** Fields that all vendors' values of one meaning share, and how their objects are likely called. */
const hints: readonly (readonly [RegExp, string])[] = [
  [/cpu.*(?:util|load|usage|busy|percent)|(?:util|load|usage).*cpu|processor.*(?:load|util)/i, "system.cpu.util.pct"],
  [/mem(?:ory)?.*(?:util|usage|percent|pct)/i, "system.memory.used.pct"],
  [/mem(?:ory)?.*total|total.*mem/i, "system.memory.total.bytes"],
  [/mem(?:ory)?.*free|free.*mem/i, "system.memory.free.bytes"],
  [/mem(?:ory)?.*used|used.*mem/i, "system.memory.used.bytes"],
  [/(?:rx|receive|input).*(?:optical)?power/i, "transceiver.rx.power"],
  [/(?:tx|transmit|output).*opticalpower|laser.*power|txpower/i, "transceiver.tx.power"],
  [/bias/i, "transceiver.tx.bias"],
  [
    /temp(?:erature)?(?:value|reading|celsius|current|status)?$|fan.*(?:speed|rpm)|voltage(?:value|level)$/i,
    "hw.sensor.value (with fields: {hw.sensor.type: …})",
  ],
  [/(?:fan|psu|supply|powersupply).*(?:status|state)$/i, "hw.sensor.state (with fields: {hw.sensor.type: …})"],
  [/peer.*(?:remoteas)$/i, "bgp.peer.remote.as"],
  [/peer.*(?:state)$/i, "bgp.peer.state"],
  [/prefix(?:es)?accepted|acceptedprefixes/i, "bgp.prefixes.accepted"],
  [/(?:session|sess).*(?:count|active|current|num)/i, "firewall.sessions"],
  [/(?:tunnel).*(?:state|status)$/i, "vpn.tunnel.state"],
  [/(?:ha|failover|redundancy).*(?:state|status|mode)$/i, "ha.state"],
  [/(?:ssid)$/i, "wireless.network.ssid"],
  [/(?:client|sta|station|user)s?(?:count|num|number)$/i, "wireless.ap.clients"],
];

/** A question where an object may be what a field of all vendors is for. */
function standardFieldQuestion(name: string, description: string | undefined, isNumber: boolean): string | undefined {
  if (/serial(?:num|no|number)?$/i.test(name))
    return "the serial number of the device? Rules in autodiscover/identities/ make it system.serial";
  const isOfCpu = /load|util|usage|busy/i.test(name) && /\b(?:cpu|processor)s?\b/i.test(description ?? "");
  const found = hints.find(([pattern, field]) => pattern.test(name) && (isNumber || !/pct|bytes|value/.test(field)));
  const field = isOfCpu && isNumber ? "system.cpu.util.pct" : found?.[1];
  return field && `does it mean ${field}? Then it should have that name`;
}

/** Descriptions that speak of numbers that are no reading. */
function noValueQuestion(description: string | undefined): string | undefined {
  const found = /(?:value|returns?|reports?) (?:of )?(-1|-9+|2147483647|4294967295|65535)\b/i.exec(
    description ?? "",
  )?.[1];
  return found && `the description speaks of ${found}: is it no reading? Then no_value: {${found}: unknown}`;
}

/** Units as descriptions spell them, for where the module has no UNITS clause. */
const spokenUnits: readonly (readonly [RegExp, string])[] = [
  [/\bpercent|percentage|\d%/i, "Percent100"],
  [/\bk(?:ilo)?-?bytes?\b|\bKB\b/i, "BytesKiB"],
  [/\bm(?:ega)?-?bytes?\b|\bMB\b/i, "BytesMiB"],
  [/1,?000,?000 bits per second|megabits? per second|\bMbps\b/i, "BandwidthMBits"],
  [/bits per second|\bbps\b/i, "BandwidthBits"],
  [/\bmC\b|milli-?degrees/i, "TemperatureMilliC"],
  [/degrees? (?:celsius|c\b)|celsius|centigrade/i, "TemperatureC"],
  [/\bmV\b|milli-?volts?/i, "VoltageMilliVolt"],
  [/\bdBm\b/, "PowerDbm"],
  [/milli-?seconds?/i, "TicksMilliSec"],
  [/\bin seconds\b|number of seconds/i, "TicksSec"],
];

/** Returns a question about the unit of a plain number without units. */
function unitQuestion(syntax: string, units: string | undefined, description: string | undefined): string | undefined {
  if (units !== undefined || !/^(?:Integer32|Unsigned32|Gauge32)$/.test(syntax)) return undefined;
  const found = spokenUnits.find(([pattern]) => pattern.test(description ?? ""))?.[1];
  return found && `by the description its unit may be that of syntax: ${found}`;
}

interface TextOptions {
  /** Objects that are defined: only these can be augmented. */
  readonly definedObjects: ReadonlySet<string>;
  readonly withDescriptions: boolean;
}

/** One object of a definition file. */
function objectText({ object, attributes, index }: NamedObject, options: TextOptions): string[] {
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

/** Returns how often it is worth asking: counters and readings, states, settings. */
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

/** Returns how a part is encoded in an instance (RFC 2578 section 7.7). */
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

/** Definitions that exist already and must not be written again. */
export interface KnownDefinitions {
  /** `MIB::object`, with where it is defined. */
  readonly objects: ReadonlyMap<string, string>;
  /** OIDs that have labels. */
  readonly enums: ReadonlySet<string>;
  /** Names of fields. */
  readonly fields: ReadonlySet<string>;
  /** OIDs of notifications that have names. */
  readonly notifications: ReadonlySet<string>;
}

export interface GenerateRequest {
  /** Facts of all modules that are asked for. */
  readonly facts: readonly ObjectFacts[];
  /** Names, `MODULE::name` or OIDs. */
  readonly roots: readonly string[];
  readonly deviceGroup: string | undefined;
  readonly known: KnownDefinitions;
  readonly withDescriptions: boolean;
}

export interface GeneratedDefinitions {
  /** Contents by path below a directory of definitions. */
  readonly files: ReadonlyMap<string, string>;
  /** Ids of the objects. */
  readonly objects: readonly string[];
  readonly attributes: number;
  /** Objects that there are already. */
  readonly skipped: readonly string[];
}

/**
 * Definitions of the objects at and below the roots: files of objects, of their labels, an object group for each module,
 * and the device group that is asked for.
 *
 * @throws MibFault for a root that leads to nothing.
 */
export function definitionTexts(request: GenerateRequest): GeneratedDefinitions {
  const { known, facts, roots, withDescriptions } = request;
  const all = chooseObjects(facts, roots);
  const chosen = all.filter(({ id }) => !known.objects.has(id));
  const named = nameAttributes(chosen, known.fields);
  const definedObjects = new Set([...known.objects.keys(), ...chosen.map(({ id }) => id)]);
  const files = new Map<string, string>();
  const modules = [...new Set(chosen.map(({ module }) => module))];
  const labels = { integer: new Set(known.enums), bitmap: new Set(known.enums) };
  for (const module of modules) {
    const own = named.filter(({ object }) => object.module === module);
    const file = `${module.toLowerCase()}.yml`;
    const texts = own.map((one) => objectText(one, { definedObjects, withDescriptions }).join("\n"));
    files.set(`objects/${file}`, `${texts.join("\n\n")}\n`);
    for (const kind of ["integer", "bitmap"] as const) {
      const enums = labelTexts(own, kind, labels[kind]);
      if (enums.length > 0) files.set(`enums/${kind}/${file}`, `${enums.join("\n\n")}\n`);
    }
    files.set(
      `object_groups/${file}`,
      groupText(
        groupName(module),
        "objects",
        own.map(({ object }) => object.id),
      ),
    );
  }
  for (const [module, names] of notificationTexts(request))
    files.set(
      `enums/oid/${module.toLowerCase()}.yml`,
      `# Notifications of ${module}\n${snmpTrapOid}:\n${names.join("\n")}\n`,
    );
  if (request.deviceGroup !== undefined && modules.length > 0)
    files.set(`device_groups/${request.deviceGroup}.yml`, deviceGroupText(request.deviceGroup, modules));
  return {
    files,
    objects: chosen.map(({ id }) => id),
    attributes: chosen.reduce((sum, { attributes }) => sum + attributes.length, 0),
    skipped: all.flatMap(({ id }) => (known.objects.has(id) ? [`${id} (${known.objects.get(id)})`] : [])),
  };
}

/** The labels of this object are the names of notifications. */
const snmpTrapOid = ".1.3.6.1.6.3.1.1.4.1";

/** Lines by module. They are written with the objects of their module, whatever the roots are. */
function notificationTexts({ facts, known }: GenerateRequest): ReadonlyMap<string, readonly string[]> {
  const lines = new Map<string, string[]>();
  for (const { module, name, oid, kind } of facts) {
    if (kind !== "notification" || known.notifications.has(oid)) continue;
    lines.set(module, [...(lines.get(module) ?? []), `  ${oid}: ${quoted(name)}`]);
  }
  return lines;
}

function groupName(module: string): string {
  return module.toLowerCase().replaceAll("-", "_");
}

function groupText(name: string, key: string, members: readonly string[]): string {
  return [`${name}:`, `  ${key}:`, ...members.map((member) => `    - ${member}`), ""].join("\n");
}

function deviceGroupText(name: string, modules: readonly string[]): string {
  const hint = [
    `# A device has it with device_groups: [auto, ${name}]. Devices have it by themselves when a file in`,
    `# autodiscover/sysoids/ leads their sysObjectID to it; then it wants the groups of \`generic\`, too.`,
  ];
  return `${hint.join("\n")}\n${groupText(name, "object_groups", modules.map(groupName))}`;
}

/** Labels by OID; each OID once. */
function labelTexts(objects: readonly NamedObject[], kind: "integer" | "bitmap", seen: Set<string>): string[] {
  const texts: string[] = [];
  for (const { attributes, index } of objects) {
    for (const { facts, chosen } of [...index, ...attributes]) {
      const labels = facts.type?.labels;
      if (chosen.labels !== kind || labels === undefined || seen.has(facts.oid)) continue;
      seen.add(facts.oid);
      // A number that stands there twice has its first label.
      const once = labels.filter(([, number], i) => labels.findIndex((other) => other[1] === number) === i);
      const lines = once.map(([label, number]) => `  ${number}: ${quoted(label)}`);
      texts.push([`# ${facts.module}::${facts.name}`, `${facts.oid}:`, ...lines].join("\n"));
    }
  }
  return texts;
}
