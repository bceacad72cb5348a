import { addressLayout, spaceFor, type Workspace } from "../../record/index.ts";
import { lengthOf, type AddressText } from "./address-fragment.ts";

/** All that a text follows from, as words: the same words mean the same text. Empty for a text that nobody else may have. */
export interface TextKey {
  readonly words: Int32Array;
  readonly length: number;
  readonly hash: number;
  clear(): void;
  /** More than the key has room for is refused: `length` then goes beyond {@link maxKeyWords}. */
  put(word: number): void;
}

export const maxKeyWords = 96;

export function createTextKey(): TextKey {
  const key = {
    words: new Int32Array(maxKeyWords),
    length: 0,
    hash: 0,
    clear() {
      key.length = 0;
      key.hash = 0;
    },
    put(word: number) {
      key.words[key.length++] = word;
      key.hash = Math.imul(key.hash ^ word, 0x9e3779b1) ^ (key.hash >>> 15);
    },
  };
  return key;
}

// A text in an arena, from where its fields begin; what stands before that is in words:
//   -8  where it has been copied to in the young arena; 0 when it has not
//   -7  words of all of this, from its key to its end
//   -6  words of its key
//   -5  its lengths, as a slot has them
//   -4  the number of the autonomous system
//   -3  bytes of the number's field, and of the organisation's in the upper half
//   -2  bytes of what is open
// Before that, where it is kept: where its fields begin; then its key.
const { textHead, withVlanShift, localityShift, systemBit, metadataBit } = addressLayout;
const headWords = textHead / 4;
/** Shared keys are rarely shorter. */
const leastKey = 8;
const fieldsWords = addressLayout.fieldsBytes / 4;
const [forward, allWords, keyWords, lengthsWord, systemWord, systemLengths, openLength] = [8, 7, 6, 5, 4, 3, 2];

/** Fields with the VLAN, those of a system, and what is open: more than this is not kept. */
const maxFields = addressLayout.lengthMask;
const maxSystem = 1024;
const maxOpen = 8192;
/** No text takes more in a line, as long as nothing of it is open. */
export const maxLineLength = maxFields + 1 + maxSystem;
/** Bytes that a text may have. */
export const maxTextLength = maxFields + maxSystem + maxOpen;
/** A text takes no more than this of an arena. */
const maxStored = 4 * maxKeyWords + addressLayout.fieldsBytes + textHead + maxTextLength + 16;

/** The lengths of a text that is not kept: it is made each time. */
export const notKept = -1;

/** The texts of addresses in two arenas: new ones go to the young one; what is used of the old one is copied there. */
export interface TextStore {
  /** Where the young arena lies. */
  readonly arenaAt: number;
  /** Whether any text has room in the young arena. */
  hasRoom(): boolean;
  /**
   * Finds the text of a key.
   *
   * @returns where it begins in the young arena; 0 when it is not there.
   */
  find(key: TextKey): number;
  /** Asks for the memory that {@link TextStore.find} reads of the first `count` keys. */
  readAhead(keys: readonly TextKey[], count: number): void;
  /** Where the next text may be written in the workspace's memory: {@link maxTextLength} bytes. @param key of it; empty for none. */
  begin(key: TextKey): number;
  /** Keeps the text that was written there. @returns where it begins in the young arena; 0 when it cannot be kept. */
  keep(key: TextKey, text: AddressText): number;
  /** The lengths of a text in the young arena. */
  lengths(start: number): number;
  /** Copies a text of the old arena, once. @returns where it begins in the young one; 0 when there is no room. */
  promote(start: number): number;
  /** The bytes of a text in the young arena, and its parts. */
  read(start: number): { readonly bytes: Uint8Array; readonly text: AddressText };
  /** Makes room in front of texts for where their fields begin. @returns whether it has: not when there are texts already. */
  keepFields(): boolean;
  /** Drops the old arena; the young one becomes the old one. */
  rotate(): void;
  clear(): void;
}

interface Arena {
  readonly at: number;
  /** Where the next text's key begins. */
  end: number;
  /** Where texts begin, by the hash of their keys; of two with one hash the later. */
  readonly byKey: Int32Array;
}

