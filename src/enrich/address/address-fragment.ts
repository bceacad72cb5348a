import type { FactRenderer, FoundFacts, RenderedFacts } from "./address-source.ts";
import type { TextKey } from "./fragment-store.ts";
import { renderFields } from "../../record/index.ts";
import { type AddressScope, copyBytes, createPiece, type Piece } from "./address-limbs.ts";
import { enrichedObjects, type EnrichedObject, localities, localityOf } from "./enriched-object.ts";
import { type FoldedEntries, fieldStart, type MetadataKey } from "./merge-entries.ts";

/** What all sources know of the address under way. The same list is filled again for each address. */
export interface FactList extends FoundFacts {
  readonly count: number;
  /** Begins with the facts of another address. */
  clear(): void;
  /** What is added from now on is of the source with this number. */
  setSource(source: number): void;
  render(i: number, position: number): RenderedFacts;
  /** Adds three numbers for each of the facts: the same numbers mean the same facts. @returns false where one is of one address only. */
  putKey(key: TextKey): boolean;
}

export function createFactList(): FactList {
  const renderers: FactRenderer[] = [];
  const facts: number[] = [];
  const sources: number[] = [];
  let source = 0;
  const list = {
    count: 0,
    clear() {
      list.count = 0;
    },
    setSource(number: number) {
      source = number;
    },
    add(renderer: FactRenderer, fact: number) {
      const i = list.count++;
      renderers[i] = renderer;
      facts[i] = fact;
      sources[i] = source;
    },
    render: (i: number, position: number) => (renderers[i] as FactRenderer).render(facts[i] as number, position),
    putKey(key: TextKey) {
      for (let i = 0; i < list.count; i++) {
        const { generation } = renderers[i] as FactRenderer;
        if (generation === undefined) return false;
        key.put(sources[i] as number);
        key.put(generation);
        key.put(facts[i] as number);
      }
      return true;
    },
  };
  return list;
}

/**
 * What an address adds below an object, as fields that each begin with a comma. One behind the other: the fields, the VLAN, the
 * number of the autonomous system, its organisation, and metadata that may meet other names (open).
 *
 * Names: `<object>.ip.subnet.name`, `.ip.subnet.tags`, `.isInternal` (only when true), those of facts, `.locality`,
 * `<object>.x` for a metadata key `.x`, `.vlan.tag.id`, `.as.asn`, `.as.org` with `.as.label`, and `x` for a metadata key `x`.
 */
export interface AddressText {
  /** The lengths of the parts, in bytes. */
  readonly fields: number;
  readonly vlan: number;
  readonly number: number;
  readonly organisation: number;
  readonly open: number;
  /** The number of the autonomous system; 0 where there is none, or only a label. */
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
  /** Where the texts of the entries lie. */
  readonly entryTexts: DataView;
  readonly facts: FactList;
  /** Undefined where localities are not asked for. */
  readonly scope: AddressScope | undefined;
}

/**
 * Writes what an address adds to an object.
 *
 * @param room bytes that may be written from `at` on.
 * @returns what may be read until the next call.
 */
type WriteAddressText = (
  position: number,
  known: KnownOfAddress,
  into: DataView,
  at: number,
  room: number,
) => AddressText;

const comma = 0x2c;
const opened = 0x5b;
const closed = 0x5d;

