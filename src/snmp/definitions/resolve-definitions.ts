import { createHash } from "node:crypto";
import {
  fieldNames,
  metricName,
  plainLabel,
  type EnumTables,
  type FieldDefinition,
  type MetricKind,
} from "../values/put-value.ts";
import { syntaxes, type Syntax } from "../values/syntaxes-and-units.ts";
import {
  type Attribute,
  type IndexPart,
  type ObjectDefinition,
  autoGroup,
  type Device,
  kinds,
  type Definitions,
  type Kind,
} from "./definitions.ts";
import { DefinitionSet, type Placed, type LoadedFile } from "./definition-files.ts";
import type { Pacer } from "../limits.ts";
import { peerName } from "../session/peer.ts";
import { defaultId } from "./definition-formats.ts";
import { meaningHash } from "./object-shape.ts";
import type { DeviceSettings } from "./device-shape.ts";
import { compareFindings, type Finding } from "./definitions.ts";

/** Resolves the index of objects that augment another one, and checks the references of objects. */
async function resolveObjects(
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
    checkFixedBy(set, placed, object, enums);
    objects.set(id, object);
  }
  await warnOfNestedNames(set, pacer);
  await warnOfMetrics(set, pacer);
  return objects;
}

/** Warns of fields with one metric name but different kinds: a scrape has one metric of a name, and one kind of it. */
async function warnOfMetrics(set: DefinitionSet, pacer: Pacer): Promise<void> {
  const owners = new Map<string, { readonly field: string; readonly kind: MetricKind; readonly id: string }>();
  for (const [id, placed] of set.of("object")) {
    if (pacer.isDue()) await pacer.rest();
    for (const { name, field, metric: kind } of placed.draft.attributes.values()) {
      if (kind === undefined) continue;
      const metric = metricName(field, kind);
      // A field has one kind, whatever its metric is called.
      for (const key of [metric, field]) {
        const owner = owners.get(key);
        if (owner === undefined) owners.set(key, { field, kind, id });
        else if (owner.field !== field) {
          const message = `attribute ${name}: ${field} is the metric ${metric}, as is ${owner.field} of ${owner.id}`;
          set.add(placed, "warning", ["attributes", name, "name"], "value", message);
        } else if (owner.kind !== kind) {
          const message = `attribute ${name}: ${field} is a ${kind} here, and a ${owner.kind} in ${owner.id}`;
          set.add(placed, "warning", ["attributes", name, "metric"], "value", message);
          break;
        }
      }
    }
  }
}

/**
 * Warns of a name below another name. Within one object that is an error. Two objects make two records, and only some stores refuse one
 * of these.
 */
