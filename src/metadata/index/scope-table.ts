import { type Heap, treePart } from "./heap.ts";
import { retain } from "./tree-nodes.ts";

// The states of scopes by the number of the scope, in blocks that never change after they are published. Unchanged blocks are shared.
//   table  1 references   2 the definitions   3 –  chunks, by the upper bits of the number; 0 for none
//   chunk  1 references   2 –  rows of two words, by the lower bits: a snapshot, 0 for none, with 1 added where global entries do not count; layers, 0 for none
//   layers  1 references   2 how many   3 –  snapshots, in their order
//   definitions  1 references   2 a number of their own   3 bytes of their text   4 –  the text
const chunkBits = 7;
const chunkScopes = 2 ** chunkBits;
const chunks = 128;
const tableHead = 3;
const chunkHead = 2;
const rowWords = 2;
const chunkWords = chunkHead + rowWords * chunkScopes;
const layersHead = 3;
const textHead = 4;
/** The largest number of a scope. */
export const mostScopes = chunkScopes * chunks - 1;
const isolatedBit = 1;

/** The entries of a scope, for look-ups. */
export interface ScopeState {
  /** The snapshot of its own entries; 0 where it has none. */
  readonly snapshot: number;
  /** The snapshots of the sources' layers, in their order. */
  readonly layers: readonly number[];
  /** True where global entries apply after the scope's own entries. */
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
   * Puts a new table in force.
   *
   * @param changes by number; undefined for a removed scope.
   * @param definitions the new definitions; undefined keeps the present ones.
   * @throws HeapFullError; the previous table stays then.
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

  /** Releases a reference to a table; 0 is none. */
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

  /** Returns the chunk of a scope, and copies it first if another table shares it. */
  #ownChunk(table: number, number: number, own: Set<number>): number {
    const { words } = this.#heap;
    const at = table + tableHead + (number >>> chunkBits);
    const shared = words[at] as number;
    if (own.has(shared)) return shared;
    const chunk = this.#heap.allocate(chunkWords, treePart);
    own.add(chunk);
    words[chunk + 1] = 1;
    if (shared === 0) words.fill(0, chunk + chunkHead, chunk + chunkWords);
    else words.copyWithin(chunk + chunkHead, shared + chunkHead, shared + chunkWords);
    for (let row = chunk + chunkHead; row < chunk + chunkWords; row += rowWords) {
      const snapshot = ownSnapshot(words, row);
      const layers = words[row + 1] as number;
      if (snapshot !== 0) retain(words, snapshot);
      if (layers !== 0) retain(words, layers);
    }
    words[at] = chunk;
    this.#releaseChunk(shared);
    return chunk;
  }

  #set(chunk: number, number: number, state: ScopeState | undefined): void {
    const { words } = this.#heap;
    const row = rowOf(chunk, number);
    const [snapshotBefore, layersBefore] = [ownSnapshot(words, row), words[row + 1] as number];
    const layers = this.#writeLayers(state?.layers ?? []);
    const snapshot = state?.snapshot ?? 0;
    if (snapshot !== 0) retain(words, snapshot);
    words[row] = snapshot | (state?.inherits === false ? isolatedBit : 0);
    words[row + 1] = layers;
    if (snapshotBefore !== 0) this.#releaseSnapshot(snapshotBefore);
    this.#releaseLayers(layersBefore);
  }

  /** Writes the layers of a scope. @returns a block with one reference; 0 for no layers. */
  #writeLayers(snapshots: readonly number[]): number {
    if (snapshots.length === 0) return 0;
    const { words } = this.#heap;
    const block = this.#heap.allocate(layersHead + snapshots.length, treePart);
    words[block + 1] = 1;
    words[block + 2] = snapshots.length;
    words.set(snapshots, block + layersHead);
    for (const snapshot of snapshots) retain(words, snapshot);
    return block;
  }

  #releaseChunk(chunk: number): void {
    const { words } = this.#heap;
    if (chunk === 0 || --(words[chunk + 1] as number) > 0) return;
    for (let row = chunk + chunkHead; row < chunk + chunkWords; row += rowWords) {
      const snapshot = ownSnapshot(words, row);
      if (snapshot !== 0) this.#releaseSnapshot(snapshot);
      this.#releaseLayers(words[row + 1] as number);
    }
    this.#heap.free(chunk);
  }

  #releaseLayers(block: number): void {
    const { words } = this.#heap;
    if (block === 0 || --(words[block + 1] as number) > 0) return;
    for (let i = 0; i < (words[block + 2] as number); i++)
      this.#releaseSnapshot(words[block + layersHead + i] as number);
    this.#heap.free(block);
  }

  #releaseText(block: number): void {
    const { words } = this.#heap;
    if (block !== 0 && --(words[block + 1] as number) === 0) this.#heap.free(block);
  }
}

function rowOf(chunk: number, number: number): number {
  return chunk + chunkHead + rowWords * (number & (chunkScopes - 1));
}

function ownSnapshot(words: Int32Array, row: number): number {
  return (words[row] as number) & ~isolatedBit;
}

/** Returns the row of a scope in a pinned table; 0 where the table has no chunk for it. */
export function findScope(words: Int32Array, table: number, number: number): number {
  const chunk = words[table + tableHead + (number >>> chunkBits)] as number;
  return chunk === 0 ? 0 : rowOf(chunk, number);
}

/** Writes the states of a scope to the front of `states`: its own entries, then its layers. @returns the number of states. */
export function putScopeStates(words: Int32Array, row: number, states: Int32Array): number {
  let count = 0;
  const own = ownSnapshot(words, row);
  if (own !== 0) states[count++] = own;
  const layers = words[row + 1] as number;
  if (layers === 0) return count;
  const end = layers + layersHead + (words[layers + 2] as number);
  for (let at = layers + layersHead; at < end; at++) states[count++] = words[at] as number;
  return count;
}

/** Reports whether global entries do not apply in the scope of a row. */
export function isIsolated(words: Int32Array, row: number): boolean {
  return ((words[row] as number) & isolatedBit) !== 0;
}

/** Returns the serial of a pinned table's definitions, which differs for different definitions; 0 for none. */
export function definitionsSerial(words: Int32Array, table: number): number {
  const block = table === 0 ? 0 : (words[table + 2] as number);
  return block === 0 ? 0 : (words[block + 2] as number);
}

/** Reads the text of the definitions. */
export function readDefinitions(words: Int32Array, table: number): string {
  const block = words[table + 2] as number;
  const start = 4 * (block + textHead);
  return Buffer.from(words.buffer, words.byteOffset).toString("utf8", start, start + (words[block + 3] as number));
}
