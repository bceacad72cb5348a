import { decodedSegments } from "../record/index.ts";
import { enrichedObjects, type EnrichedObject } from "./enriched-object.ts";

/** Metadata keys that are met again and again, by numbers. */
export interface TextNames {
  /**
   * The number of a key whose bytes, without quotes, lie here; -1 when what it adds cannot be written without looking at the
   * record, or when it has no number.
   */
  find(bytes: Uint8Array, start: number, end: number): number;
  /** Its place among all keys that have a number, in the order of texts. */
  rank(key: number): number;
  /** Whether one of two is a group that has the other: `.site` and `.site.name`. */
  isInTheWay(key: number, other: number): boolean;
  /** A comma, the name of the field beside the object, a colon. */
  field(object: number, key: number): Uint8Array;
}

const mostKeys = 256;
const slots = 1024;
const longestKey = 64;
const dot = 0x2e;

export function createTextNames(): TextNames {
  const keys: string[] = [];
  const keyBytes: Uint8Array[] = [];
  const ranks = new Int32Array(mostKeys);
  const fields: Uint8Array[][] = [];
  /** By slot of a hash: a key's number and one more; 0 for none. */
  const table = new Int32Array(slots);
  /** 0: not known yet; 1: no; 2: yes. */
  const ways = new Uint8Array(mostKeys * mostKeys);

  const isSame = (known: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean => {
    if (known.length !== end - start) return false;
    for (let i = 0; i < known.length; i++) if (known[i] !== bytes[start + i]) return false;
    return true;
  };

  const add = (text: string, slot: number): number => {
    if (keys.length === mostKeys) return -1;
    const key = keys.push(text) - 1;
    keyBytes.push(Buffer.from(text));
    fields.push(enrichedObjects.map(({ name }) => fieldStart(name + text)));
    const sorted = keys.map((_, n) => n).sort((a, b) => ((keys[a] as string) < (keys[b] as string) ? -1 : 1));
    for (const [rank, n] of sorted.entries()) ranks[n] = rank;
    table[slot] = key + 1;
    return key;
  };

  return {
    find(bytes, start, end) {
      if (bytes[start] !== dot || end - start > longestKey) return -1;
      let hash = 0;
      for (let at = start; at < end; at++) hash = (Math.imul(hash, 31) + (bytes[at] as number)) | 0;
      let slot = (hash ^ (hash >>> 15)) & (slots - 1);
      for (; table[slot] !== 0; slot = (slot + 1) & (slots - 1)) {
        const key = (table[slot] as number) - 1;
        if (isSame(keyBytes[key] as Uint8Array, bytes, start, end)) return key;
      }
      const text = plainKey(bytes.subarray(start, end));
      return text === undefined ? -1 : add(text, slot);
    },
    rank: (key) => ranks[key] as number,
    isInTheWay(key, other) {
      const at = key * mostKeys + other;
      if (ways[at] === 0) ways[at] = isBelow(keys, key, other) || isBelow(keys, other, key) ? 2 : 1;
      return ways[at] === 2;
    },
    field: (object, key) => fields[key]?.[object] as Uint8Array,
  };
}

/** The start of a field, as it stands in a line. */
export function fieldStart(name: string): Uint8Array {
  return Buffer.from(`,${JSON.stringify(name)}:`);
}

/** The fields that are not of metadata keys. */
export function knownStarts({ names, name }: EnrichedObject): Readonly<Record<KnownStart, Uint8Array>> {
  return {
    name: fieldStart(names.subnetName),
    tags: fieldStart(names.subnetTags),
    internal: Buffer.from(`,${JSON.stringify(names.isInternal)}:true`),
    locality: fieldStart(`${name}.locality`),
    vlan: fieldStart(names.vlan),
  };
}

export type KnownStart = "name" | "tags" | "internal" | "locality" | "vlan";

/** The text of a key of ASCII without escapes, whose first segment no decoder has names below. */
function plainKey(bytes: Uint8Array): string | undefined {
  const text = Buffer.from(bytes).toString("latin1");
  if (!/^[!#-[\]-~]*$/.test(text)) return undefined;
  return decodedSegments.has(text.split(".")[1] as string) ? undefined : text;
}

function isBelow(keys: readonly string[], key: number, above: number): boolean {
  return (keys[key] as string).startsWith(`${keys[above] as string}.`);
}
