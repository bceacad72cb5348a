import { decodedSegments } from "../../../record/index.ts";
import { createPiece, type Piece } from "../words/copy-bytes.ts";
import { enrichedObjects } from "../objects/enriched-object.ts";

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
export interface MetadataKeys {
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
      if (key === undefined || isSame(key.bytes, bytes, start, end)) return slot;
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
export function isInTheWay(key: MetadataKey, other: MetadataKey): boolean {
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

function isSame(known: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (known.length !== end - start) return false;
  for (let i = 0; i < known.length; i++) if (known[i] !== bytes[start + i]) return false;
  return true;
}
