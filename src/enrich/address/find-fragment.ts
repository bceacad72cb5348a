import { addressLayout } from "../../record/index.ts";
import type { AddressIndex, CoveringEntryTexts } from "../../metadata/index.ts";
import { endpointObjects, type AddressSource } from "./address-source.ts";
import { addressScope, type AddressScope, createAddressList, type AddressList, createPiece } from "./address-limbs.ts";
import {
  createWriteAddressText,
  lengthOf,
  type AddressText,
  type KnownOfAddress,
  createFactList,
  type FactList,
} from "./address-fragment.ts";
import { enrichedObjects, type EnrichedObject } from "./enriched-object.ts";
import { createFoldEntries, type FoldedEntries, createMetadataKeys } from "./merge-entries.ts";
import { createTextKey, maxKeyWords, type TextKey, maxTextLength, notKept, type TextStore } from "./fragment-store.ts";

export interface FindAddressTextOptions {
  /** The metadata of now; undefined before there is any. */
  readonly index: () => AddressIndex | undefined;
  readonly sources: readonly AddressSource[];
  /** Whether the ends of flows get their locality. */
  readonly locality: boolean;
  /** What the locality of internal addresses is called. */
  readonly internal: "internal" | "private";
  /** The memory in which the store lies. */
  readonly view: DataView;
  readonly store: TextStore;
}

/** Looks up what addresses add, wherever it is to be known. */
export interface FindAddressText {
  /** Of the address found last: where its text begins in the young arena, and its lengths as a slot has them. */
  readonly start: number;
  readonly lengths: number;
  /** For how many milliseconds it may be used at most. */
  readonly validMs: number;
  /**
   * Finds what addresses add, at most {@link addressLayout.maxListed}: what they wait for, they wait for together.
   *
   * @param use gets what puts the text of the address at a position into the store. There must be room in its young arena.
   */
  findAll(list: AddressList, use: (find: (i: number) => void) => void): void;
  /** Makes a text that is too long for the store. */
  make(position: number, a: number, b: number, c: number, d: number): { bytes: Uint8Array; text: AddressText };
}

/** What is known of an address beyond the metadata, and the key of its text. */
interface Part {
  readonly key: TextKey;
  readonly facts: FactList;
  /** Undefined where localities are not asked for. */
  scope: AddressScope | undefined;
  validMs: number;
}

/** More entries than this have a text of their own for each address. */
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

