import { addressLayout } from "../../record/index.ts";
import type { AddressIndex, CoveringEntryTexts } from "../../metadata/index.ts";
import { endpointObjects, type AddressSource } from "./address-source.ts";
import type { ScopeChooser } from "./choose-scope.ts";
import { addressScope, type AddressScope, AddressList } from "./address-limbs.ts";
import { FragmentWriter, lengthOf, type Fragment, FactList } from "./address-fragment.ts";
import { enrichedObjects, type EnrichedObject } from "./enriched-object.ts";
import { EntryMerger, type MergedEntries } from "./merge-entries.ts";
import { FragmentKey, maxKeyWords, maxFragment, notKept, type FragmentStore } from "./fragment-store.ts";

/** The sources of facts about addresses. */
export interface AddressKnowledge {
  /** Returns the current metadata; undefined before there is any. */
  readonly index: () => AddressIndex | undefined;
  readonly sources: readonly AddressSource[];
  /** Returns the current scopes of the metadata. */
  readonly scopes: () => ScopeChooser;
  /** True if flows and their ends get a locality. */
  readonly locality: boolean;
  /** The name of the locality of internal addresses. */
  readonly internal: "internal" | "private";
}

/** Holds the facts about an address except the metadata, and the key of its fragment. */
class Part {
  readonly key = new FragmentKey();
  readonly facts = new FactList();
  /** Undefined if localities are off. */
  scope: AddressScope | undefined;
  validMs = 0;
}

const { objectBits, objectMask } = addressLayout;
/** The most entries for a shared fragment. An address with more entries has a fragment of its own. */
const maxShared = 32;
const nothing: CoveringEntryTexts = {
  bytes: new Uint8Array(),
  starts: [],
  ends: [],
  ids: [],
  contexts: [],
  count: 0,
  isOfOneAddress: false,
};
const readNothing = (): CoveringEntryTexts => nothing;
const scopes: readonly (AddressScope | undefined)[] = [undefined, "private", "public", "multicast"];
const firstScratch = 65_536;

/** Finds the facts that addresses add, in all places that know them. */
export class FragmentFinder {
  /** The offset in the young arena of the fragment found last, and its lengths in the form of a slot. */
  start = 0;
  lengths = 0;
  /** The most milliseconds for which the fragment may be used. */
  validMs = Number.POSITIVE_INFINITY;

  readonly #index: AddressKnowledge["index"];
  readonly #scopes: AddressKnowledge["scopes"];
  readonly #sources: readonly (readonly AddressSource[])[];
  readonly #hasScope: readonly boolean[];
  readonly #view: DataView;
  readonly #store: FragmentStore;
  readonly #merger = new EntryMerger();
  readonly #writer: FragmentWriter;
  /** The memory with the entries of keys, and the scopes by number. If either changes, keys mean something else. */
  #memory = nothing.bytes;
  #scopesSerial = 0;
  #memories = 0;
  readonly #parts = Array.from({ length: addressLayout.maxListed }, () => new Part());
  readonly #keys = this.#parts.map(({ key }) => key);
  readonly #alone = new AddressList(1);
  // The state of the current search. Fields are used because a closure for each address would cost too much.
  #listed = this.#alone;
  #readTexts: (i: number) => CoveringEntryTexts = readNothing;
  #useFound: (find: (i: number) => void) => void = () => {};
  #scratch = new DataView(new ArrayBuffer(firstScratch));

  /** @param view the memory that contains the store. */
  constructor(known: AddressKnowledge, view: DataView, store: FragmentStore) {
    const { index, sources, locality, internal } = known;
    this.#index = index;
    this.#scopes = known.scopes;
    this.#sources = enrichedObjects.map(({ name }) => sources.filter(({ objects }) => objects.has(name)));
    this.#hasScope = enrichedObjects.map(({ name }) => locality && endpointObjects.has(name));
    this.#view = view;
    this.#store = store;
    this.#writer = new FragmentWriter(internal);
  }

  /**
   * Finds the facts of at most {@link addressLayout.maxListed} addresses, so that their waits for memory overlap.
   *
   * @param use gets a function that puts the fragment of the address at a position into the store. The young arena must have room for
   *   it.
   */
  findAll(list: AddressList, use: (find: (i: number) => void) => void): void {
    this.#listed = list;
    this.#useFound = use;
    this.#withTexts(list, this.#findListed);
  }

