import type { FactRenderer, FoundFacts, RenderedFacts } from "./address-source.ts";
import type { FragmentKey } from "./fragment-store.ts";
import { renderFields } from "../../record/index.ts";
import { type AddressScope, copyBytes, Literal } from "./address-limbs.ts";
import { enrichedObjects, localities, localityOf } from "./enriched-object.ts";
import { type MergedEntries, fieldStart, type MetadataKey } from "./merge-entries.ts";

/** The facts of all sources about the current address. The same list is filled again for each address. */
export class FactList implements FoundFacts {
  readonly #renderers: FactRenderer[] = [];
  readonly #facts: number[] = [];
  readonly #sources: number[] = [];
  #source = 0;
  count = 0;

  /** Clears the list for another address. */
  clear(): void {
    this.count = 0;
  }

  /** Sets the source of the facts that are added next. */
  setSource(source: number): void {
    this.#source = source;
  }

  add(renderer: FactRenderer, fact: number): void {
    const i = this.count++;
    this.#renderers[i] = renderer;
    this.#facts[i] = fact;
    this.#sources[i] = this.#source;
  }

  render(i: number, position: number): RenderedFacts {
    return (this.#renderers[i] as FactRenderer).render(this.#facts[i] as number, position);
  }

  /** Adds three numbers for each fact; equal numbers mean equal facts. @returns false if a fact belongs to one address only. */
  putKey(key: FragmentKey): boolean {
    for (let i = 0; i < this.count; i++) {
      const { generation } = this.#renderers[i] as FactRenderer;
      if (generation === undefined) return false;
      key.put(this.#sources[i] as number);
      key.put(generation);
      key.put(this.#facts[i] as number);
    }
    return true;
  }
}

/**
 * The fields that an address adds below an object, each with a comma before it. The parts follow one another: the fields, the VLAN, the
 * number of the autonomous system, its organisation, and open metadata, whose names may collide with others.
 *
 * The names are `<object>.scope`, `<object>.ip.subnet.name`, `.ip.subnet.tags`, `.isInternal` (only if true), those of facts,
 * `.locality`, `<object>.x` for a metadata key `.x`, `.vlan.tag.id`, `.as.asn`, `.as.org` with `.as.label`, and `x` for a metadata key
 * `x`.
 */
export interface Fragment {
  /** The lengths of the parts, in bytes. */
  readonly fields: number;
  readonly vlan: number;
  readonly number: number;
  readonly organisation: number;
  readonly open: number;
  /** The number of the autonomous system; 0 if there is none, or only a label. */
  readonly system: number;
  /** The position in {@link localities}. */
  readonly locality: number;
  /** True if any part is metadata. */
  readonly hasMetadata: boolean;
  /** True if the fragment did not fit; then nothing else counts. */
  readonly isCut: boolean;
}

const comma = 0x2c;
const opened = 0x5b;
const closed = 0x5d;

/** The starts of fields below each object, and whole fields by the position in {@link localities}. */
const starts = enrichedObjects.map(({ name, vlanName }) => ({
  name: fieldStart(`${name}.ip.subnet.name`),
  tags: fieldStart(`${name}.ip.subnet.tags`),
  internal: new Literal(renderFields([[`${name}.isInternal`, true]])),
  vlan: fieldStart(vlanName),
  scope: fieldStart(`${name}.scope`),
  localities: localities.map(
    (locality) =>
      new Literal(locality === undefined ? new Uint8Array() : renderFields([[`${name}.locality`, locality]])),
  ),
}));
type FieldStarts = (typeof starts)[number];

/** Writes the fields that an address adds to an object. */
export class FragmentWriter {
  readonly #internal: "internal" | "private";
  #isInScope = false;
  #target: DataView = new DataView(new ArrayBuffer(0));
  #end = 0;
  #limit = 0;
  readonly #fragment = {
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

  /** @param internal the name of the locality of internal addresses. */
  constructor(internal: "internal" | "private") {
    this.#internal = internal;
  }

  /**
   * @param within the name of the scope; undefined if it is in none.
   * @param entries undefined before there is any metadata.
   * @param scope undefined if localities are off.
   * @param room the bytes that may be written from `at` on.
   * @returns the fragment, valid until the next call.
   */
  write(
    position: number,
    within: string | undefined,
    entries: MergedEntries | undefined,
    facts: FactList,
    scope: AddressScope | undefined,
    into: DataView,
    at: number,
    room: number,
  ): Fragment {
    const fragment = this.#fragment;
    const start = starts[position] as FieldStarts;
    this.#target = into;
    this.#end = at;
    this.#limit = at + room;
    fragment.isCut = false;
    fragment.hasMetadata = false;
    this.#isInScope = within !== undefined;
    if (within !== undefined) {
      this.#putAll(start.scope);
      this.#putAll(new Literal(Buffer.from(`"${within}"`)));
    }
    if (entries !== undefined) this.#putEntries(entries, start);
    const system = this.#putFacts(facts, position);
    fragment.system = system?.system ?? 0;
    this.#putLocality(scope, entries, start);
    if (entries !== undefined && entries.pairs > 0) this.#putPairs(entries, position, false);
    const fieldsEnd = this.#end;
    if (entries !== undefined && entries.vlanEnd > 0) {
      this.#putAll(start.vlan);
      this.#put(entries.view, entries.vlanStart, entries.vlanEnd);
    }
    const vlanEnd = this.#end;
    if (system !== undefined) this.#put(system.from, system.fieldsEnd, system.numberEnd);
    const numberEnd = this.#end;
    if (system !== undefined) this.#put(system.from, system.numberEnd, system.end);
    const organisationEnd = this.#end;
    if (entries !== undefined && (entries.hasOpen || this.#isInScope)) this.#putPairs(entries, position, true);
    fragment.fields = fieldsEnd - at;
    fragment.vlan = vlanEnd - fieldsEnd;
    fragment.number = numberEnd - vlanEnd;
    fragment.organisation = organisationEnd - numberEnd;
    fragment.open = this.#end - organisationEnd;
    return fragment;
  }

  #putEntries(entries: MergedEntries, start: FieldStarts): void {
    const { nameStart, nameEnd, vlanEnd, isInternal, tags, pairs } = entries;
    this.#fragment.hasMetadata = nameEnd > 0 || vlanEnd > 0 || isInternal || tags > 0 || pairs > 0;
    if (nameEnd > 0) {
      this.#putAll(start.name);
      this.#put(entries.view, nameStart, nameEnd);
    }
    if (tags > 0) {
      this.#putAll(start.tags);
      this.#putTags(entries);
    }
    if (isInternal) this.#putAll(start.internal);
  }

  #putTags({ tags, tagStarts, tagEnds, view }: MergedEntries): void {
    for (let i = 0; i < tags; i++) {
      this.#putByte(i === 0 ? opened : comma);
      this.#put(view, tagStarts[i] as number, tagEnds[i] as number);
    }
    this.#putByte(closed);
  }

  #putPairs(entries: MergedEntries, position: number, isOpen: boolean): void {
    for (let i = 0; i < entries.pairs; i++) {
      const key = entries.keys[i] as MetadataKey;
      if ((entries.isOpen[i] === true || (key.isOfScope && this.#isInScope)) !== isOpen) continue;
      this.#putAll(key.starts[position] as Literal);
      this.#put(entries.view, entries.valueStarts[i] as number, entries.valueEnds[i] as number);
    }
  }

  /** @returns the first facts that have an autonomous system. */
  #putFacts(facts: FactList, position: number): RenderedFacts | undefined {
    let system: RenderedFacts | undefined;
    for (let i = 0; i < facts.count; i++) {
      const rendered = facts.render(i, position);
      this.#put(rendered.from, rendered.start, rendered.fieldsEnd);
      if (rendered.end > rendered.fieldsEnd) system ??= rendered;
    }
    return system;
  }

  #putLocality(scope: AddressScope | undefined, entries: MergedEntries | undefined, start: FieldStarts): void {
    this.#fragment.locality = 0;
    if (scope === undefined) return;
    const locality = localityOf(scope, entries?.isInternal === true ? this.#internal : undefined);
    this.#fragment.locality = localities.indexOf(locality);
    this.#putAll(start.localities[this.#fragment.locality] as Literal);
  }

  #put(from: DataView, start: number, to: number): void {
    const at = this.#end;
    const after = at + to - start;
    if (after > this.#limit) {
      this.#fragment.isCut = true;
      return;
    }
    copyBytes(from, start, to, this.#target, at);
    this.#end = after;
  }

  #putByte(byte: number): void {
    if (this.#end < this.#limit) this.#target.setUint8(this.#end++, byte);
    else this.#fragment.isCut = true;
  }

  #putAll({ view, length }: Literal): void {
    this.#put(view, 0, length);
  }
}

/** Returns the bytes of all parts. */
export function lengthOf({ fields, vlan, number, organisation, open }: Fragment): number {
  return fields + vlan + number + organisation + open;
}
