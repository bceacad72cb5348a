import { addressLayout, spaceFor, type Workspace } from "../../record/index.ts";
import { lengthOf, type Fragment } from "./address-fragment.ts";
import { copyBytes } from "./address-limbs.ts";

export const maxKeyWords = 96;

/** The words that determine a fragment: equal words mean the same fragment. Empty for a fragment that no other address may have. */
export class FragmentKey {
  readonly words = new Int32Array(maxKeyWords);
  length = 0;
  hash = 0;

  clear(): void {
    this.length = 0;
    this.hash = 0;
  }

  /** Adds a word. If the key is full, the word is refused, and `length` goes beyond {@link maxKeyWords}. */
  put(word: number): void {
    this.words[this.length++] = word;
    this.hash = Math.imul(this.hash ^ word, 0x9e3779b1) ^ (this.hash >>> 15);
  }
}

// A fragment in an arena. These words stand before the start of its fields:
//   -8  its place in the young arena if it was copied there, otherwise 0
//   -7  words of the whole, from its key to its end
//   -6  words of its key
//   -5  its lengths, as a slot has them
//   -4  the number of the autonomous system
//   -3  bytes of the number's field, and of the organisation's in the upper half
//   -2  bytes of its open metadata
// Before these words are the places where its fields begin, if they are kept, and before those its key.
const { textHead, withVlanShift, localityShift, systemBit, metadataBit } = addressLayout;
const headWords = textHead / 4;
/** The usual minimum of words in a shared key. */
const leastKey = 8;
const fieldsWords = addressLayout.fieldsBytes / 4;
const [forward, allWords, keyWords, lengthsWord, systemWord, systemLengths, openLength] = [8, 7, 6, 5, 4, 3, 2];

/** The most bytes to keep of the fields with the VLAN; then those of a system, and those of open metadata. */
const maxFields = addressLayout.lengthMask;
const maxSystem = 1024;
const maxOpen = 8192;
/** The most bytes that a fragment without open metadata takes in a line. */
export const maxLineLength = maxFields + 1 + maxSystem;
/** The most bytes of a fragment. */
export const maxFragment = maxFields + maxSystem + maxOpen;
/** The most bytes that a fragment takes in an arena. */
const maxStored = 4 * maxKeyWords + addressLayout.fieldsBytes + textHead + maxFragment + 16;

/** The lengths of a fragment that is not kept but made each time. */
export const notKept = -1;

class Arena {
  readonly at: number;
  /** The offset at which the next fragment's key begins. */
  end = 0;
  /** The offsets of fragments by the hash of their keys; of two with the same hash, the later one. */
  readonly byKey: Int32Array;

  constructor(at: number, slots: number) {
    this.at = at;
    this.byKey = new Int32Array(slots);
  }

  clear(): void {
    this.end = 0;
    this.byKey.fill(0);
  }

  /** Returns the word at which a fragment begins. */
  wordOf(start: number): number {
    return (this.at + start) >>> 2;
  }
}

/** Stores the fragments of addresses in two arenas. New ones go to the young arena; old ones that are used are copied there. */
export class FragmentStore {
  readonly #arenaBytes: number;
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #words: Int32Array;
  readonly #slots: number;
  #young: Arena;
  #old: Arena;
  /** The words of a fragment before its first byte, without its key. */
  #ahead = headWords;
  readonly #starts: number[] = [];
  /** The sum of the words read ahead: the engine may drop a read whose value is not used. */
  readonly #reads = { sum: 0 };

  /** @param maxFragments the most fragments in an arena. */
  constructor(workspace: Workspace, arenaBytes: number, maxFragments: number) {
    this.#arenaBytes = arenaBytes;
    this.#bytes = workspace.bytes;
    this.#view = workspace.view;
    this.#words = new Int32Array(workspace.memory.buffer);
    this.#slots = 2 ** Math.ceil(Math.log2(Math.max(2, maxFragments)));
    this.#young = new Arena(workspace.allocate(arenaBytes), this.#slots);
    this.#old = new Arena(workspace.allocate(arenaBytes), this.#slots);
  }

  /** Returns the offset of the young arena. */
  get arenaAt(): number {
    return this.#young.at;
  }

  /** Reports whether the young arena has room for any fragment. */
  hasRoom(): boolean {
    return this.#young.end + maxStored <= this.#arenaBytes;
  }