/** @param internal what the locality of internal addresses is called. */
export function createWriteAddressText(internal: "internal" | "private"): WriteAddressText {
  const starts = enrichedObjects.map(fieldStarts);
  let target: DataView = new DataView(new ArrayBuffer(0));
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

  const put = (from: DataView, start: number, to: number): void => {
    const after = end + to - start;
    if (after > limit) {
      text.isCut = true;
      return;
    }
    copyBytes(from, start, to, target, end);
    end = after;
  };
  const putByte = (byte: number): void => {
    if (end < limit) target.setUint8(end++, byte);
    else text.isCut = true;
  };
  const putAll = ({ view, length }: Piece): void => put(view, 0, length);

  const putPairs = (entries: FoldedEntries, from: DataView, position: number, isOpen: boolean): void => {
    for (let i = 0; i < entries.pairs; i++) {
      if (entries.isOpen[i] !== isOpen) continue;
      putAll((entries.keys[i] as MetadataKey).starts[position] as Piece);
      put(from, entries.valueStarts[i] as number, entries.valueEnds[i] as number);
    }
  };

  const putTags = ({ tags, tagStarts, tagEnds }: FoldedEntries, from: DataView): void => {
    for (let i = 0; i < tags; i++) {
      putByte(i === 0 ? opened : comma);
      put(from, tagStarts[i] as number, tagEnds[i] as number);
    }
    putByte(closed);
  };

  const putEntries = (entries: FoldedEntries, from: DataView, start: FieldStarts): void => {
    const { nameStart, nameEnd, vlanEnd, isInternal, tags, pairs } = entries;
    text.hasMetadata = nameEnd > 0 || vlanEnd > 0 || isInternal || tags > 0 || pairs > 0;
    if (nameEnd > 0) {
      putAll(start.name);
      put(from, nameStart, nameEnd);
    }
    if (tags > 0) {
      putAll(start.tags);
      putTags(entries, from);
    }
    if (isInternal) putAll(start.internal);
  };

  /** @returns the facts with the autonomous system: the first that have one. */
  const putFacts = (facts: FactList, position: number): RenderedFacts | undefined => {
    let system: RenderedFacts | undefined;
    for (let i = 0; i < facts.count; i++) {
      const rendered = facts.render(i, position);
      put(rendered.from, rendered.start, rendered.fieldsEnd);
      if (rendered.end > rendered.fieldsEnd) system ??= rendered;
    }
    return system;
  };

  return (position, { entries, entryTexts, facts, scope }, into, at, room) => {
    target = into;
    end = at;
    limit = at + room;
    text.isCut = false;
    text.locality = 0;
    text.hasMetadata = false;
    const start = starts[position] as FieldStarts;
    if (entries !== undefined) putEntries(entries, entryTexts, start);
    const system = putFacts(facts, position);
    text.system = system?.system ?? 0;
    if (scope !== undefined) {
      const locality = localityOf(scope, entries?.isInternal === true ? internal : undefined);
      text.locality = localities.indexOf(locality);
      putAll(start.localities[text.locality] as Piece);
    }
    if (entries !== undefined && entries.pairs > 0) putPairs(entries, entryTexts, position, false);
    const fieldsEnd = end;
    if (entries !== undefined && entries.vlanEnd > 0) {
      putAll(start.vlan);
      put(entryTexts, entries.vlanStart, entries.vlanEnd);
    }
    const vlanEnd = end;
    if (system !== undefined) put(system.from, system.fieldsEnd, system.numberEnd);
    const numberEnd = end;
    if (system !== undefined) put(system.from, system.numberEnd, system.end);
    const organisationEnd = end;
    if (entries?.hasOpen === true) putPairs(entries, entryTexts, position, true);
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
  readonly name: Piece;
  readonly tags: Piece;
  readonly internal: Piece;
  readonly vlan: Piece;
  /** Whole fields, by the position in {@link localities}. */
  readonly localities: readonly Piece[];
}

function fieldStarts({ name, vlanName }: EnrichedObject): FieldStarts {
  return {
    name: fieldStart(`${name}.ip.subnet.name`),
    tags: fieldStart(`${name}.ip.subnet.tags`),
    internal: createPiece(renderFields([[`${name}.isInternal`, true]])),
    vlan: fieldStart(vlanName),
    localities: localities.map((locality) =>
      createPiece(locality === undefined ? new Uint8Array() : renderFields([[`${name}.locality`, locality]])),
    ),
  };
}
