import { decodedSegments, renderFields, type RecordFields, type RenderedFields, type Value } from "../record/index.ts";
import type { UdmEntry, UdmValues } from "../udm/index.ts";
import type { AddressFacts, AutonomousSystem } from "./address-source.ts";
import type { EnrichedObject } from "./enriched-object.ts";
import { localityOf, type Locality } from "./locality.ts";
import type { AddressScope } from "./address-scope.ts";
import { mergeEntries } from "./merge-entries.ts";

export type Field = readonly [name: string, value: Value];

/** The name under which a metadata key goes out beside an object. */
export type MetadataName = (object: EnrichedObject, key: string) => string;

/** Keys that different entries share are many, different keys are few: so many names are kept. */
const maxNames = 4096;

/**
 * Gives the same text for the same name: texts that are one object are compared and found without reading them, and the
 * metadata of all addresses shares them.
 */
export function createMetadataNames(): MetadataName {
  const names = new Map<string, string>();
  return (object, key) => {
    const name = key.startsWith(".") ? object.name + key : key;
    const known = names.get(name);
    if (known !== undefined) return known;
    if (names.size < maxNames) names.set(name, name);
    return name;
  };
}

/** All that is known of an address. */
export interface Known {
  readonly entries: readonly UdmEntry[];
  /** What sources say of it as the address of the object. */
  readonly facts: readonly AddressFacts[];
  /** Undefined where localities are not asked for. */
  readonly scope: AddressScope | undefined;
}

/** What an address adds to a record in which it is the address of one object. */
export interface Additions {
  /** Name, tags and internal of the metadata, and what sources say. */
  readonly fields: readonly Field[];
  /** Whether any of this comes from metadata. */
  readonly hasMetadata: boolean;
  /** Whether those and the VLAN may be set without looking: no decoder has names that could meet them. */
  readonly hasKnownNames: boolean;
  /** For a record that has no such name. */
  readonly vlan: Field | undefined;
  /** For a record whose exporter does not tell the system itself, or tells the same. */
  readonly as: SystemAddition | undefined;
  readonly locality: Locality | undefined;
  /** Metadata, in the order of its keys. */
  readonly metadata: readonly Field[];
  /** Whether all of this may be set without looking. */
  readonly isPlain: boolean;
  /**
   * The same as bytes, where it is plain. Traffic has so many addresses that setting field by field would wait for the
   * memory of each name and value; this is one piece to copy.
   */
  readonly rendered: RenderedAdditions | undefined;
}

/** An autonomous system and how it goes out. */
export interface SystemAddition extends AutonomousSystem {
  readonly numberName: string;
  readonly organisationField: Field | undefined;
  /** Number and organisation. */
  readonly rendered: RenderedFields;
  readonly renderedOrganisation: RenderedFields | undefined;
}

/** Undefined where there is nothing to add. */
export interface RenderedAdditions {
  readonly withVlan: RenderedFields | undefined;
  /** For a record that has a VLAN of its own. */
  readonly withoutVlan: RenderedFields | undefined;
}

/**
 * Works out what is added below an object; undefined when that is nothing. Names of metadata:
 * `<object>.ip.subnet.name`, `.ip.subnet.tags`, `.vlan.tag.id`, `.isInternal` (only when true), `<object>.x` for a
 * metadata key `.x`, and `x` for a metadata key `x`. The others are those of the facts, `.as.asn`, `.as.org` and `.locality`.
 */
export function makeAdditions(
  { entries, facts, scope }: Known,
  object: EnrichedObject,
  nameOf: MetadataName,
): Additions | undefined {
  const applying = entries.filter((entry) => appliesTo(entry, object));
  const merged = mergeEntries(applying);
  const fields = makeFields(merged, object);
  const hasMetadata = fields.length > 0 || merged.vlan !== 0n || merged.metadata.size > 0;
  for (const [suffix, value] of facts.flatMap((fact) => fact.fields)) fields.push([nameOf(object, suffix), value]);
  const locality = scope && localityOf(scope, merged.internal);
  if (locality !== undefined) fields.push([nameOf(object, ".locality"), locality]);
  const system = facts.find((fact) => fact.as !== undefined)?.as;
  const as = system && makeSystem(system, object);
  const vlan: Field | undefined = merged.vlan === 0n ? undefined : [object.names.vlan, exact(merged.vlan)];
  const keys = [...merged.metadata.keys()];
  const metadata = [...merged.metadata]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]): Field => [nameOf(object, key), value]);
  if (fields.length === 0 && vlan === undefined && metadata.length === 0 && as === undefined) return undefined;
  const { hasKnownNames } = object;
  const isPlain = hasKnownNames && keys.every((key) => isPlainKey(key, merged.metadata));
  const rendered = isPlain ? render([...fields, ...metadata], vlan) : undefined;
  return { fields, hasMetadata, hasKnownNames, vlan, as, locality, metadata, isPlain, rendered };
}

