import { renderFields } from "../../record/index.ts";
import type { AddressFacts, RenderedFacts } from "./address-source.ts";
import type { AddressScope } from "./address-scope.ts";
import { enrichedObjects, type EnrichedObject } from "./enriched-object.ts";
import type { FoldedEntries } from "./fold-entries.ts";
import { localities, localityOf } from "./locality.ts";
import { fieldStart, type MetadataKey } from "./metadata-keys.ts";

/**
 * What an address adds below an object, as fields that each begin with a comma. One behind the other: the fields, the VLAN, the
 * number of the autonomous system, its organisation, and metadata that may meet other names (open).
 *
 * Names: `<object>.ip.subnet.name`, `.ip.subnet.tags`, `.isInternal` (only when true), those of facts, `.locality`,
 * `<object>.x` for a metadata key `.x`, `.vlan.tag.id`, `.as.asn`, `.as.org`, and `x` for a metadata key `x`.
 */
export interface AddressText {
  /** The lengths of the parts, in bytes. */
  readonly fields: number;
  readonly vlan: number;
  readonly number: number;
  readonly organisation: number;
  readonly open: number;
  /** The number of the autonomous system, 0 for none. */
  readonly system: number;
  /** The position in {@link localities}. */
  readonly locality: number;
  /** Whether any of it is metadata. */
  readonly hasMetadata: boolean;
  /** Whether it was more than there was room for; nothing else counts then. */
  readonly isCut: boolean;
}

/** What is known of an address. */
export interface KnownOfAddress {
  /** Undefined before there is any metadata. */
  readonly entries: FoldedEntries | undefined;
  readonly facts: readonly AddressFacts[];
  /** Undefined where localities are not asked for. */
  readonly scope: AddressScope | undefined;
}

/**
 * Writes what an address adds to an object.
 *
 * @param room bytes that may be written from `at` on.
 * @returns what may be read until the next call.
 */
export type WriteAddressText = (
  position: number,
  known: KnownOfAddress,
  into: Uint8Array,
  at: number,
  room: number,
) => AddressText;

const comma = 0x2c;
const opened = 0x5b;
const closed = 0x5d;
const nothing = new Uint8Array();

export function createWriteAddressText(): WriteAddressText {
  const starts = enrichedObjects.map(fieldStarts);
  let target: Uint8Array = nothing;
  let end = 0;
  let limit = 0;
  const text = {
    fields: 0,
    vlan: 0,
    number: 0,
    organisation: 0,
    open: 0,
    system: 0,
    locality: 0,
    hasMetadata: false,
    isCut: false,
  };

  const put = (from: Uint8Array, start: number, to: number): void => {
    if (end + to - start > limit) {
      text.isCut = true;
      return;
    }
    let into = end;
    for (let at = start; at < to; at++) target[into++] = from[at] as number;
    end = into;
  };
  const putByte = (byte: number): void => {
    if (end < limit) target[end++] = byte;
    else text.isCut = true;
  };
  const putAll = (from: Uint8Array): void => put(from, 0, from.length);

  const renderedFacts = (facts: AddressFacts, position: number): RenderedFacts => {
    const object = enrichedObjects[position] as EnrichedObject;
    if (facts.shared === undefined) return renderFacts(facts, object);
    const { rendered } = facts.shared;
    return (rendered[position] ??= renderFacts(facts, object));
  };

  const putPairs = (entries: FoldedEntries, position: number, isOpen: boolean): void => {
    for (let i = 0; i < entries.pairs; i++) {
      if (entries.isOpen[i] !== isOpen) continue;
      putAll((entries.keys[i] as MetadataKey).starts[position] as Uint8Array);
      put(entries.bytes, entries.valueStarts[i] as number, entries.valueEnds[i] as number);
    }
  };

  const putTags = ({ bytes, tags, tagStarts, tagEnds }: FoldedEntries): void => {
    for (let i = 0; i < tags; i++) {
      putByte(i === 0 ? opened : comma);
      put(bytes, tagStarts[i] as number, tagEnds[i] as number);
    }
    putByte(closed);
  };

  return (position, { entries, facts, scope }, into, at, room) => {
    target = into;
    end = at;
    limit = at + room;
    text.isCut = false;
    text.system = 0;
    text.locality = 0;
    text.hasMetadata = false;
    const start = starts[position] as (typeof starts)[number];
    if (entries !== undefined) {
      const { bytes, nameStart, nameEnd, vlanEnd, isInternal, tags, pairs } = entries;
      text.hasMetadata = nameEnd > 0 || vlanEnd > 0 || isInternal || tags > 0 || pairs > 0;
      if (nameEnd > 0) {
        putAll(start.name);
        put(bytes, nameStart, nameEnd);
      }
      if (tags > 0) {
        putAll(start.tags);
        putTags(entries);
      }
      if (isInternal) putAll(start.internal);
    }
    let system: RenderedFacts | undefined;
    for (let i = 0; i < facts.length; i++) {
      const known = facts[i] as AddressFacts;
      const rendered = renderedFacts(known, position);
      putAll(rendered.fields);
      if (known.as === undefined || system !== undefined) continue;
      system = rendered;
      text.system = known.as.number;
    }
    if (scope !== undefined) {
      const locality = localityOf(scope, entries?.isInternal ?? false);
      text.locality = localities.indexOf(locality);
      putAll(start.localities[text.locality] as Uint8Array);
    }
    if (entries !== undefined && entries.pairs > 0) putPairs(entries, position, false);
    const fieldsEnd = end;
    if (entries !== undefined && entries.vlanEnd > 0) {
      putAll(start.vlan);
      put(entries.bytes, entries.vlanStart, entries.vlanEnd);
    }
    const vlanEnd = end;
    if (system !== undefined) putAll(system.number);
    const numberEnd = end;
    if (system !== undefined) putAll(system.organisation);
    const organisationEnd = end;
    if (entries?.hasOpen === true) putPairs(entries, position, true);
    text.fields = fieldsEnd - at;
    text.vlan = vlanEnd - fieldsEnd;
    text.number = numberEnd - vlanEnd;
    text.organisation = organisationEnd - numberEnd;
    text.open = end - organisationEnd;
    return text;
  };
}

/** The bytes of all parts. */
export function lengthOf({ fields, vlan, number, organisation, open }: AddressText): number {
  return fields + vlan + number + organisation + open;
}

interface FieldStarts {
  readonly name: Uint8Array;
  readonly tags: Uint8Array;
  readonly internal: Uint8Array;
  readonly vlan: Uint8Array;
  /** Whole fields, by the position in {@link localities}. */
  readonly localities: readonly Uint8Array[];
}

function fieldStarts({ name, vlanName }: EnrichedObject): FieldStarts {
  return {
    name: fieldStart(`${name}.ip.subnet.name`),
    tags: fieldStart(`${name}.ip.subnet.tags`),
    internal: renderFields([[`${name}.isInternal`, true]]),
    vlan: fieldStart(vlanName),
    localities: localities.map((locality) =>
      locality === undefined ? nothing : renderFields([[`${name}.locality`, locality]]),
    ),
  };
}

function renderFacts({ fields, as }: AddressFacts, object: EnrichedObject): RenderedFacts {
  return {
    fields: renderFields(fields.map(([suffix, value]) => [object.name + suffix, value])),
    number: as === undefined ? nothing : renderFields([[object.asNumberName, as.number]]),
    organisation:
      as?.organisation === undefined ? nothing : renderFields([[object.asOrganisationName, as.organisation]]),
  };
}