export function createFindAddressText(options: FindAddressTextOptions): FindAddressText {
  const { index, sources, locality, view, store } = options;
  const fold = createFoldEntries(createMetadataKeys());
  const write = createWriteAddressText(options.internal);
  const sourcesOf = enrichedObjects.map(({ name }) => sources.filter(({ objects }) => objects.has(name)));
  const hasScope = enrichedObjects.map(({ name }) => locality && endpointObjects.has(name));
  /** The memory in which the entries of keys lie: what they mean changes with it. */
  let memory = nothing.bytes;
  let memories = 0;

  let position = 0;
  const parts = Array.from({ length: addressLayout.maxListed }, (): Part => ({
    key: createTextKey(),
    facts: createFactList(),
    scope: undefined,
    validMs: 0,
  }));
  const keys = parts.map(({ key }) => key);
  const alone = createAddressList(1);
  // What is being found: functions that are made for each address cost more than it is worth.
  let listed = alone;
  let readTexts: (i: number) => CoveringEntryTexts = readNothing;
  let useFound: (find: (i: number) => void) => void = () => {};
  const known: { -readonly [Name in keyof KnownOfAddress]: KnownOfAddress[Name] } = {
    entries: undefined,
    entryTexts: createPiece(nothing.bytes).view,
    facts: (parts[0] as Part).facts,
    scope: undefined,
  };
  let scratch = new DataView(new ArrayBuffer(firstScratch));

  const ask = (part: Part, { objects, words }: AddressList, i: number): void => {
    const object = objects[i] as number;
    const a = words[4 * i] as number;
    const b = words[4 * i + 1] as number;
    const c = words[4 * i + 2] as number;
    const d = words[4 * i + 3] as number;
    part.validMs = Number.POSITIVE_INFINITY;
    const { facts } = part;
    facts.clear();
    const asked = sourcesOf[object] as AddressSource[];
    for (let s = 0; s < asked.length; s++) {
      facts.setSource(s);
      part.validMs = Math.min(part.validMs, (asked[s] as AddressSource).find(a, b, c, d, facts));
    }
    part.scope = hasScope[object] === true ? addressScope(a, b, c, d) : undefined;
  };

  /** Writes the key of all that the text follows from; an empty one where no other address has the same. */
  const setKey = ({ key, facts, scope }: Part, object: number, texts: CoveringEntryTexts): void => {
    key.clear();
    if (texts.isOfOneAddress || texts.count > maxShared) return;
    key.put(object | (scopes.indexOf(scope) << 2) | (texts.count << 4));
    key.put(memories);
    for (let i = 0; i < 2 * texts.count; i++) key.put(texts.ids[i] as number);
    if (!facts.putKey(key) || key.length > maxKeyWords) key.clear();
  };

  const useMemory = (texts: CoveringEntryTexts): void => {
    if (texts.count === 0 || texts.bytes === memory) return;
    memory = texts.bytes;
    memories++;
    known.entryTexts = createPiece(memory).view;
  };

  const foldOf = (texts: CoveringEntryTexts): FoldedEntries | undefined =>
    texts.count === 0 ? undefined : fold(texts, (enrichedObjects[position] as EnrichedObject).contextBit);

  const usePart = ({ facts, scope }: Part, object: number): void => {
    position = object;
    known.facts = facts;
    known.scope = scope;
  };

  const find = (part: Part, object: number, texts: CoveringEntryTexts): void => {
    const { key } = part;
    usePart(part, object);
    finder.validMs = part.validMs;
    finder.start = key.length === 0 ? 0 : store.find(key);
    finder.lengths = finder.start === 0 ? 0 : store.lengths(finder.start);
    if (finder.start !== 0) return;
    if (texts.count === 0 && known.facts.count === 0 && known.scope === undefined) return;
    known.entries = foldOf(texts);
    const text = write(position, known, view, store.begin(key), maxTextLength);
    finder.start = text.isCut ? 0 : store.keep(key, text);
    finder.lengths = finder.start === 0 ? notKept : store.lengths(finder.start);
  };

  const makeText = (texts: CoveringEntryTexts): { bytes: Uint8Array; text: AddressText } => {
    useMemory(texts);
    known.entries = foldOf(texts);
    for (;;) {
      const text = write(position, known, scratch, 0, scratch.byteLength);
      if (!text.isCut) return { bytes: new Uint8Array(scratch.buffer.slice(0, lengthOf(text))), text: { ...text } };
      scratch = new DataView(new ArrayBuffer(2 * scratch.byteLength));
    }
  };

  const findAt = (i: number): void => find(parts[i] as Part, listed.objects[i] as number, readTexts(i));

  const findListed = (read: (i: number) => CoveringEntryTexts): void => {
    readTexts = read;
    for (let i = 0; i < listed.count; i++) {
      const texts = read(i);
      useMemory(texts);
      setKey(parts[i] as Part, listed.objects[i] as number, texts);
    }
    if (listed.count > 1) store.readAhead(keys, listed.count);
    useFound(findAt);
  };

  const withTexts = <T>(list: AddressList, use: (read: (i: number) => CoveringEntryTexts) => T): T => {
    for (let i = 0; i < list.count; i++) ask(parts[i] as Part, list, i);
    const current = index();
    return current === undefined ? use(readNothing) : current.texts(list.words, list.count, use);
  };

  const finder = {
    start: 0,
    lengths: 0,
    validMs: Number.POSITIVE_INFINITY,
    findAll(list: AddressList, use: (find: (i: number) => void) => void) {
      listed = list;
      useFound = use;
      withTexts(list, findListed);
    },
    make(object: number, a: number, b: number, c: number, d: number) {
      alone.count = 0;
      alone.add(object, a, b, c, d);
      return withTexts(alone, (read) => {
        usePart(parts[0] as Part, object);
        return makeText(read(0));
      });
    },
  };
  return finder;
}
