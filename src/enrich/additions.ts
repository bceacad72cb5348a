import { decodedSegments, type RecordFields, type Value } from "../record/index.ts";
import type { UdmEntry, UdmValues } from "../udm/index.ts";
import type { EnrichedObject } from "./enriched-object.ts";
import { mergeEntries } from "./merge-entries.ts";

export type Field = readonly [name: string, value: Value];

/** What the metadata of one address adds to a record in which it is the address of one object. */
export interface Additions {
  /** Name, tags and internal. */
  readonly fields: readonly Field[];
  /** Whether those and the VLAN may be set without looking: no decoder has names that could meet them. */
  readonly hasKnownNames: boolean;
  /** For a record that has no such name. */
  readonly vlan: Field | undefined;
  /** Metadata, in the order of its keys. */
  readonly metadata: readonly Field[];
  /** Whether all of this may be set without looking. */
  readonly isPlain: boolean;
}

/**
 * Works out what the entries that cover an address add below an object; undefined when they add nothing. Names:
 * `<object>.ip.subnet.name`, `.ip.subnet.tags`, `.vlan.tag.id`, `.isInternal` (only when true), `<object>.x` for a
 * metadata key `.x`, and `x` for a metadata key `x`.
 */
export function makeAdditions(entries: readonly UdmEntry[], object: EnrichedObject): Additions | undefined {
  const applying = entries.filter((entry) => appliesTo(entry, object));
  if (applying.length === 0) return undefined;
  const merged = mergeEntries(applying);
  const fields = makeFields(merged, object.name);
  const vlan: Field | undefined = merged.vlan === 0n ? undefined : [`${object.name}.vlan.tag.id`, exact(merged.vlan)];
  const keys = [...merged.metadata.keys()];
  const metadata = [...merged.metadata]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]): Field => [key.startsWith(".") ? object.name + key : key, value]);
  if (fields.length === 0 && vlan === undefined && metadata.length === 0) return undefined;
  const { hasKnownNames } = object;
  const isPlain = hasKnownNames && keys.every((key) => isPlainKey(key, merged.metadata));
  return { fields, hasKnownNames, vlan, metadata, isPlain };
}

/** Sets the fields without looking. The record's own of the same names are replaced, except a VLAN. */
export function addFields(record: RecordFields, { fields, vlan }: Additions): void {
  for (const field of fields) record.set(field[0], field[1]);
  if (vlan !== undefined && !record.has(vlan[0])) record.set(vlan[0], vlan[1]);
}

/** Sets the metadata without looking. */
export function addMetadata(record: RecordFields, { metadata }: Additions): void {
  for (const field of metadata) record.set(field[0], field[1]);
}

function appliesTo({ fileOnly }: UdmEntry, { context }: EnrichedObject): boolean {
  return fileOnly?.contexts?.includes(context) ?? true;
}

function makeFields({ name, tags, internal }: UdmValues, object: string): Field[] {
  const fields: Field[] = [];
  if (name !== "") fields.push([`${object}.ip.subnet.name`, name]);
  if (tags.length > 0) fields.push([`${object}.ip.subnet.tags`, tags]);
  if (internal) fields.push([`${object}.isInternal`, true]);
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
