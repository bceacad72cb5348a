import type { Family } from "../../ip/index.ts";
import type { UdmEntry } from "../model/udm-entry.ts";
import { sameEntry } from "../model/same-entry.ts";
import { createEntryReader, createEntryWriter, type RenderedTexts } from "./entry-block.ts";
import { createLentHeap, HeapFullError, type HeapLoan, type HeapReturn } from "./heap.ts";
import { fullError, type IndexLimits } from "./index-limits.ts";
import { createKeyWords, setKeyWords, type KeyWords } from "./key-words.ts";
import { blockOf, layouts } from "./node-layout.ts";
import { rootOf, sizeOf } from "./snapshot-record.ts";
import { createStateBuilder } from "./state-builder.ts";
import { createCursor } from "./tree-cursor.ts";

/** What a thread needs to build a state of an index; goes through `postMessage`. */
export interface IndexLoan {
  readonly heap: HeapLoan;
  readonly limits: IndexLimits;
  /** The state before, which stays as it is meanwhile; 0 for none. */
  readonly before: number;
  readonly version: number;
  /** Of the last block that was written. */
  readonly serial: number;
}

/** What the thread made of it. */
export interface IndexReturn {
  /** A state with one holder. */
  readonly snapshot: number;
  readonly serial: number;
  readonly heap: HeapReturn;
}

/** Builds a state in memory that another thread has lent. What is not finished need not be given up. */
export interface LentBuilder {
  readonly size: number;
  /** @param yaml as `renderEntry` has it, if it is known. @throws UdmError `resource_exhausted` */
  add(entry: UdmEntry, yaml?: string): void;
  /** The same for an entry whose texts are known already ({@link EntryWriter.writeTexts}). */
  addTexts(family: Family, key: KeyWords, texts: RenderedTexts): void;
  /** Puts the entries in list order. @returns whether no two of them have one key. */
  sort(): boolean;
  /** Whether they were added in that order. */
  isInOrder(): boolean;
  /**
   * To be called after `sort`, once.
   *
   * @returns undefined when the state before has the same entries. @throws UdmError `resource_exhausted`
   */
  finish(): IndexReturn | undefined;
}

const cachedEntries = 16;
const batchItems = 1024;

/** Each call begins with all of the lent memory: what an earlier builder of the loan made is gone. */
export function createLentBuilder(loan: IndexLoan): LentBuilder {
  const { limits, before } = loan;
  const heap = createLentHeap(loan.heap);
  const { words } = heap;
  const writer = createEntryWriter(heap, loan.serial);
  const reader = createEntryReader(heap.buffer, cachedEntries);
  const builder = createStateBuilder(heap, limits);
  const keyWords = createKeyWords();

  const explain = (error: unknown): unknown => (error instanceof HeapFullError ? fullError(heap, limits) : error);

  const isSame = (item: number, other: number): boolean =>
    reader.isSame(blockOf(item), blockOf(other)) ||
    isSameEntry(reader.entry(blockOf(item)), reader.entry(blockOf(other)));

  const isAsBefore = (): boolean => {
    if (before === 0 || sizeOf(words, before) !== builder.size) return false;
    const items = new Int32Array(batchItems);
    for (const family of [4, 6] as const) {
      const cursor = createCursor(words, layouts[family], rootOf(words, before, family));
      let count = cursor.next(items);
      let i = 0;
      for (const item of builder.items(family)) {
        if (i === count) {
          count = cursor.next(items);
          i = 0;
        }
        if (i === count || !isSame(item, items[i++] as number)) return false;
      }
    }
    return true;
  };

  return {
    get size() {
      return builder.size;
    },
    add(entry, yaml) {
      builder.checkRoom();
      const { family } = entry.key;
      setKeyWords(keyWords, entry.key);
      try {
        builder.add(family, keyWords, writer.write(entry, keyWords, yaml));
      } catch (error) {
        throw explain(error);
      }
    },
    addTexts(family, key, texts) {
      builder.checkRoom();
      try {
        builder.add(family, key, writer.writeTexts(family, key, texts));
      } catch (error) {
        throw explain(error);
      }
    },
    sort: () => builder.sort() === 0,
    isInOrder: () => builder.isInOrder(),
    finish() {
      if (isAsBefore()) return undefined;
      try {
        const snapshot = builder.finish(loan.version);
        return { snapshot, serial: writer.serial(), heap: heap.giveBack() };
      } catch (error) {
        throw explain(error);
      }
    },
  };
}

function isSameEntry(a: UdmEntry, b: UdmEntry): boolean {
  return a.key.text === b.key.text && sameEntry(a, b);
}