function makeSystem(system: AutonomousSystem, { names }: EnrichedObject): SystemAddition {
  const { number, organisation } = system;
  const organisationField: Field | undefined = organisation === undefined ? undefined : [names.asOrg, organisation];
  const organisationFields = organisationField === undefined ? [] : [organisationField];
  return {
    ...system,
    numberName: names.asNumber,
    organisationField,
    rendered: renderFields([[names.asNumber, number], ...organisationFields]),
    renderedOrganisation: organisationField && renderFields(organisationFields),
  };
}

function render(fields: readonly Field[], vlan: Field | undefined): RenderedAdditions {
  const withoutVlan = fields.length === 0 ? undefined : renderFields(fields);
  return { withoutVlan, withVlan: vlan === undefined ? withoutVlan : renderFields([...fields, vlan]) };
}

/** Sets the fields without looking. The record's own of the same names are replaced, except a VLAN. */
export function addFields(record: RecordFields, { fields, vlan, as }: Additions): void {
  for (const field of fields) record.set(field[0], field[1]);
  if (vlan !== undefined && !record.has(vlan[0])) record.set(vlan[0], vlan[1]);
  if (as !== undefined) addSystem(record, as);
}

/** What the exporter says of the system counts, unless it says 0; the organisation is named where both mean one number. */
function addSystem(record: RecordFields, { number, numberName, organisationField }: SystemAddition): void {
  const told = record.get(numberName);
  if (told === undefined || told === 0) record.set(numberName, number);
  else if (told !== number) return;
  if (organisationField !== undefined) record.set(organisationField[0], organisationField[1]);
}

/** Sets the metadata without looking. */
export function addMetadata(record: RecordFields, { metadata }: Additions): void {
  for (const field of metadata) record.set(field[0], field[1]);
}

/** Hands over all of it as bytes. */
export function addRendered(
  record: RecordFields,
  { vlan, as }: Additions,
  { withVlan, withoutVlan }: RenderedAdditions,
  rendered: RenderedFields[],
): void {
  const bytes = vlan !== undefined && record.has(vlan[0]) ? withoutVlan : withVlan;
  if (bytes !== undefined) rendered.push(bytes);
  if (as === undefined) return;
  const told = record.get(as.numberName);
  if (told === undefined) rendered.push(as.rendered);
  else if (told !== as.number) addSystem(record, as);
  else if (as.renderedOrganisation !== undefined) rendered.push(as.renderedOrganisation);
}

function appliesTo({ fileOnly }: UdmEntry, { context }: EnrichedObject): boolean {
  return fileOnly?.contexts?.includes(context) ?? true;
}

function makeFields({ name, tags, internal }: UdmValues, { names }: EnrichedObject): Field[] {
  const fields: Field[] = [];
  if (name !== "") fields.push([names.subnetName, name]);
  if (tags.length > 0) fields.push([names.subnetTags, tags]);
  if (internal) fields.push([names.isInternal, true]);
  return fields;
}

/** A key below the object, where no decoder has names, that is not at the same time a group of other keys. */
function isPlainKey(key: string, metadata: ReadonlyMap<string, string>): boolean {
  if (!key.startsWith(".")) return false;
  const segments = key.split(".");
  if (decodedSegments.has(segments[1] as string)) return false;
  return !segments.some((_, i) => i > 1 && metadata.has(segments.slice(0, i).join(".")));
}

function exact(vlan: bigint): number | bigint {
  return vlan <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(vlan) : vlan;
}
