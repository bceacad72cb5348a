import type { CoveringEntryTexts } from "../../../metadata/index.ts";
import { createFold, type FoldedEntries } from "./fold.ts";
import type { MetadataKeys } from "./metadata-keys.ts";

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
/** The first letters of the names in an entry's text are enough to distinguish them: name, tags, vlan, internal, metadata. */
const [letterOfName, letterOfTags, letterOfVlan, letterOfInternal] = [0x6e, 0x74, 0x76, 0x69];
const keyStart = '{"key":'.length;
const [nameHead, tagsHead, vlanHead] = [',"name":'.length, ',"tags":'.length, ',"vlan":'.length];
const internalHead = ',"internal":true'.length;
const metadataHead = ',"metadata":'.length;

export function createFoldEntries(known: MetadataKeys): FoldEntries {
  const fold = createFold();
  let bytes: Uint8Array = new Uint8Array();

  /** Where the string ends that begins at a quote. */
  const stringEnd = (start: number): number => {
    // What a loop reads of a variable of the function around it, it reads each time.
    const from = bytes;
    let at = start + 1;
    for (let byte = from[at]; byte !== quote; byte = from[++at]) if (byte === backslash) at++;
    return at + 1;
  };

  /** @returns where the list ends. */
  const takeTags = (start: number): number => {
    let at = start;
    while (bytes[at] !== closed) {
      const from = at + 1;
      at = stringEnd(from);
      fold.putTag(bytes, from, at);
    }
    return at + 1;
  };

  /** @returns where the object ends. */
  const takePairs = (start: number): number => {
    let at = start;
    while (bytes[at] !== braceClosed) {
      const keyEnd = stringEnd(at + 1);
      const key = known.find(bytes, at + 2, keyEnd - 1);
      const value = keyEnd + 1;
      at = stringEnd(value);
      fold.putPair(key, value, at);
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
        fold.putName(from, at);
      } else if (letter === letterOfTags) {
        at = takeTags(at + tagsHead);
      } else if (letter === letterOfVlan) {
        const from = at + vlanHead;
        at = stringEnd(from);
        fold.putVlan(from + 1, at - 1);
      } else if (letter === letterOfInternal) {
        at += internalHead;
        fold.putInternal();
      } else {
        at = takePairs(at + metadataHead);
      }
    }
  };

  return (texts, contextBit) => {
    known.limit();
    ({ bytes } = texts);
    fold.clear();
    for (let i = 0; i < texts.count; i++) {
      if (((texts.contexts[i] as number) & contextBit) === 0) continue;
      take(texts.starts[i] as number, texts.ends[i] as number);
    }
    return fold;
  };
}
