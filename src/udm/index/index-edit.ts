import type { Family, Key } from "../../ip/index.ts";
import type { UdmEntry } from "../model/udm-entry.ts";
import type { UdmEdit, UdmIndex } from "../model/udm-index.ts";
import { mostChanges } from "./change-ring.ts";
import type { EntryReader, EntryWriter } from "./entry-block.ts";
import { findKey } from "./find-key.ts";
import type { ChangesOf } from "./held-snapshot.ts";
import { HeapFullError, type Heap } from "./heap.ts";
import { fullError, tooManyError, type IndexLimits } from "./index-limits.ts";
import { createKeyWords, setKeyWords } from "./key-words.ts";
import { blockOf, layouts, retain } from "./node-layout.ts";
import type { Releaser } from "./release-tree.ts";
import { rootOf, sizeOf, versionOf, writeSnapshot } from "./snapshot-record.ts";
import { allocationsOfChange, createTreeEditor, type TreeEditor } from "./tree-edit.ts";

/** About what a small change leaves behind. */
export const snapshotWeight = 8 * 1024;
/** Of an entry of a big change. */
const entryWeight = 64;

export interface IndexEditParts {
  readonly heap: Heap;
  readonly limits: IndexLimits;
  readonly reader: EntryReader;
  readonly writer: () => EntryWriter;
  readonly releaser: Releaser;
  /** Frees some of what was given up, the rest in later turns. */
  readonly freeSome: () => void;
  /** Frees all that was given up. */
  readonly freeAll: () => void;
  /** Gives a state an object, which holds it. */
  readonly show: (snapshot: number, changes: ChangesOf | undefined, weight: number) => UdmIndex;
}

/** Makes the edits of an index: each works on roots of its own until it is done or dropped, or is garbage. */
export function createIndexEdits(parts: IndexEditParts): {
  /** @param since the serial of the state `before`. */
  begin(before: number, since: number): UdmEdit;
} {
  const { heap, limits, reader, writer, releaser, freeSome, freeAll, show } = parts;
  const { words } = heap;
  const editors: Readonly<Record<Family, TreeEditor>> = {
    4: createTreeEditor(heap, layouts[4], releaser),
    6: createTreeEditor(heap, layouts[6], releaser),
  };
  const keyWords = createKeyWords();
  const lost = new FinalizationRegistry<Roots>((roots) => release(roots));

  const release = (roots: Roots): void => {
    for (const family of [4, 6] as const) {
      releaser.tree(layouts[family], roots[family]);
      roots[family] = 0;
    }
    freeSome();
  };

  /** Makes sure that a change of a tree cannot fail in its middle. */
  const makeRoom = (): void => {
    if (heap.hasRoom(allocationsOfChange)) return;
    freeAll();
    if (!heap.hasRoom(allocationsOfChange)) throw fullError(heap, limits);
  };

  const writeEntry = (entry: UdmEntry, yaml: string | undefined): number => {
    try {
      return writer().write(entry, keyWords, yaml);
    } catch (error) {
      if (!(error instanceof HeapFullError)) throw error;
    }
    freeAll();
    try {
      return writer().write(entry, keyWords, yaml);
    } catch (error) {
      throw error instanceof HeapFullError ? fullError(heap, limits) : error;
    }
  };

  const begin = (before: number, since: number): UdmEdit => {
    const roots: Roots = { 4: rootOf(words, before, 4), 6: rootOf(words, before, 6) };
    const version = versionOf(words, before) + 1;
    /** What is garbage when the edit is. */
    const state = { size: sizeOf(words, before), puts: 0, isDone: false };
    /** Of entries that may have changed; undefined when there are too many. */
    let keys: Key[] | undefined = [];
    const noteKey = (key: Key): void => {
      if (keys === undefined || keys.length < mostChanges) keys?.push(key);
      else keys = undefined;
    };
    retainRoots(words, roots);
    lost.register(state, roots, state);
    const find = (key: Key): number => {
      if (state.isDone) throw new Error("this edit is done");
      return findKey(words, layouts[key.family], roots[key.family], setKeyWords(keyWords, key));
    };
    const end = (): void => {
      if (state.isDone) throw new Error("this edit is done");
      state.isDone = true;
      lost.unregister(state);
    };
    return {
      get size() {
        return state.size;
      },
      get(key) {
        const item = find(key);
        return item === 0 ? undefined : reader.entry(blockOf(item));
      },
      put(entry, yaml) {
        const { family } = entry.key;
        const isNew = find(entry.key) === 0;
        if (isNew && state.size >= limits.maxEntries) throw tooManyError(limits);
        const block = writeEntry(entry, yaml);
        try {
          makeRoom();
        } catch (error) {
          heap.free(block);
          throw error;
        }
        noteKey(entry.key);
        roots[family] = editors[family].put(roots[family], keyWords, block | keyWords.rank);
        if (isNew) state.size++;
        state.puts++;
      },
      delete(key) {
        if (find(key) === 0) return false;
        makeRoom();
        noteKey(key);
        roots[key.family] = editors[key.family].remove(roots[key.family], keyWords);
        state.size--;
        return true;
      },
      mark() {
        const kept: Roots = { ...roots };
        const { size } = state;
        retainRoots(words, kept);
        return {
          undo() {
            release(roots);
            Object.assign(roots, kept);
            state.size = size;
          },
          keep: () => release(kept),
        };
      },
      done() {
        makeRoom();
        end();
        const snapshot = writeSnapshot(heap, { root4: roots[4], root6: roots[6], size: state.size, version });
        return show(snapshot, keys && { since, keys }, Math.max(snapshotWeight, state.puts * entryWeight));
      },
      drop() {
        end();
        release(roots);
      },
    };
  };

  return { begin };
}

type Roots = Record<Family, number>;

function retainRoots(words: Int32Array, roots: Roots): void {
  for (const family of [4, 6] as const) if (roots[family] !== 0) retain(words, roots[family]);
}
