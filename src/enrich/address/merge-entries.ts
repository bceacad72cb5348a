import { decodedSegments, createFindConflict, fieldGroups, recordFields } from "../../record/index.ts";
import { Literal } from "./address-limbs.ts";
import { enrichedObjects } from "./enriched-object.ts";
import { quote } from "../../base/text/index.ts";
import type { CoveringEntryTexts } from "../../metadata/index.ts";

/** A metadata key and its form in output. */
export interface MetadataKey {
  readonly text: string;
  /** The prefix of the texts of keys that lie below this one. */
  readonly group: string;
  /** The order of keys: the lower number is first. If two are equal, their texts must be compared. */
  readonly order: number;
  /** The key as in JSON, without quotes. */
  readonly bytes: Uint8Array;
  /**
   * True if its name may collide with others of a record. Such a key does not begin with a dot, so that it names a field of the record
   * itself, or decoders have names below its first segment.
   */
  readonly isOpen: boolean;
  /** True if it may collide with the name of the scope, for an address in a scope. */
  readonly isOfScope: boolean;
  /** True if it has enough segments to lie below another key: `.site.name` below `.site`. */
  readonly isDeep: boolean;
  /** The text for each position of the object: a comma, the name of the field, and a colon. */
  readonly starts: readonly Literal[];
}

/**
 * The most keys to keep. Keys come from the metadata, which may have as many as entries; beyond this all are forgotten and made again.
 */
const maxKeys = 16_384;
const firstSlots = 1024;

/** The metadata keys that recur, each as one object. */
class MetadataKeys {
  #table = Array<MetadataKey | undefined>(firstSlots).fill(undefined);
  #count = 0;

