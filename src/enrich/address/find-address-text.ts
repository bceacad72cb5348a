import type { AddressIndex, CoveringEntryTexts } from "../../udm/index.ts";
import type { AddressFacts, AddressSource } from "./address-source.ts";
import { endpointObjects } from "./address-source.ts";
import { addressScope, type AddressScope } from "./address-scope.ts";
import { createWriteAddressText, lengthOf, type AddressText, type KnownOfAddress } from "./address-text.ts";
import { enrichedObjects, type EnrichedObject } from "./enriched-object.ts";
import { createFoldEntries, type FoldedEntries } from "./fold-entries.ts";
import { createMetadataKeys } from "./metadata-keys.ts";
import { maxTextLength, notKept, type TextStore } from "./text-store.ts";

export interface FindAddressTextOptions {
  /** The metadata of now; undefined before there is any. */
  readonly index: () => AddressIndex | undefined;
  readonly sources: readonly AddressSource[];
  /** Whether the ends of flows get their locality. */
  readonly locality: boolean;
  readonly bytes: Uint8Array;
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
  const { index, sources, locality, bytes, store } = options;
  const fold = createFoldEntries(createMetadataKeys());
  const write = createWriteAddressText();
  const key: number[] = [];
  const noKey: readonly number[] = [];
  const sourcesOf = enrichedObjects.map(({ name }) => sources.filter(({ objects }) => objects.has(name)));
  const hasScope = enrichedObjects.map(({ name }) => locality && endpointObjects.has(name));
  /** The memory in which the entries of keys lie: what they mean changes with it. */
  let memory: Uint8Array | undefined;
  let memories = 0;

  let position = 0;
  const facts: AddressFacts[] = [];
  /** Which source each is of. */
  const factSources: number[] = [];
  const known: { -readonly [Name in keyof KnownOfAddress]: KnownOfAddress[Name] } = {
    entries: undefined,
    facts,
    scope: undefined,
  };
  let scratch = new Uint8Array(firstScratch);
  const found = { start: 0, lengths: 0, validMs: 0 };

  /** What is known of the address beyond the metadata. */
  const ask = (a: number, b: number, c: number, d: number): void => {
    found.validMs = Number.POSITIVE_INFINITY;
    facts.length = 0;
    factSources.length = 0;
    const asked = sourcesOf[position] as AddressSource[];
    for (let i = 0; i < asked.length; i++) {
      const source = asked[i] as AddressSource;
      found.validMs = Math.min(found.validMs, source.find(a, b, c, d, facts));
      while (factSources.length < facts.length) factSources.push(i);
    }
    known.scope = hasScope[position] === true ? addressScope(a, b, c, d) : undefined;
  };

  /** Writes the key of all that the text follows from, where other addresses may have the same. @returns whether it did. */
  const setKey = (texts: CoveringEntryTexts): boolean => {
    key.length = 0;
    if (texts.isOfOneAddress || texts.count > maxShared) return false;
    if (texts.bytes !== memory) {
      memory = texts.bytes;
      memories++;
    }
    key.push(position | (scopes.indexOf(known.scope) << 2) | (texts.count << 4), memories);
    for (let i = 0; i < 2 * texts.count; i++) key.push(texts.ids[i] as number);
    for (let i = 0; i < facts.length; i++) {
      const one = facts[i] as AddressFacts;
      if (one.shared === undefined) {
        key.length = 0;
        return false;
      }
      key.push(factSources[i] as number, one.shared.number);
    }
    return true;
  };

  const foldOf = (texts: CoveringEntryTexts): FoldedEntries | undefined =>
    texts.count === 0 ? undefined : fold(texts, (enrichedObjects[position] as EnrichedObject).contextBit);

  const useTexts = (texts: CoveringEntryTexts): void => {
    found.start = 0;
    found.lengths = 0;
    if (texts.count === 0 && facts.length === 0 && known.scope === undefined) return;
    const isShared = setKey(texts);
    if (isShared) {
      found.start = store.find(key);
      if (found.start !== 0) {
        found.lengths = store.lengths(found.start);
        return;
      }
    }
    known.entries = foldOf(texts);
    const used = isShared ? key : noKey;
    const text = write(position, known, bytes, store.begin(used), maxTextLength);
    found.start = text.isCut ? 0 : store.keep(used, text);
    found.lengths = found.start === 0 ? notKept : store.lengths(found.start);
  };

  const useAll = (texts: CoveringEntryTexts): { bytes: Uint8Array; text: AddressText } => {
    known.entries = foldOf(texts);
    for (;;) {
      const text = write(position, known, scratch, 0, scratch.length);
      if (!text.isCut) return { bytes: scratch.slice(0, lengthOf(text)), text: { ...text } };
      scratch = new Uint8Array(2 * scratch.length);
    }
  };

  const withTexts = <T>(a: number, b: number, c: number, d: number, use: (texts: CoveringEntryTexts) => T): T => {
    ask(a, b, c, d);
    const current = index();
    return current === undefined ? use(nothing) : current.texts(a, b, c, d, use);
  };

  return {
    get start() {
      return found.start;
    },
    get lengths() {
      return found.lengths;
    },
    get validMs() {
      return found.validMs;
    },
    find(object, a, b, c, d) {
      position = object;
      withTexts(a, b, c, d, useTexts);
    },
    make(object, a, b, c, d) {
      position = object;
      return withTexts(a, b, c, d, useAll);
    },
  };
}
