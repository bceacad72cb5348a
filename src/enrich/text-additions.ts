import type { EntryTexts } from "../udm/index.ts";
import { enrichedObjects } from "./enriched-object.ts";
import { localityOf } from "./locality.ts";
import type { AddressScope } from "./address-scope.ts";
import { maxText, type MadeAdditions } from "./stored-additions.ts";
import { createTextNames, knownStarts } from "./text-names.ts";

/**
 * Makes what metadata adds from the texts of entries, byte by byte: what {@link makeAdditions} makes of the same entries where
 * that is plain, a small part of its cost. Values go out as JSON has them, because that is how they were put in.
 *
 * @returns undefined when it is not plain, or too much.
 */
export type MakeFromTexts = (
  object: number,
  texts: EntryTexts,
  scope: AddressScope | undefined,
) => MadeAdditions | undefined;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const opened = 0x5b;
const closed = 0x5d;
const braceClosed = 0x7d;
/** The first letters of the names in an entry's text are enough to tell them apart: name, tags, vlan, internal, metadata. */
const [letterOfName, letterOfTags, letterOfVlan, letterOfInternal] = [0x6e, 0x74, 0x76, 0x69];
const keyStart = '{"key":'.length;
const [nameHead, tagsHead, vlanHead] = [',"name":'.length, ',"tags":'.length, ',"vlan":'.length];
const internalHead = ',"internal":true'.length;
const metadataHead = ',"metadata":'.length;
const mostParts = 64;

export function createTextAdditions(): MakeFromTexts {
  const names = createTextNames();
  const starts = enrichedObjects.map(knownStarts);
  const scratch = new Uint8Array(maxText);
  const tagStarts = Array<number>(mostParts).fill(0);
  const tagEnds = Array<number>(mostParts).fill(0);
  const keys = Array<number>(mostParts).fill(0);
  const valueStarts = Array<number>(mostParts).fill(0);
  const valueEnds = Array<number>(mostParts).fill(0);
  let bytes: Uint8Array = scratch;
  let end = 0;
  let tags = 0;
  let pairs = 0;
  let isPlain = true;

  const put = (from: Uint8Array, start: number, to: number): void => {
    if (end + to - start > maxText) {
      isPlain = false;
      return;
    }
    for (let at = start; at < to; at++) scratch[end++] = from[at] as number;
  };
  const putAll = (from: Uint8Array): void => put(from, 0, from.length);

  /** Where the string ends that begins at a quote. */
  const stringEnd = (start: number): number => {
    let at = start + 1;
    for (; bytes[at] !== quote; at++) if (bytes[at] === backslash) at++;
    return at + 1;
  };

  const isSame = (a: number, b: number, length: number): boolean => {
    for (let i = 0; i < length; i++) if (bytes[a + i] !== bytes[b + i]) return false;
    return true;
  };

  /** Takes the tags that are not there yet. @returns where the list ends. */
  const takeTags = (start: number): number => {
    let at = start;
    while (bytes[at] !== closed) {
      const from = at + 1;
      at = stringEnd(from);
      let known = 0;
      for (; known < tags; known++) {
        const tag = tagStarts[known] as number;
        if ((tagEnds[known] as number) - tag === at - from && isSame(tag, from, at - from)) break;
      }
      if (known < tags) continue;
      if (tags === mostParts) {
        isPlain = false;
        continue;
      }
      tagStarts[tags] = from;
      tagEnds[tags++] = at;
    }
    return at + 1;
  };

  /** Takes the pairs whose keys are not there yet, in the order of the keys. @returns where the object ends. */
  const takePairs = (start: number): number => {
    let at = start;
    while (bytes[at] !== braceClosed) {
      const keyEnd = stringEnd(at + 1);
      const key = names.find(bytes, at + 2, keyEnd - 1);
      const value = keyEnd + 1;
      at = stringEnd(value);
      if (key < 0 || pairs === mostParts) {
        isPlain = false;
        continue;
      }
      const rank = names.rank(key);
      let to = pairs;
      while (to > 0 && names.rank(keys[to - 1] as number) > rank) to--;
      if (to > 0 && keys[to - 1] === key) continue;
      for (let i = 0; i < pairs; i++) if (names.isInTheWay(key, keys[i] as number)) isPlain = false;
      for (let i = pairs++; i > to; i--) {
        keys[i] = keys[i - 1] as number;
        valueStarts[i] = valueStarts[i - 1] as number;
        valueEnds[i] = valueEnds[i - 1] as number;
      }
      keys[to] = key;
      valueStarts[to] = value;
      valueEnds[to] = at;
    }
    return at + 1;
  };

  return (object, texts, scope) => {
    ({ bytes } = texts);
    end = 0;
    tags = 0;
    pairs = 0;
    isPlain = true;
    let nameStart = 0;
    let nameEnd = 0;
    let vlanStart = 0;
    let vlanEnd = 0;
    let isInternal = false;
    for (let i = 0; i < texts.count; i++) {
      const last = (texts.ends[i] as number) - 1;
      let at = stringEnd((texts.starts[i] as number) + keyStart);
      while (at < last) {
        const letter = bytes[at + 2];
        if (letter === letterOfName) {
          const start = at + nameHead;
          at = stringEnd(start);
          if (nameEnd === 0) [nameStart, nameEnd] = [start, at];
        } else if (letter === letterOfTags) {
          at = takeTags(at + tagsHead);
        } else if (letter === letterOfVlan) {
          const start = at + vlanHead;
          at = stringEnd(start);
          if (vlanEnd === 0) [vlanStart, vlanEnd] = [start + 1, at - 1];
        } else if (letter === letterOfInternal) {
          at += internalHead;
          isInternal = true;
        } else {
          at = takePairs(at + metadataHead);
        }
      }
    }
    if (!isPlain) return undefined;
    const fields = starts[object] as (typeof starts)[number];
    if (nameEnd > 0) {
      putAll(fields.name);
      put(bytes, nameStart, nameEnd);
    }
    if (tags > 0) {
      putAll(fields.tags);
      for (let i = 0; i < tags; i++) {
        scratch[end++] = i === 0 ? opened : comma;
        put(bytes, tagStarts[i] as number, tagEnds[i] as number);
      }
      scratch[end++] = closed;
    }
    if (isInternal) putAll(fields.internal);
    const hasMetadata = nameEnd > 0 || tags > 0 || isInternal || pairs > 0 || vlanEnd > 0;
    const locality = scope && localityOf(scope, isInternal);
    if (locality !== undefined) {
      putAll(fields.locality);
      putAll(localityTexts[locality]);
    }
    for (let i = 0; i < pairs; i++) {
      putAll(names.field(object, keys[i] as number));
      put(bytes, valueStarts[i] as number, valueEnds[i] as number);
    }
    const withoutVlan = end;
    if (vlanEnd > 0) {
      putAll(fields.vlan);
      put(bytes, vlanStart, vlanEnd);
    }
    if (!isPlain || end > maxText) return undefined;
    const rendered =
      end === 0 ? null : { withoutVlan: scratch.subarray(0, withoutVlan), withVlan: scratch.subarray(0, end) };
    return { rendered, hasMetadata, locality, validMs: Number.POSITIVE_INFINITY };
  };
}

const localityTexts = {
  internal: Buffer.from('"internal"'),
  private: Buffer.from('"private"'),
  public: Buffer.from('"public"'),
  multicast: Buffer.from('"multicast"'),
} as const;