  /** Returns the key whose bytes lie here, in the form of JSON without quotes. */
  find(bytes: Uint8Array, start: number, end: number): MetadataKey {
    const slot = this.#slotOf(bytes, start, end);
    const known = this.#table[slot];
    if (known !== undefined) return known;
    const key = metadataKey(Buffer.from(bytes.slice(start, end)));
    this.#table[slot] = key;
    if (2 * ++this.#count > this.#table.length) this.#grow();
    return key;
  }

  /** Forgets the keys if there are too many; callers call it when no key is in use. */
  limit(): void {
    if (this.#count < maxKeys) return;
    this.#table = Array<MetadataKey | undefined>(firstSlots).fill(undefined);
    this.#count = 0;
  }

  #slotOf(bytes: Uint8Array, start: number, end: number): number {
    const table = this.#table;
    const mask = table.length - 1;
    let hash = 0;
    for (let at = start; at < end; at++) hash = (Math.imul(hash, 31) + (bytes[at] as number)) | 0;
    let slot = (hash ^ (hash >>> 15)) & mask;
    for (;;) {
      const key = table[slot];
      if (key === undefined || isSameKey(key.bytes, bytes, start, end)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #grow(): void {
    const known = this.#table;
    this.#table = Array<MetadataKey | undefined>(2 * known.length).fill(undefined);
    for (const key of known) if (key !== undefined) this.#table[this.#slotOf(key.bytes, 0, key.bytes.length)] = key;
  }
}

/** Reports whether one key is a group that contains the other: `.site` and `.site.name`. */
function isInTheWay(key: MetadataKey, other: MetadataKey): boolean {
  return isBelow(key, other) || isBelow(other, key);
}

/** Returns the start of a field in the form that lines have. */
export function fieldStart(name: string): Literal {
  return new Literal(Buffer.from(`,${JSON.stringify(name)}:`));
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
    isOfScope: isOwn && segments[1] === "scope",
    isDeep: segments.length > 2,
    starts: enrichedObjects.map(({ name }) => fieldStart(isOwn ? name + text : text)),
  };
}

/** Returns a number for the first three UTF-16 units of a text: three, because most keys begin with a dot. */
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
 * The merged values of the entries of an address, as positions in their texts. Values go out as JSON has them, because they came in so.
 * A range that ends at 0 is absent. Entries come the most specific first, and an earlier value stays.
 */
export class MergedEntries {
  /** The texts of all entries. */
  view: DataView = new DataView(new ArrayBuffer(0));
  nameStart = 0;
  nameEnd = 0;
  /** The digits of the VLAN. */
  vlanStart = 0;
  vlanEnd = 0;
  isInternal = false;
  tags = 0;
  readonly tagStarts: number[] = [];
  readonly tagEnds: number[] = [];
  /** The number of pairs, in the order of the keys' texts. */
  pairs = 0;
  readonly keys: MetadataKey[] = [];
  readonly valueStarts: number[] = [];
  readonly valueEnds: number[] = [];
  /** True if a pair may collide with names of the record or with another pair. */
  readonly isOpen: boolean[] = [];
  hasOpen = false;

  clear(): void {
    this.nameEnd = 0;
    this.vlanEnd = 0;
    this.isInternal = false;
    this.tags = 0;
    this.pairs = 0;
    this.hasOpen = false;
  }

  putName(start: number, end: number): void {
    if (this.nameEnd !== 0) return;
    this.nameStart = start;
    this.nameEnd = end;
  }

  putVlan(start: number, end: number): void {
    if (this.vlanEnd !== 0) return;
    this.vlanStart = start;
    this.vlanEnd = end;
  }

  /** @param bytes contain the JSON of the tag and of all other tags. */
  putTag(bytes: Uint8Array, start: number, end: number): void {
    const length = end - start;
    for (let i = 0; i < this.tags; i++) {
      const tag = this.tagStarts[i] as number;
      if ((this.tagEnds[i] as number) - tag === length && isSame(bytes, tag, start, length)) return;
    }
    this.tagStarts[this.tags] = start;
    this.tagEnds[this.tags++] = end;
  }

  putPair(key: MetadataKey, start: number, end: number): void {
    const { keys, valueStarts, valueEnds, isOpen, pairs } = this;
    for (let i = 0; i < pairs; i++) if (keys[i] === key) return;
    let isMet = key.isOpen;
    for (let i = 0; i < pairs; i++) {
      const other = keys[i] as MetadataKey;
      if (!key.isDeep && !other.isDeep) continue;
      if (!isInTheWay(key, other)) continue;
      isMet = true;
      isOpen[i] = true;
    }
    let to = this.pairs++;
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
    if (isMet) this.hasOpen = true;
  }
}

function isSame(bytes: Uint8Array, a: number, b: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (bytes[a + i] !== bytes[b + i]) return false;
  return true;
}

/** Reports whether one key's text is before another's. */
function isBefore(key: MetadataKey, other: MetadataKey): boolean {
  return key.order === other.order ? key.text < other.text : key.order < other.order;
}

/**
 * Judges metadata keys before any record has them.
 *
 * @param isInScope true if they are from entries of a scope ({@link nameInScope}).
 * @returns a function that says what happens to a key that collides with the collector's own fields; undefined for other keys. Users
 *   may want to replace what netgloss adds (a city, an organisation), what only metadata gives (a threat), and what a device says of
 *   itself; for these it returns undefined, too.
 */
export function createKeyConflicts(isInScope = false): (key: string) => string | undefined {
  const findConflict = createFindConflict();
  return (key) => {
    const names = key.startsWith(".") ? enrichedObjects.map(({ name }) => name + key) : [key];
    for (const [i, name] of names.entries()) {
      const as = isInScope ? nameInScope(name, enrichedObjects[i]?.name ?? "", () => false) : name;
      if (as !== name) return `metadata key ${quote(key)} goes out as ${quote(as)}: it is of a scope`;
      const conflict = findConflict(name);
      if (conflict === undefined) continue;
      const { kind, field } = conflict;
      if (kind === "same" && !isSaidByOthers(field)) continue;
      const shown = quote(key);
      if (kind === "same") return `metadata key ${shown} replaces the field ${field}`;
      if (kind === "above") return `metadata key ${shown} goes out as ${quote(`${key}.value`)}: ${field} lies below it`;
      const dot = key.length - (name.length - field.length);
      const under = quote(`${key.slice(0, dot)}_${key.slice(dot + 1)}`);
      return `metadata key ${shown} goes out as ${under} in records with ${field}: it lies below that value`;
    }
    return undefined;
  };
}

const ownFields: ReadonlySet<string> = new Set(recordFields.map(({ name }) => name));
const ownGroups: ReadonlySet<string> = new Set(Array.from(ownFields, firstSegment));
const wantedFields: ReadonlySet<string> = new Set(
  [...fieldGroups.enriched, ...recordFields.filter(({ source }) => source === "metadata")].map(({ name }) => name),
);

/** Reports whether a field is the exporter's. Metadata replaces what netgloss adds and what a device says. */
function isSaidByOthers(field: string): boolean {
  return ownFields.has(field) && !wantedFields.has(field) && !field.startsWith("system.");
}

/**
 * Returns the name in output of metadata of an address in a scope. Its author may be limited to the scope, but records concern others,
 * too. So it must not change scopes, other addresses, or what an exporter said.
 *
 * @param name the name outside of scopes.
 * @param object the object that has the address.
 * @param has reports whether the record has a name.
 */
export function nameInScope(name: string, object: string, has: (name: string) => boolean): string {
  const isOfObject = name.startsWith(`${object}.`);
  if (name === `${object}.scope` || (isOfObject && isSaidByOthers(name))) return freeOf(`${name}_`, has);
  if (isOfObject || !(ownGroups.has(firstSegment(name)) || has(name))) return name;
  return freeOf(`${name.replaceAll(".", "_")}_`, has);
}

function freeOf(name: string, has: (name: string) => boolean): string {
  return has(name) ? freeOf(`${name}_`, has) : name;
}

function firstSegment(name: string): string {
  return name.split(".", 1)[0] as string;
}

const quoteByte = 0x22;
const backslash = 0x5c;
const closed = 0x5d;
const braceClosed = 0x7d;
/** The first letters of the names in an entry's text, which are enough to distinguish them: name, tags, vlan, internal, metadata. */
const [letterOfName, letterOfTags, letterOfVlan, letterOfInternal] = [0x6e, 0x74, 0x76, 0x69];
const keyStart = '{"key":'.length;
const [nameHead, tagsHead, vlanHead] = [',"name":'.length, ',"tags":'.length, ',"vlan":'.length];
const internalHead = ',"internal":true'.length;
const metadataHead = ',"metadata":'.length;

/**
 * Merges entries, the most specific first. For each field and each metadata key the first entry that sets it counts; an empty value
 * counts as set. Tags are united in the order of the entries, each once. An address is internal if any entry says so.
 */
export class EntryMerger {
  readonly #known = new MetadataKeys();
  readonly #merged = new MergedEntries();
  #bytes: Uint8Array = new Uint8Array();

  /**
   * @param contextBit of {@link CoveringEntryTexts.contexts}: entries without it are left out.
   * @returns the result, valid until the next call.
   */
  merge(texts: CoveringEntryTexts, contextBit: number): MergedEntries {
    this.#known.limit();
    const merged = this.#merged;
    if (texts.bytes !== this.#bytes) {
      this.#bytes = texts.bytes;
      merged.view = new Literal(texts.bytes).view;
    }
    merged.clear();
    for (let i = 0; i < texts.count; i++) {
      if (((texts.contexts[i] as number) & contextBit) === 0) continue;
      this.#take(texts.starts[i] as number, texts.ends[i] as number);
    }
    return merged;
  }

  #take(start: number, end: number): void {
    const bytes = this.#bytes;
    const merged = this.#merged;
    const last = end - 1;
    let at = stringEnd(bytes, start + keyStart);
    while (at < last) {
      const letter = bytes[at + 2];
      if (letter === letterOfName) {
        const from = at + nameHead;
        at = stringEnd(bytes, from);
        merged.putName(from, at);
      } else if (letter === letterOfTags) {
        at = this.#takeTags(at + tagsHead);
      } else if (letter === letterOfVlan) {
        const from = at + vlanHead;
        at = stringEnd(bytes, from);
        merged.putVlan(from + 1, at - 1);
      } else if (letter === letterOfInternal) {
        at += internalHead;
        merged.isInternal = true;
      } else {
        at = this.#takePairs(at + metadataHead);
      }
    }
  }

  /** @returns the end of the list. */
  #takeTags(start: number): number {
    const bytes = this.#bytes;
    let at = start;
    while (bytes[at] !== closed) {
      const from = at + 1;
      at = stringEnd(bytes, from);
      this.#merged.putTag(bytes, from, at);
    }
    return at + 1;
  }

  /** @returns the end of the object. */
  #takePairs(start: number): number {
    const bytes = this.#bytes;
    let at = start;
    while (bytes[at] !== braceClosed) {
      const keyEnd = stringEnd(bytes, at + 1);
      const key = this.#known.find(bytes, at + 2, keyEnd - 1);
      const value = keyEnd + 1;
      at = stringEnd(bytes, value);
      this.#merged.putPair(key, value, at);
    }
    return at + 1;
  }
}

/** Returns the end of the string that begins at a quote. */
function stringEnd(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  for (let byte = bytes[at]; byte !== quoteByte; byte = bytes[++at]) if (byte === backslash) at++;
  return at + 1;
}
