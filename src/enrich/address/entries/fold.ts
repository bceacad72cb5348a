import { isInTheWay, type MetadataKey } from "./metadata-keys.ts";

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
export interface Fold extends FoldedEntries {
  clear(): void;
  putName(start: number, end: number): void;
  putVlan(start: number, end: number): void;
  putInternal(): void;
  /** @param bytes where the tag's JSON lies, and that of all others. */
  putTag(bytes: Uint8Array, start: number, end: number): void;
  putPair(key: MetadataKey, start: number, end: number): void;
}

export function createFold(): Fold {
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
