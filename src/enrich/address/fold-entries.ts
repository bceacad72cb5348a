import type { CoveringEntryTexts } from "../../udm/index.ts";
import { isInTheWay, type MetadataKey, type MetadataKeys } from "./metadata-keys.ts";

/**
 * What all entries that cover an address say of it together, as places in their texts: values go out as JSON has them,
 * because that is how they were put in. A place that ends at 0 is not there.
 */
export interface FoldedEntries {
  /** Where the places lie. */
  readonly bytes: Uint8Array;
  readonly nameStart: number;
  readonly nameEnd: number;
  /** Digits. */
  readonly vlanStart: number;
  readonly vlanEnd: number;
  readonly isInternal: boolean;
  readonly tags: number;
  readonly tagStarts: readonly number[];
  readonly tagEnds: readonly number[];
  /** In the order of the keys' texts. */
  readonly pairs: number;
  readonly keys: readonly MetadataKey[];
  readonly valueStarts: readonly number[];
  readonly valueEnds: readonly number[];
  /** Whether a pair may meet other names: of the record, or of another pair. */
  readonly isOpen: readonly boolean[];
  readonly hasOpen: boolean;
}

/**
 * Folds entries, the most specific first. Of each field and each metadata key the first entry that sets it counts; a metadata
 * key with an empty value is set. Tags are united in the order of the entries, each once. An address is internal when any entry
 * says so.
 *
 * @param contextBit of {@link CoveringEntryTexts.contexts}: entries without it are left out.
 * @returns what may be read until the next call.
 */
export type FoldEntries = (texts: CoveringEntryTexts, contextBit: number) => FoldedEntries;

const quote = 0x22;
const backslash = 0x5c;
const closed = 0x5d;
const braceClosed = 0x7d;
/** The first letters of the names in an entry's text are enough to tell them apart: name, tags, vlan, internal, metadata. */
const [letterOfName, letterOfTags, letterOfVlan, letterOfInternal] = [0x6e, 0x74, 0x76, 0x69];
const keyStart = '{"key":'.length;
const [nameHead, tagsHead, vlanHead] = [',"name":'.length, ',"tags":'.length, ',"vlan":'.length];
const internalHead = ',"internal":true'.length;
const metadataHead = ',"metadata":'.length;

export function createFoldEntries(known: MetadataKeys): FoldEntries {
  const tagStarts: number[] = [];
  const tagEnds: number[] = [];
  const keys: MetadataKey[] = [];
  const valueStarts: number[] = [];
  const valueEnds: number[] = [];
  const isOpen: boolean[] = [];
  let bytes: Uint8Array = new Uint8Array();
  const folded = {
    bytes,
    nameStart: 0,
    nameEnd: 0,
    vlanStart: 0,
    vlanEnd: 0,
    isInternal: false,
    tags: 0,
    tagStarts,
    tagEnds,
    pairs: 0,
    keys,
    valueStarts,
    valueEnds,
    isOpen,
    hasOpen: false,
  };

  /** Where the string ends that begins at a quote. */
  const stringEnd = (start: number): number => {
    let at = start + 1;
    for (let byte = bytes[at]; byte !== quote; byte = bytes[++at]) if (byte === backslash) at++;
    return at + 1;
  };

  const isSame = (a: number, b: number, length: number): boolean => {
    for (let i = 0; i < length; i++) if (bytes[a + i] !== bytes[b + i]) return false;
    return true;
  };

  const hasTag = (start: number, length: number): boolean => {
    for (let i = 0; i < folded.tags; i++) {
      const tag = tagStarts[i] as number;
      if ((tagEnds[i] as number) - tag === length && isSame(tag, start, length)) return true;
    }
    return false;
  };

  /** Takes the tags that are not there yet. @returns where the list ends. */
  const takeTags = (start: number): number => {
    let at = start;
    while (bytes[at] !== closed) {
      const from = at + 1;
      at = stringEnd(from);
      if (hasTag(from, at - from)) continue;
      tagStarts[folded.tags] = from;
      tagEnds[folded.tags++] = at;
    }
    return at + 1;
  };

  const hasKey = (key: MetadataKey): boolean => {
    for (let i = 0; i < folded.pairs; i++) if (keys[i] === key) return true;
    return false;
  };

  const putPair = (key: MetadataKey, start: number, end: number): void => {
    let isMet = key.isOpen;
    for (let i = 0; i < folded.pairs; i++) {
      const other = keys[i] as MetadataKey;
      if (!key.isDeep && !other.isDeep) continue;
      if (!isInTheWay(key, other)) continue;
      isMet = true;
      isOpen[i] = true;
    }
    let to = folded.pairs++;
    for (; to > 0 && (keys[to - 1] as MetadataKey).text > key.text; to--) {
      keys[to] = keys[to - 1] as MetadataKey;
      valueStarts[to] = valueStarts[to - 1] as number;
      valueEnds[to] = valueEnds[to - 1] as number;
      isOpen[to] = isOpen[to - 1] as boolean;
    }
    keys[to] = key;
    valueStarts[to] = start;
    valueEnds[to] = end;
    isOpen[to] = isMet;
    if (isMet) folded.hasOpen = true;
  };

  /** Takes the pairs whose keys are not there yet. @returns where the object ends. */
  const takePairs = (start: number): number => {
    let at = start;
    while (bytes[at] !== braceClosed) {
      const keyEnd = stringEnd(at + 1);
      const key = known.find(bytes, at + 2, keyEnd - 1);
      const value = keyEnd + 1;
      at = stringEnd(value);
      if (!hasKey(key)) putPair(key, value, at);
    }
    return at + 1;
  };

  const take = (start: number, end: number): void => {
    const last = end - 1;
    let at = stringEnd(start + keyStart);
    while (at < last) {
      const letter = bytes[at + 2];
      if (letter === letterOfName) {
        const from = at + nameHead;
        at = stringEnd(from);
        if (folded.nameEnd !== 0) continue;
        folded.nameStart = from;
        folded.nameEnd = at;
      } else if (letter === letterOfTags) {
        at = takeTags(at + tagsHead);
      } else if (letter === letterOfVlan) {
        const from = at + vlanHead;
        at = stringEnd(from);
        if (folded.vlanEnd !== 0) continue;
        folded.vlanStart = from + 1;
        folded.vlanEnd = at - 1;
      } else if (letter === letterOfInternal) {
        at += internalHead;
        folded.isInternal = true;
      } else {
        at = takePairs(at + metadataHead);
      }
    }
  };

  return (texts, contextBit) => {
    known.limit();
    ({ bytes } = texts);
    folded.bytes = bytes;
    folded.nameEnd = 0;
    folded.vlanEnd = 0;
    folded.isInternal = false;
    folded.tags = 0;
    folded.pairs = 0;
    folded.hasOpen = false;
    for (let i = 0; i < texts.count; i++) {
      if (((texts.contexts[i] as number) & contextBit) === 0) continue;
      take(texts.starts[i] as number, texts.ends[i] as number);
    }
    return folded;
  };
}