async function warnOfNestedNames(set: DefinitionSet, pacer: Pacer): Promise<void> {
  const drafts = set.of("object");
  const owners = new Map<string, string>();
  for (const [id, { draft }] of drafts) {
    if (pacer.isDue()) await pacer.rest();
    for (const target of draft.index ?? []) for (const field of fieldNames(target)) owners.set(field, id);
    for (const target of draft.attributes.values()) for (const field of fieldNames(target)) owners.set(field, id);
  }
  /** The prefixes of names that are not names themselves and lie below no name. */
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

/** The index of a table whose index is unknown: the numbers after the attribute's OID distinguish its rows. */
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

/** Warns of an enumeration without labels, whose values stay numbers. */
function checkLabels(set: DefinitionSet, placed: Placed<"object">, enums: EnumTables): void {
  for (const attribute of placed.draft.attributes.values()) {
    if (hasLabels(attribute, enums)) {
      checkSeverity(set, placed, attribute, enums);
      continue;
    }
    const message = `attribute ${attribute.name}: no enumeration has the labels of ${attribute.oidText}`;
    set.add(placed, "warning", ["attributes", attribute.name, "syntax"], "value", message);
  }
  for (const [i, part] of (placed.draft.index ?? []).entries()) {
    if (hasLabels(part, enums)) continue;
    const message = `index ${i + 1}: no enumeration has the labels of ${part.oidText}`;
    set.add(placed, "warning", ["index", i, "syntax"], "value", message);
  }
}

/** Warns of a severity for a label that the enumeration does not have, so that it never occurs. */
function checkSeverity(set: DefinitionSet, placed: Placed<"object">, attribute: Attribute, enums: EnumTables): void {
  const { kind } = attribute.syntax;
  if (kind !== "enum-integer" && kind !== "enum-bitmap") return;
  const table = (kind === "enum-integer" ? enums.integer : enums.bitmap).get(attribute.oidText);
  const labels = new Set(Array.from(table?.values() ?? [], plainLabel));
  for (const label of attribute.severity?.keys() ?? []) {
    if (labels.has(label)) continue;
    const message = `attribute ${attribute.name}: severity: no value has the label ${JSON.stringify(label)}`;
    const path = ["attributes", attribute.name, "severity"];
    set.add(placed, "warning", path, "value", message, set.suggest(label, labels));
  }
}

/** Warns of texts for a label that the enumeration does not have, so that they are never added. */
function checkFixedBy(set: DefinitionSet, placed: Placed<"object">, object: ObjectDefinition, enums: EnumTables): void {
  for (const [field, byValue] of object.fixedBy) {
    const target = [...object.index, ...object.attributes.values()].find((one) => fieldNames(one).includes(field));
    if (target?.syntax.kind !== "enum-integer" || !field.endsWith(".name")) continue;
    const labels = new Set(enums.integer.get(target.oidText)?.values());
    for (const label of byValue.keys()) {
      if (labels.has(label)) continue;
      const message = `fields_by: ${field}: no value has the label ${JSON.stringify(label)}`;
      set.add(placed, "warning", ["fields_by", field, label], "key", message, set.suggest(label, labels));
    }
  }
}

function hasLabels(target: FieldDefinition, enums: EnumTables): boolean {
  const { kind } = target.syntax;
  if (kind === "enum-integer") return enums.integer.has(target.oidText);
  if (kind === "enum-bitmap") return enums.bitmap.has(target.oidText);
  return kind !== "enum-oid" || enums.oid.has(target.oidText);
}

/** The values that apply if neither a device nor the files of defaults set any. */
const builtinDefaults = {
  port: 161,
  transport: "udp",
  context: "",
  objectContexts: new Map<string, readonly string[]>(),
  version: "2c",
  communities: [],
  v3Credentials: [],
  deviceGroups: [autoGroup],
  timeoutMs: 3000,
  retries: 2,
  exponentialTimeout: false,
  pollIntervalMs: 60_000,
  pollIntervalsMs: new Map<string, number>(),
  rediscoverIntervalMs: 86_400_000,
  maxOids: 64,
  maxRepetitions: 0,
  maxRows: 100_000,
  maxConcurrentPolls: 4,
} as const satisfies Required<DeviceSettings>;

/** Fills in the defaults, and checks the results. */
async function resolveDevices(
  set: DefinitionSet,
  defaults: DeviceSettings,
  objectTypes: ReadonlyMap<string, number>,
  pacer: Pacer,
): Promise<Map<string, Device>> {
  const devices = new Map<string, Device>();
  const placedById = new Map<string, Placed<"device">>();
  const ineffective: Placed<"device">[] = [];
  for (const placed of set.of("device").values()) {
    if (pacer.isDue()) await pacer.rest();
    const settings = { ...builtinDefaults, ...defaults, ...placed.draft };
    const id = peerName(settings.ip, settings.port);
    const earlier = placedById.get(id);
    if (earlier !== undefined)
      set.reportTwice(placed, earlier, `${id} is the device ${JSON.stringify(earlier.id)} already`);
    const hasCredentials = checkCredentials(set, placed, settings);
    checkIntervals(set, placed, objectTypes);
    for (const object of placed.draft.objectContexts?.keys() ?? [])
      set.refer(placed, "warning", ["object_contexts", object], "object", object, "object_contexts: object");
    const isIneffective = placed.draft.pollIntervalMs !== undefined && settings.pollIntervalsMs.size === 0;
    if (isIneffective && objectTypes.size > 0) ineffective.push(placed);
    if (earlier !== undefined || !hasCredentials) continue;
    placedById.set(id, placed);
    devices.set(id, { ...settings, id, deviceGroups: resolveGroups(set, placed, settings.deviceGroups) });
  }
  warnOfPollIntervals(set, ineffective, objectTypes);
  return devices;
}

/**
 * Warns of intervals without effect: object types with intervals of their own do not use the device's. There is one warning for any
 * number of devices.
 */
function warnOfPollIntervals(
  set: DefinitionSet,
  [first, ...others]: readonly Placed<"device">[],
  objectTypes: ReadonlyMap<string, number>,
): void {
  if (first === undefined) return;
  const types = [...objectTypes.keys()].sort().join(", ");
  const more = others.length === 0 ? "" : ` (and of ${others.length} more devices)`;
  const message = `poll_interval${more} does not change how often objects of the types ${types} are polled: set poll_intervals`;
  set.add(first, "warning", ["poll_interval"], "key", message);
}

function checkCredentials(set: DefinitionSet, placed: Placed<"device">, settings: Required<DeviceSettings>): boolean {
  const name = settings.version === "3" ? "v3_credentials" : "communities";
  const credentials = settings.version === "3" ? settings.v3Credentials : settings.communities;
  if (credentials.length > 0) return true;
  set.add(placed, "error", [], "key", `version ${settings.version} needs ${name}, and there are none`);
  return false;
}

function checkIntervals(set: DefinitionSet, placed: Placed<"device">, objectTypes: ReadonlyMap<string, number>): void {
  for (const type of placed.draft.pollIntervalsMs?.keys() ?? []) {
    if (objectTypes.has(type)) continue;
    const near = set.suggest(type, objectTypes.keys());
    set.add(
      placed,
      "warning",
      ["poll_intervals", type],
      "key",
      `poll_intervals: no object type ${JSON.stringify(type)}`,
      near,
    );
  }
}

/** Returns the existing groups, sorted. For groups from the defaults, the file of defaults has the finding. */
function resolveGroups(set: DefinitionSet, placed: Placed<"device">, groups: readonly string[]): string[] {
  const own = placed.draft.deviceGroups;
  const existing = groups.filter((group, i) => {
    if (group === autoGroup) return true;
    if (own === undefined) return set.of("device_group").has(group);
    return set.refer(placed, "error", ["device_groups", i], "device_group", group, "device_groups: device group");
  });
  return [...new Set(existing)].sort();
}

/** Joins the layers of defaults; a later one replaces the values that it sets. */
function joinDefaults(set: DefinitionSet, layers: readonly Placed<"device_default">[]): DeviceSettings {
  for (const layer of layers) {
    if (layer.key !== defaultId) set.add(layer, "warning", [], "key", `only ${JSON.stringify(defaultId)} counts here`);
    for (const [i, group] of (layer.draft.deviceGroups ?? []).entries()) {
      if (group === autoGroup) continue;
      set.refer(layer, "error", ["device_groups", i], "device_group", group, "device_groups: device group");
    }
  }
  return Object.assign(
    {},
    ...layers.filter((layer) => layer.key === defaultId).map((layer) => layer.draft),
  ) as DeviceSettings;
}

/** The definitions, and all findings by location. */
export interface Resolved {
  readonly definitions: Definitions;
  readonly findings: readonly Finding[];
}

/**
 * Joins the definitions of all files: it fills in defaults, follows references, and reports those without a target. Faulty parts are
 * left out, so the result is usable with any findings.
 */
export async function resolveDefinitions(
  files: readonly LoadedFile[],
  listed: readonly Finding[],
  pacer: Pacer,
): Promise<Resolved> {
  const set = new DefinitionSet();
  set.addFindings(listed);
  for (const file of files) {
    if (pacer.isDue()) await pacer.rest();
    set.addFile(file);
  }
  const enums = {
    integer: draftsOf(set, "enum_integer"),
    bitmap: draftsOf(set, "enum_bitmap"),
    oid: draftsOf(set, "enum_oid"),
  };
  const objectTypes = draftsOf(set, "object_type");
  const defaults = joinDefaults(set, layersOf(files));
  const objects = await resolveObjects(set, enums, objectTypes, pacer);
  const objectGroups = members(set, "object_group", "object", ["objects"]);
  if (pacer.isDue()) await pacer.rest();
  const deviceGroups = members(set, "device_group", "object_group", ["object_groups"]);
  const sysoids = members(set, "sysoid", "device_group", []);
  const devices = await resolveDevices(set, defaults, objectTypes, pacer);

  const hashes = Object.fromEntries(kinds.map((kind) => [kind, hashesOf(set, kind)])) as Record<
    Kind,
    Map<string, string>
  >;
  hashes.device_default = new Map();
  hashes.device = new Map();
  for (const [id, device] of devices) {
    if (pacer.isDue()) await pacer.rest();
    hashes.device.set(id, meaningHash(device));
  }
  const findings = (await set.findings(pacer)).sort(compareFindings);
  const definitions: Definitions = {
    revision: await revisionOf(hashes, pacer),
    devices,
    deviceGroups,
    objectGroups,
    objects,
    enums,
    sysoids,
    identities: draftsOf(set, "identity"),
    objectTypes,
    warnings: findings.filter((finding) => finding.severity === "warning"),
    hashes,
  };
  return { definitions, findings };
}

function draftsOf<K extends "enum_integer" | "enum_bitmap" | "enum_oid" | "identity" | "object_type">(
  set: DefinitionSet,
  kind: K,
): Map<string, Placed<K>["draft"]> {
  return new Map([...set.of(kind)].map(([id, placed]) => [id, placed.draft]));
}

/** Returns all layers of defaults, because each sets different values. */
function layersOf(files: readonly LoadedFile[]): Placed<"device_default">[] {
  return files
    .filter((file): file is LoadedFile<"device_default"> => file.kind === "device_default")
    .flatMap((file) =>
      file.parsed.entries.flatMap((entry) =>
        entry.draft === undefined ? [] : [{ ...entry, draft: entry.draft, file }],
      ),
    );
}

/** Returns the members of existing groups, sorted. */
function members(
  set: DefinitionSet,
  kind: "object_group" | "device_group" | "sysoid",
  of: Kind,
  path: readonly string[],
): Map<string, readonly string[]> {
  const groups = new Map<string, readonly string[]>();
  const label = of.replace("_", " ");
  for (const [id, placed] of set.of(kind)) {
    const existing = placed.draft.filter((member, i) => set.refer(placed, "error", [...path, i], of, member, label));
    groups.set(id, [...new Set(existing)].sort());
  }
  return groups;
}

/** Hashes each definition by itself, whether or not its references exist. */
function hashesOf(set: DefinitionSet, kind: Kind): Map<string, string> {
  const isList = kind === "object_group" || kind === "device_group" || kind === "sysoid";
  return new Map(
    [...set.of(kind)].map(([id, placed]) => [
      id,
      isList ? meaningHash([...new Set(placed.draft as readonly string[])].sort()) : placed.hash,
    ]),
  );
}

/** Hashes all lines in order. The lines of each kind are together, so that each kind can be sorted by itself. */
async function revisionOf(hashes: Readonly<Record<Kind, ReadonlyMap<string, string>>>, pacer: Pacer): Promise<string> {
  const sum = createHash("sha256");
  for (const kind of kinds.toSorted((a, b) => (`${a} ` < `${b} ` ? -1 : 1))) {
    if (pacer.isDue()) await pacer.rest();
    const lines = Array.from(hashes[kind], ([id, value]) => `${kind} ${id} ${value}\n`);
    sum.update(lines.sort().join(""));
  }
  return sum.digest("hex").slice(0, 16);
}
