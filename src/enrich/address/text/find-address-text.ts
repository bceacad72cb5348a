import type { AddressIndex, CoveringEntryTexts } from "../../../udm/index.ts";
import { endpointObjects, type AddressSource } from "../sources/address-source.ts";
import { addressScope, type AddressScope } from "../words/address-scope.ts";
import { createWriteAddressText, lengthOf, type AddressText, type KnownOfAddress } from "./address-text.ts";
import { enrichedObjects, type EnrichedObject } from "../objects/enriched-object.ts";
import { createPiece } from "../words/copy-bytes.ts";
import { createFactList } from "./fact-list.ts";
import { createFoldEntries } from "../entries/fold-entries.ts";
import type { FoldedEntries } from "../entries/fold.ts";
import { createMetadataKeys } from "../entries/metadata-keys.ts";
import { createTextKey, maxKeyWords } from "./text-key.ts";
import { maxTextLength, notKept, type TextStore } from "./text-store.ts";

export interface FindAddressTextOptions {
  /** The metadata of now; undefined before there is any. */
  readonly index: () => AddressIndex | undefined;
  readonly sources: readonly AddressSource[];
  /** Whether the ends of flows get their locality. */
  readonly locality: boolean;
  /** The memory in which the store lies. */
  readonly view: DataView;
  readonly store: TextStore;
}

/** Looks up what addresses add, wherever it is to be known. */
export interface FindAddressText {
  /** Of the last call of `find`: where its text begins in the young arena, and its lengths as a slot has them. */
  readonly start: number;
  readonly lengths: number;
  /** For how many milliseconds it may be used at most. */
  readonly validMs: number;
  /** Puts the text of an address below an object into the store. There must be room in its young arena. */
  find(position: number, a: number, b: number, c: number, d: number): void;
  /** Makes a text that is too long for the store. */
  make(position: number, a: number, b: number, c: number, d: number): { bytes: Uint8Array; text: AddressText };
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
const scopes: readonly (AddressScope | undefined)[] = [undefined, "private", "public", "multicast"];
const firstScratch = 65_536;

export function createFindAddressText(options: FindAddressTextOptions): FindAddressText {
  const { index, sources, locality, view, store } = options;
  const fold = createFoldEntries(createMetadataKeys());
  const write = createWriteAddressText();
  const key = createTextKey();
  const sourcesOf = enrichedObjects.map(({ name }) => sources.filter(({ objects }) => objects.has(name)));
  const hasScope = enrichedObjects.map(({ name }) => locality && endpointObjects.has(name));
  /** The memory in which the entries of keys lie: what they mean changes with it. */
  let memory = nothing.bytes;
  let memories = 0;

  let position = 0;
  const facts = createFactList();
  const known: { -readonly [Name in keyof KnownOfAddress]: KnownOfAddress[Name] } = {
    entries: undefined,
    entryTexts: createPiece(nothing.bytes).view,
    facts,
    scope: undefined,
  };
  let scratch = new DataView(new ArrayBuffer(firstScratch));

  /** What is known of the address beyond the metadata. */
  const ask = (a: number, b: number, c: number, d: number): void => {
    finder.validMs = Number.POSITIVE_INFINITY;
    facts.clear();
    const asked = sourcesOf[position] as AddressSource[];
    for (let i = 0; i < asked.length; i++) {
      facts.setSource(i);
      finder.validMs = Math.min(finder.validMs, (asked[i] as AddressSource).find(a, b, c, d, facts));
    }
    known.scope = hasScope[position] === true ? addressScope(a, b, c, d) : undefined;
  };

  /** Writes the key of all that the text follows from, where other addresses may have the same. @returns whether it did. */
  const setKey = (texts: CoveringEntryTexts): boolean => {
    key.clear();
    if (texts.isOfOneAddress || texts.count > maxShared) return false;
    key.put(position | (scopes.indexOf(known.scope) << 2) | (texts.count << 4));
    key.put(memories);
    for (let i = 0; i < 2 * texts.count; i++) key.put(texts.ids[i] as number);
    if (facts.putKey(key) && key.length <= maxKeyWords) return true;
    key.clear();
    return false;
  };

  const useMemory = (texts: CoveringEntryTexts): void => {
    if (texts.count === 0 || texts.bytes === memory) return;
    memory = texts.bytes;
    memories++;
    known.entryTexts = createPiece(memory).view;
  };

  const foldOf = (texts: CoveringEntryTexts): FoldedEntries | undefined =>
    texts.count === 0 ? undefined : fold(texts, (enrichedObjects[position] as EnrichedObject).contextBit);

  const useTexts = (texts: CoveringEntryTexts): void => {
    finder.start = 0;
    finder.lengths = 0;
    if (texts.count === 0 && facts.count === 0 && known.scope === undefined) return;
    useMemory(texts);
    if (setKey(texts)) {
      finder.start = store.find(key);
      if (finder.start !== 0) {
        finder.lengths = store.lengths(finder.start);
        return;
      }
    }
    known.entries = foldOf(texts);
    const text = write(position, known, view, store.begin(key), maxTextLength);
    finder.start = text.isCut ? 0 : store.keep(key, text);
    finder.lengths = finder.start === 0 ? notKept : store.lengths(finder.start);
  };

  const useAll = (texts: CoveringEntryTexts): { bytes: Uint8Array; text: AddressText } => {
    useMemory(texts);
    known.entries = foldOf(texts);
    for (;;) {
      const text = write(position, known, scratch, 0, scratch.byteLength);
      if (!text.isCut) return { bytes: new Uint8Array(scratch.buffer.slice(0, lengthOf(text))), text: { ...text } };
      scratch = new DataView(new ArrayBuffer(2 * scratch.byteLength));
    }
  };

  const withTexts = <T>(a: number, b: number, c: number, d: number, use: (texts: CoveringEntryTexts) => T): T => {
    ask(a, b, c, d);
    const current = index();
    return current === undefined ? use(nothing) : current.texts(a, b, c, d, use);
  };

  const finder = {
    start: 0,
    lengths: 0,
    validMs: Number.POSITIVE_INFINITY,
    find(object: number, a: number, b: number, c: number, d: number) {
      position = object;
      withTexts(a, b, c, d, useTexts);
    },
    make(object: number, a: number, b: number, c: number, d: number) {
      position = object;
      return withTexts(a, b, c, d, useAll);
    },
  };
  return finder;
}
