import { decodedSegments, createFindConflict, fieldGroups, recordFields } from "../../record/index.ts";
import { createPiece, type Piece } from "./address-limbs.ts";
import { enrichedObjects } from "./enriched-object.ts";
import { quote } from "../../base/text/index.ts";
import type { CoveringEntryTexts } from "../../metadata/index.ts";

/** A metadata key, and how it goes out. */
export interface MetadataKey {
  readonly text: string;
  /** How the texts of keys below it begin. */
  readonly group: string;
  /** Of two keys the one with the lower number is before the other; where both have the same, their texts are to be compared. */
  readonly order: number;
  /** As JSON has it, without quotes. */
  readonly bytes: Uint8Array;
  /**
   * Whether its name may meet others of a record: it does not begin with a dot, so that it is a name of the record itself, or
   * decoders have names below its first segment.
   */
  readonly isOpen: boolean;
  /** Whether it has segments enough to lie below another key: `.site.name` below `.site`. */
  readonly isDeep: boolean;
  /** A comma, the name of the field, a colon, by the position of the object. */
  readonly starts: readonly Piece[];
}

/** Metadata keys that are met again and again, each as one object. */
interface MetadataKeys {
  /** The key whose bytes, as JSON has them without quotes, lie here. */
  find(bytes: Uint8Array, start: number, end: number): MetadataKey;
  /** To be called when no key that was found is in use: it may forget them. */
  limit(): void;
}

/** Keys come from the metadata, which may have as many as entries: beyond this many all are forgotten and made again. */
const maxKeys = 16_384;
const firstSlots = 1024;

export function createMetadataKeys(): MetadataKeys {
  let table = Array<MetadataKey | undefined>(firstSlots).fill(undefined);
  let count = 0;

  const slotOf = (bytes: Uint8Array, start: number, end: number): number => {
    const mask = table.length - 1;
    let hash = 0;
    for (let at = start; at < end; at++) hash = (Math.imul(hash, 31) + (bytes[at] as number)) | 0;
    let slot = (hash ^ (hash >>> 15)) & mask;
    for (;;) {
      const key = table[slot];
      if (key === undefined || isSameKey(key.bytes, bytes, start, end)) return slot;
      slot = (slot + 1) & mask;
    }
  };

  const grow = (): void => {
    const known = table;
    table = Array<MetadataKey | undefined>(2 * known.length).fill(undefined);
    for (const key of known) if (key !== undefined) table[slotOf(key.bytes, 0, key.bytes.length)] = key;
  };

  return {
    find(bytes, start, end) {
      const slot = slotOf(bytes, start, end);
      const known = table[slot];
      if (known !== undefined) return known;
      const key = metadataKey(Buffer.from(bytes.slice(start, end)));
      table[slot] = key;
      if (2 * ++count > table.length) grow();
      return key;
    },
    limit() {
      if (count < maxKeys) return;
      table = Array<MetadataKey | undefined>(firstSlots).fill(undefined);
      count = 0;
    },
  };
}

/** Whether one of two keys is a group that has the other: `.site` and `.site.name`. */
function isInTheWay(key: MetadataKey, other: MetadataKey): boolean {
  return isBelow(key, other) || isBelow(other, key);
}

/** The start of a field, as it stands in a line. */
export function fieldStart(name: string): Piece {
  return createPiece(Buffer.from(`,${JSON.stringify(name)}:`));
}

function metadataKey(bytes: Buffer): MetadataKey {
  const text = JSON.parse(`"${bytes.toString()}"`) as string;
  const segments = text.split(".");
  const isOwn = text.startsWith(".");
  return {
    text,
    group: `${text}.`,
    order: orderOf(text),
    bytes,
    isOpen: !isOwn || decodedSegments.has(segments[1] as string),
    isDeep: segments.length > 2,
    starts: enrichedObjects.map(({ name }) => fieldStart(isOwn ? name + text : text)),
  };
}

/** Its first three units; most keys begin with a dot. */
function orderOf(text: string): number {
  return [0, 1, 2].reduce((order, i) => order * 2 ** 16 + (text.charCodeAt(i) || 0), 0);
}

function isBelow(key: MetadataKey, above: MetadataKey): boolean {
  return key.isDeep && key.text.length >= above.group.length && key.text.startsWith(above.group);
}

function isSameKey(known: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (known.length !== end - start) return false;
  for (let i = 0; i < known.length; i++) if (known[i] !== bytes[start + i]) return false;
  return true;
}

/**
 * What entries say of an address together, as places in their texts: values go out as JSON has them, because that is how they were
 * put in. A place that ends at 0 is not there.
 */