/** @param maxTexts how many there are at most in an arena. */
export function createTextStore(workspace: Workspace, arenaBytes: number, maxTexts: number): TextStore {
  const { bytes } = workspace;
  const words = new Int32Array(workspace.memory.buffer);
  const slots = 2 ** Math.ceil(Math.log2(Math.max(2, maxTexts)));
  const createArena = (): Arena => ({ at: workspace.allocate(arenaBytes), end: 0, byKey: new Int32Array(slots) });
  let young = createArena();
  let old = createArena();
  /** Words of a text before its first byte, but for its key. */
  let ahead = headWords;
  const starts: number[] = [];
  /** What is read ahead is read only if something follows from it. */
  const reads = { sum: 0 };

  const slotOf = ({ hash }: TextKey): number => (hash ^ (hash >>> 13)) & (slots - 1);

  const wordOf = (arena: Arena, start: number): number => (arena.at + start) >>> 2;

  const hasKey = (arena: Arena, start: number, key: TextKey): boolean => {
    const at = wordOf(arena, start);
    if (words[at - keyWords] !== key.length) return false;
    const from = at - ahead - evened(key.length);
    for (let i = 0; i < key.length; i++) if (words[from + i] !== key.words[i]) return false;
    return true;
  };

  const clear = (arena: Arena): void => {
    arena.end = 0;
    arena.byKey.fill(0);
  };

  const promote = (start: number): number => {
    const from = wordOf(old, start);
    const known = words[from - forward] as number;
    if (known !== 0) return known;
    const count = words[from - allWords] as number;
    if (young.end + 4 * count > arenaBytes) return 0;
    const before = ahead + evened(words[from - keyWords] as number);
    const to = wordOf(young, young.end);
    words.copyWithin(to, from - before, from - before + count);
    const copied = young.end + 4 * before;
    words[from - forward] = copied;
    young.end += 4 * count;
    return copied;
  };

  return {
    get arenaAt() {
      return young.at;
    },
    hasRoom: () => young.end + maxStored <= arenaBytes,
    find(key) {
      const slot = slotOf(key);
      const start = young.byKey[slot] as number;
      if (start !== 0 && hasKey(young, start, key)) return start;
      const aged = old.byKey[slot] as number;
      if (aged === 0 || !hasKey(old, aged, key)) return 0;
      const copied = promote(aged);
      if (copied !== 0) young.byKey[slot] = copied;
      return copied;
    },
    readAhead(keys, count) {
      for (let i = 0; i < count; i++) starts[i] = young.byKey[slotOf(keys[i] as TextKey)] as number;
      let sum = 0;
      for (let i = 0; i < count; i++) {
        const at = wordOf(young, starts[i] as number);
        sum |= (words[at - lengthsWord] as number) | (words[at - ahead - leastKey] as number);
      }
      reads.sum = sum;
    },
    begin: (key) => young.at + young.end + 4 * (ahead + evened(key.length)),
    keep(key, text) {
      const { fields, vlan, number, organisation, open, system } = text;
      const length = lengthOf(text);
      if (fields + vlan > maxFields || number + organisation > maxSystem || key.length > maxKeyWords) return 0;
      const before = ahead + evened(key.length);
      const start = young.end + 4 * before;
      const at = wordOf(young, start);
      for (let i = 0; i < key.length; i++) words[at - before + i] = key.words[i] as number;
      // Zeros behind a text keep what is copied of it in words of eight bytes from being a NaN.
      const after = young.at + start + length;
      for (let i = 0; i < 8; i++) bytes[after + i] = 0;
      const count = before + 2 * ((length + 15) >>> 3);
      words[at - forward] = 0;
      words[at - allWords] = count;
      words[at - keyWords] = key.length;
      words[at - lengthsWord] = packLengths(text);
      words[at - systemWord] = system;
      words[at - systemLengths] = number | (organisation << 16);
      words[at - openLength] = open;
      if (ahead > headWords) words[at - ahead] = 0;
      young.end += 4 * count;
      if (key.length > 0) young.byKey[slotOf(key)] = start;
      return start;
    },
    lengths: (start) => words[wordOf(young, start) - lengthsWord] as number,
    promote,
    read(start) {
      const at = wordOf(young, start);
      const text = unpack(words, at);
      return { bytes: bytes.slice(young.at + start, young.at + start + lengthOf(text)), text };
    },
    keepFields() {
      if (young.end + old.end === 0) ahead = headWords + fieldsWords;
      return ahead > headWords;
    },
    rotate() {
      [young, old] = [old, young];
      clear(young);
    },
    clear() {
      clear(young);
      clear(old);
    },
  };
}

/** The bytes of a workspace that a store of two such arenas takes. */
export function textStoreBytes(arenaBytes: number): number {
  return 2 * spaceFor(arenaBytes);
}

/** What one arena has to hold at least. */
export const leastArena = 4 * maxStored;

function packLengths({ fields, vlan, organisation, locality, hasMetadata, open }: AddressText): number {
  return (
    fields |
    (locality << localityShift) |
    ((fields + vlan) << withVlanShift) |
    (organisation === 0 ? 0 : systemBit) |
    (hasMetadata ? metadataBit : 0) |
    (open > 0 ? openBit : 0)
  );
}

const openBit = 1 << 31;

function unpack(words: Int32Array, at: number): AddressText {
  const lengths = words[at - lengthsWord] as number;
  const systems = words[at - systemLengths] as number;
  const fields = lengths & addressLayout.lengthMask;
  return {
    fields,
    vlan: ((lengths >> withVlanShift) & addressLayout.lengthMask) - fields,
    number: systems & 0xffff,
    organisation: systems >>> 16,
    open: words[at - openLength] as number,
    system: (words[at - systemWord] as number) >>> 0,
    locality: (lengths >> localityShift) & addressLayout.localityMask,
    hasMetadata: (lengths & metadataBit) !== 0,
    isCut: false,
  };
}

/** Texts begin at multiples of eight bytes. */
function evened(count: number): number {
  return count + (count & 1);
}
