import { type Heap, treePart } from "./heap.ts";
import { retain } from "./tree-nodes.ts";

// The states of scopes by the number of the scope, in blocks that never change once they are shown; what a change leaves alone is shared.
//   table  1 references   2 the definitions   3 –  chunks, by the upper bits of the number; 0 for none
//   chunk  1 references   2 –  states, by the lower bits: a snapshot, 0 for none; with 1 added where global entries do not count
//   definitions  1 references   2 a number of their own   3 bytes of their text   4 –  the text
const chunkBits = 7;
const chunkScopes = 2 ** chunkBits;
const chunks = 128;
const tableHead = 3;
const chunkHead = 2;
const textHead = 4;
/** The largest number of a scope. */
export const mostScopes = chunkScopes * chunks - 1;
const isolatedBit = 1;

/** The entries of a scope, for look-ups. */
export interface ScopeState {
  /** 0: it has none. */
  readonly snapshot: number;
  /** Whether global entries count behind its own. */
  readonly inherits: boolean;
}

/** The writer's side. */
export class ScopeTable {
  readonly #heap: Heap;
  readonly #releaseSnapshot: (snapshot: number) => void;
  /** The table in force; 0 for none. */
  block = 0;
  #serial = 0;

  constructor(heap: Heap, releaseSnapshot: (snapshot: number) => void) {
    this.#heap = heap;
    this.#releaseSnapshot = releaseSnapshot;
  }

  /**
   * Puts another table in force.
   *
   * @param changes by number; undefined for a scope that goes.
   * @param definitions undefined: they stay.
   * @throws HeapFullError; the table before stays then.
   */
  change(changes: Iterable<readonly [number: number, state: ScopeState | undefined]>, definitions?: Uint8Array): void {
    const { words } = this.#heap;
    const before = this.block;
    const table = this.#heap.allocate(tableHead + chunks, treePart);
    if (before === 0) words.fill(0, table + 2, table + tableHead + chunks);
    else words.copyWithin(table + 2, before + 2, before + tableHead + chunks);
    words[table + 1] = 1;
    for (let at = table + 2; at < table + tableHead + chunks; at++) {
      if (words[at] !== 0) retain(words, words[at] as number);
    }
    try {
      if (definitions !== undefined) this.#setDefinitions(table, definitions);
      const own = new Set<number>();
      for (const [number, state] of changes) this.#set(this.#ownChunk(table, number, own), number, state);
    } catch (error) {
      this.release(table);
      throw error;
    }
    this.block = table;
    this.release(before);
  }

  /** Gives up a reference to a table; 0 is none. */
  release(table: number): void {
    const { words } = this.#heap;
    if (table === 0 || --(words[table + 1] as number) > 0) return;
    this.#releaseText(words[table + 2] as number);
    for (let i = 0; i < chunks; i++) this.#releaseChunk(words[table + tableHead + i] as number);
    this.#heap.free(table);
  }

  #setDefinitions(table: number, text: Uint8Array): void {
    const { words, buffer } = this.#heap;
    const block = this.#heap.allocate(textHead + Math.ceil(text.length / 4), treePart);
    words[block + 1] = 1;
    words[block + 2] = ++this.#serial;
    words[block + 3] = text.length;
    new Uint8Array(buffer).set(text, 4 * (block + textHead));
    this.#releaseText(words[table + 2] as number);
    words[table + 2] = block;
  }

  /** The chunk of a scope, which no other table has. */
  #ownChunk(table: number, number: number, own: Set<number>): number {
    const { words } = this.#heap;
    const at = table + tableHead + (number >>> chunkBits);
    const shared = words[at] as number;
    if (own.has(shared)) return shared;
    const chunk = this.#heap.allocate(chunkHead + chunkScopes, treePart);
    own.add(chunk);
    words[chunk + 1] = 1;
    if (shared === 0) words.fill(0, chunk + chunkHead, chunk + chunkHead + chunkScopes);
    else words.copyWithin(chunk + chunkHead, shared + chunkHead, shared + chunkHead + chunkScopes);
    for (let i = 0; i < chunkScopes; i++) {
      const snapshot = snapshotOf(words[chunk + chunkHead + i] as number);
      if (snapshot !== 0) retain(words, snapshot);
    }
    words[at] = chunk;
    this.#releaseChunk(shared);
    return chunk;
  }

  #set(chunk: number, number: number, state: ScopeState | undefined): void {
    const { words } = this.#heap;
    const at = chunk + chunkHead + (number & (chunkScopes - 1));
    const before = snapshotOf(words[at] as number);
    const snapshot = state?.snapshot ?? 0;
    if (snapshot !== 0) retain(words, snapshot);
    words[at] = snapshot | (state?.inherits === false ? isolatedBit : 0);
    if (before !== 0) this.#releaseSnapshot(before);
  }

  #releaseChunk(chunk: number): void {
    const { words } = this.#heap;
    if (chunk === 0 || --(words[chunk + 1] as number) > 0) return;
    for (let i = 0; i < chunkScopes; i++) {
      const snapshot = snapshotOf(words[chunk + chunkHead + i] as number);
      if (snapshot !== 0) this.#releaseSnapshot(snapshot);
    }
    this.#heap.free(chunk);
  }

  #releaseText(block: number): void {
    const { words } = this.#heap;
    if (block !== 0 && --(words[block + 1] as number) === 0) this.#heap.free(block);
  }
}

/** Returns the snapshot of what a table says of a scope; 0: it has no entries. */
export function snapshotOf(value: number): number {
  return value & ~isolatedBit;
}

/** Returns what a table, which is pinned, says of a scope; 0 for one that it does not know. */
export function scopeValue(words: Int32Array, table: number, number: number): number {
  const chunk = words[table + tableHead + (number >>> chunkBits)] as number;
  return chunk === 0 ? 0 : (words[chunk + chunkHead + (number & (chunkScopes - 1))] as number);
}

/** Tells whether global entries do not count in a scope. */
export function isIsolated(value: number): boolean {
  return (value & isolatedBit) !== 0;
}

/** The definitions of a table that is pinned: a number, which is another one for other definitions; 0 for none. */
export function definitionsSerial(words: Int32Array, table: number): number {
  const block = table === 0 ? 0 : (words[table + 2] as number);
  return block === 0 ? 0 : (words[block + 2] as number);
}

/** Reads their text. */
export function readDefinitions(words: Int32Array, table: number): string {
  const block = words[table + 2] as number;
  const start = 4 * (block + textHead);
  return Buffer.from(words.buffer, words.byteOffset).toString("utf8", start, start + (words[block + 3] as number));
}