export interface FoldedEntries {
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

/** Takes what entries say, the most specific first: what is there already stays. */
interface Fold extends FoldedEntries {
  clear(): void;
  putName(start: number, end: number): void;
  putVlan(start: number, end: number): void;
  putInternal(): void;
  /** @param bytes where the tag's JSON lies, and that of all others. */
  putTag(bytes: Uint8Array, start: number, end: number): void;
  putPair(key: MetadataKey, start: number, end: number): void;
}

function createFold(): Fold {
  const tagStarts: number[] = [];
  const tagEnds: number[] = [];
  const keys: MetadataKey[] = [];
  const valueStarts: number[] = [];
  const valueEnds: number[] = [];
  const isOpen: boolean[] = [];

  const hasTag = (bytes: Uint8Array, start: number, length: number): boolean => {
    for (let i = 0; i < fold.tags; i++) {
      const tag = tagStarts[i] as number;
      if ((tagEnds[i] as number) - tag === length && isSame(bytes, tag, start, length)) return true;
    }
    return false;
  };

  const hasKey = (key: MetadataKey): boolean => {
    for (let i = 0; i < fold.pairs; i++) if (keys[i] === key) return true;
    return false;
  };

  const fold = {
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
    clear() {
      fold.nameEnd = 0;
      fold.vlanEnd = 0;
      fold.isInternal = false;
      fold.tags = 0;
      fold.pairs = 0;
      fold.hasOpen = false;
    },
    putName(start: number, end: number) {
      if (fold.nameEnd !== 0) return;
      fold.nameStart = start;
      fold.nameEnd = end;
    },
    putVlan(start: number, end: number) {
      if (fold.vlanEnd !== 0) return;
      fold.vlanStart = start;
      fold.vlanEnd = end;
    },
    putInternal() {
      fold.isInternal = true;
    },
    putTag(bytes: Uint8Array, start: number, end: number) {
      if (hasTag(bytes, start, end - start)) return;
      tagStarts[fold.tags] = start;
      tagEnds[fold.tags++] = end;
    },
    putPair(key: MetadataKey, start: number, end: number) {
      if (hasKey(key)) return;
      let isMet = key.isOpen;
      for (let i = 0; i < fold.pairs; i++) {
        const other = keys[i] as MetadataKey;
        if (!key.isDeep && !other.isDeep) continue;
        if (!isInTheWay(key, other)) continue;
        isMet = true;
        isOpen[i] = true;
      }
      let to = fold.pairs++;
      for (; to > 0 && isBefore(key, keys[to - 1] as MetadataKey); to--) {
        keys[to] = keys[to - 1] as MetadataKey;
        valueStarts[to] = valueStarts[to - 1] as number;
        valueEnds[to] = valueEnds[to - 1] as number;
        isOpen[to] = isOpen[to - 1] as boolean;
      }
      keys[to] = key;
      valueStarts[to] = start;
      valueEnds[to] = end;
      isOpen[to] = isMet;
      if (isMet) fold.hasOpen = true;
    },
  };
  return fold;
}

function isSame(bytes: Uint8Array, a: number, b: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (bytes[a + i] !== bytes[b + i]) return false;
  return true;
}

/** Whether one key's text is before another's. */
function isBefore(key: MetadataKey, other: MetadataKey): boolean {
  return key.order === other.order ? key.text < other.text : key.order < other.order;
}

/**
 * Judges metadata keys before any record has them.
 *
 * @returns what happens to a key that gets in the way of the collector's own fields; undefined for others. In place of what netgloss
 * itself adds (a city, an organisation), of what only metadata say (a threat), or of what a device says of itself, it is wanted, and
 * nothing is said.
 */
export function createKeyConflicts(): (key: string) => string | undefined {
  const findConflict = createFindConflict();
  const ofMetadata = recordFields.filter(({ source }) => source === "metadata");
  const wanted = new Set<string>([...fieldGroups.enriched, ...ofMetadata].map(({ name }) => name));
  return (key) => {
    const names = key.startsWith(".") ? enrichedObjects.map(({ name }) => name + key) : [key];
    for (const name of names) {
      const conflict = findConflict(name);
      if (conflict === undefined) continue;
      const { kind, field } = conflict;
      if (kind === "same" && (wanted.has(field) || field.startsWith("system."))) continue;
      const shown = quote(key);
      if (kind === "same") return `metadata key ${shown} replaces the field ${field}`;
      if (kind === "above") return `metadata key ${shown} goes out as ${quote(`${key}.value`)}: ${field} lies below it`;
      const place = key.length - (name.length - field.length);
      const as = quote(`${key.slice(0, place)}_${key.slice(place + 1)}`);
      return `metadata key ${shown} goes out as ${as} in records with ${field}: it lies below that value`;
    }
    return undefined;
  };
}

/**
 * Folds entries, the most specific first. Of each field and each metadata key the first entry that sets it counts; a metadata
 * key with an empty value is set. Tags are united in the order of the entries, each once. An address is internal when any entry
 * says so.
 *
 * @param contextBit of {@link CoveringEntryTexts.contexts}: entries without it are left out.
 * @returns what may be read until the next call.
 */
type FoldEntries = (texts: CoveringEntryTexts, contextBit: number) => FoldedEntries;

const quoteByte = 0x22;
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
    for (let byte = from[at]; byte !== quoteByte; byte = from[++at]) if (byte === backslash) at++;
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