  /** Makes a fragment that is too long for the store. */
  make(
    place: number,
    a: number,
    b: number,
    c: number,
    d: number,
  ): { readonly bytes: Uint8Array; readonly fragment: Fragment } {
    this.#alone.count = 0;
    this.#alone.add(place, a, b, c, d);
    const position = place & objectMask;
    const within = this.#nameOf(place);
    return this.#withTexts(this.#alone, (read) => {
      const { facts, scope } = this.#parts[0] as Part;
      const entries = this.#mergeTexts(read(0), position);
      for (;;) {
        const scratch = this.#scratch;
        const fragment = this.#writer.write(position, within, entries, facts, scope, scratch, 0, scratch.byteLength);
        if (!fragment.isCut) {
          return { bytes: new Uint8Array(scratch.buffer.slice(0, lengthOf(fragment))), fragment: { ...fragment } };
        }
        this.#scratch = new DataView(new ArrayBuffer(2 * scratch.byteLength));
      }
    });
  }

  #withTexts<T>(list: AddressList, use: (read: (i: number) => CoveringEntryTexts) => T): T {
    for (let i = 0; i < list.count; i++) this.#ask(this.#parts[i] as Part, list, i);
    const index = this.#index();
    if (index === undefined) return use(readNothing);
    return index.texts(list.words, list.count, use, list.hasScopes ? list.scopes : undefined);
  }

  #ask(part: Part, { places, words }: AddressList, i: number): void {
    const object = (places[i] as number) & objectMask;
    const a = words[4 * i] as number;
    const b = words[4 * i + 1] as number;
    const c = words[4 * i + 2] as number;
    const d = words[4 * i + 3] as number;
    part.validMs = Number.POSITIVE_INFINITY;
    const { facts } = part;
    facts.clear();
    const asked = this.#sources[object] as readonly AddressSource[];
    for (let s = 0; s < asked.length; s++) {
      facts.setSource(s);
      part.validMs = Math.min(part.validMs, (asked[s] as AddressSource).find(a, b, c, d, facts));
    }
    part.scope = this.#hasScope[object] === true ? addressScope(a, b, c, d) : undefined;
  }

  readonly #findListed = (read: (i: number) => CoveringEntryTexts): void => {
    const list = this.#listed;
    this.#readTexts = read;
    const serial = this.#scopes().serial();
    if (serial !== this.#scopesSerial) {
      this.#scopesSerial = serial;
      this.#memories++;
    }
    for (let i = 0; i < list.count; i++) {
      const texts = read(i);
      if (texts.count > 0 && texts.bytes !== this.#memory) {
        this.#memory = texts.bytes;
        this.#memories++;
      }
      this.#setKey(this.#parts[i] as Part, list.places[i] as number, texts);
    }
    if (list.count > 1) this.#store.readAhead(this.#keys, list.count);
    this.#useFound(this.#findAt);
  };

  /** Writes the key of all that determines the fragment; an empty key if no other address can have the same fragment. */
  #setKey({ key, facts, scope }: Part, place: number, texts: CoveringEntryTexts): void {
    key.clear();
    if (texts.isOfOneAddress || texts.count > maxShared) return;
    key.put((place & objectMask) | (scopes.indexOf(scope) << 2) | (texts.count << 4) | ((place >>> objectBits) << 10));
    key.put(this.#memories);
    for (let i = 0; i < 2 * texts.count; i++) key.put(texts.ids[i] as number);
    if (!facts.putKey(key) || key.length > maxKeyWords) key.clear();
  }

  readonly #findAt = (i: number): void => {
    const { key, facts, scope, validMs } = this.#parts[i] as Part;
    const texts = this.#readTexts(i);
    const store = this.#store;
    this.validMs = validMs;
    this.start = key.length === 0 ? 0 : store.find(key);
    this.lengths = this.start === 0 ? 0 : store.lengths(this.start);
    if (this.start !== 0) return;
    const place = this.#listed.places[i] as number;
    const within = this.#nameOf(place);
    if (texts.count === 0 && facts.count === 0 && scope === undefined && within === undefined) return;
    const position = place & objectMask;
    const entries = this.#mergeTexts(texts, position);
    const fragment = this.#writer.write(
      position,
      within,
      entries,
      facts,
      scope,
      this.#view,
      store.begin(key),
      maxFragment,
    );
    this.start = fragment.isCut ? 0 : store.keep(key, fragment);
    this.lengths = this.start === 0 ? notKept : store.lengths(this.start);
  };

  /** Returns the name of the scope of a place; undefined if it is in none. */
  #nameOf(place: number): string | undefined {
    return place <= objectMask ? undefined : this.#scopes().nameOf(place >>> objectBits);
  }

  #mergeTexts(texts: CoveringEntryTexts, position: number): MergedEntries | undefined {
    if (texts.count === 0) return undefined;
    return this.#merger.merge(texts, (enrichedObjects[position] as EnrichedObject).contextBit);
  }
}