  /** Finds the fragment of a key. @returns its offset in the young arena; 0 if it is not there. */
  find(key: FragmentKey): number {
    const slot = this.#slotOf(key);
    const start = this.#young.byKey[slot] as number;
    if (start !== 0 && this.#hasKey(this.#young, start, key)) return start;
    const aged = this.#old.byKey[slot] as number;
    if (aged === 0 || !this.#hasKey(this.#old, aged, key)) return 0;
    const copied = this.promote(aged);
    if (copied !== 0) this.#young.byKey[slot] = copied;
    return copied;
  }

  /** Reads ahead the memory that {@link find} needs for the first `count` keys. */
  readAhead(keys: readonly FragmentKey[], count: number): void {
    const young = this.#young;
    const starts = this.#starts;
    const words = this.#words;
    const key = this.#ahead + leastKey;
    for (let i = 0; i < count; i++) starts[i] = young.byKey[this.#slotOf(keys[i] as FragmentKey)] as number;
    let sum = 0;
    for (let i = 0; i < count; i++) {
      const at = young.wordOf(starts[i] as number);
      sum |= (words[at - lengthsWord] as number) | (words[at - key] as number);
    }
    this.#reads.sum = sum;
  }

  /**
   * Returns the offset in the workspace's memory for the next fragment, with room for {@link maxFragment} bytes.
   *
   * @param key its key; empty for none.
   */
  begin(key: FragmentKey): number {
    return this.#young.at + this.#young.end + 4 * (this.#ahead + evened(key.length));
  }

  /** Keeps the fragment that was written there. @returns its offset in the young arena; 0 if it cannot be kept. */
  keep(key: FragmentKey, fragment: Fragment): number {
    const { fields, vlan, number, organisation, open, system } = fragment;
    if (fields + vlan > maxFields || number + organisation > maxSystem || key.length > maxKeyWords) return 0;
    const words = this.#words;
    const young = this.#young;
    const before = this.#ahead + evened(key.length);
    const start = young.end + 4 * before;
    const at = young.wordOf(start);
    for (let i = 0; i < key.length; i++) words[at - before + i] = key.words[i] as number;
    const length = lengthOf(fragment);
    // The zeros behind a fragment keep its last copied word of eight bytes from being a NaN.
    const after = young.at + start + length;
    for (let i = 0; i < 8; i++) this.#bytes[after + i] = 0;
    const count = before + 2 * ((length + 15) >>> 3);
    words[at - forward] = 0;
    words[at - allWords] = count;
    words[at - keyWords] = key.length;
    words[at - lengthsWord] = packLengths(fragment);
    words[at - systemWord] = system;
    words[at - systemLengths] = number | (organisation << 16);
    words[at - openLength] = open;
    if (this.#ahead > headWords) words[at - this.#ahead] = 0;
    young.end += 4 * count;
    if (key.length > 0) young.byKey[this.#slotOf(key)] = start;
    return start;
  }

  /** Returns the lengths of a fragment in the young arena, in the form of a slot. */
  lengths(start: number): number {
    return this.#words[this.#young.wordOf(start) - lengthsWord] as number;
  }

  /** Copies a fragment of the old arena, once. @returns its offset in the young one; 0 if there is no room. */
  promote(start: number): number {
    const words = this.#words;
    const young = this.#young;
    const from = this.#old.wordOf(start);
    const known = words[from - forward] as number;
    if (known !== 0) return known;
    const count = words[from - allWords] as number;
    if (young.end + 4 * count > this.#arenaBytes) return 0;
    const before = this.#ahead + evened(words[from - keyWords] as number);
    const to = young.wordOf(young.end);
    words.copyWithin(to, from - before, from - before + count);
    const copied = young.end + 4 * before;
    words[from - forward] = copied;
    young.end += 4 * count;
    return copied;
  }

  /** Returns a fragment in the young arena, and its bytes. */
  read(start: number): { readonly bytes: Uint8Array; readonly fragment: Fragment } {
    const fragment = unpack(this.#words, this.#young.wordOf(start));
    const at = this.#young.at + start;
    return { bytes: this.#bytes.slice(at, at + lengthOf(fragment)), fragment };
  }

  /** Copies the bytes of a fragment in the young arena. @returns their number. */
  copy(start: number, into: DataView): number {
    const length = lengthOf(unpack(this.#words, this.#young.wordOf(start)));
    const at = this.#young.at + start;
    copyBytes(this.#view, at, at + length, into, 0);
    return length;
  }

  /** Makes room in front of fragments for the places of their fields. @returns true if it did; false if there are fragments already. */
  keepFields(): boolean {
    if (this.#young.end + this.#old.end === 0) this.#ahead = headWords + fieldsWords;
    return this.#ahead > headWords;
  }

  /** Drops the old arena; the young one becomes the old one. */
  rotate(): void {
    [this.#young, this.#old] = [this.#old, this.#young];
    this.#young.clear();
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }

  #slotOf({ hash }: FragmentKey): number {
    return (hash ^ (hash >>> 13)) & (this.#slots - 1);
  }

  #hasKey(arena: Arena, start: number, key: FragmentKey): boolean {
    const words = this.#words;
    const at = arena.wordOf(start);
    if (words[at - keyWords] !== key.length) return false;
    const from = at - this.#ahead - evened(key.length);
    for (let i = 0; i < key.length; i++) if (words[from + i] !== key.words[i]) return false;
    return true;
  }
}

/** Returns the bytes of a workspace that a store with two such arenas takes. */
export function fragmentStoreBytes(arenaBytes: number): number {
  return 2 * spaceFor(arenaBytes);
}

/** The least bytes of an arena. */
export const leastArena = 4 * maxStored;

function packLengths({ fields, vlan, organisation, locality, hasMetadata, open }: Fragment): number {
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

function unpack(words: Int32Array, at: number): Fragment {
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

/** Rounds up to a multiple of eight bytes, at which fragments begin. */
function evened(count: number): number {
  return count + (count & 1);
}
