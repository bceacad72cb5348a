import type { EntryTexts, UdmIndex, UdmSelection } from "../model/udm-index.ts";
import { jsonStart, jsonWord, type EntryReader } from "./entry-block.ts";
import { blockOf, layouts } from "./node-layout.ts";
import { type TreeCursor, createCursor, cursorOver } from "./tree-cursor.ts";
import type { Address, Family, Key } from "../../base/ip/index.ts";
import type { UdmEntry } from "../model/udm-entry.ts";
import { createCoveringSearch } from "./covering-entries.ts";
import { createCoveringTexts } from "./covering-texts.ts";
import { createRenderedTexts } from "./rendered-texts.ts";
import { findKey } from "./find-key.ts";
import { addressWords, createKeyWords, setKeyWords } from "./key-words.ts";
import { renderItems } from "./render-items.ts";
import { rootOf } from "./snapshot-record.ts";

/** Items read from a tree at a time: few at first, because most answers are short, and V8 keeps up to 64 bytes in its own heap. */
const firstItems = 16;
const mostItems = 512;

/**
 * Shows where the JSON of each item lies, as many items at a time as have up to `maxBytes`, one at least. What is given is the
 * same object each time.
 *
 * @param words the heap; `bytes` too.
 * @param check is called before memory is read; throws when it is not held any more.
 */
function* showTexts(
  words: Int32Array,
  bytes: Uint8Array,
  cursors: readonly TreeCursor[],
  maxBytes: number,
  check: () => void,
): Generator<EntryTexts, void> {
  // An empty list would grow to 17 places for the one entry that most answers have.
  const shown = { bytes, starts: [0], ends: [0], count: 0 };
  let items = new Int32Array(firstItems);
  for (const cursor of cursors) {
    for (;;) {
      check();
      const count = cursor.next(items);
      for (let from = 0; from < count;) {
        check();
        let shownBytes = 0;
        let to = from;
        for (; to < count; to++) {
          const block = blockOf(items[to] as number);
          const length = words[block + jsonWord] as number;
          if (to > from && shownBytes + length > maxBytes) break;
          shownBytes += length;
          const start = jsonStart(words, block);
          shown.starts[to - from] = start;
          shown.ends[to - from] = start + length;
        }
        shown.count = to - from;
        from = to;
        yield shown;
      }
      if (count < items.length) break;
      if (items.length < mostItems) items = new Int32Array(4 * items.length);
    }
  }
}

type Questions = Pick<UdmIndex, "get" | "covering" | "texts" | "within" | "entries" | "render" | "jsonTexts">;

/** Answers what is asked of states that this thread holds. */
export interface StateQuestions {
  /** @param held the state; throws when it was given up, which may happen between two steps of an iterator. */
  of(held: () => number): Questions;
}

/** Items read from a tree at a time. */
const batchItems = 256;

export function createStateQuestions(buffer: SharedArrayBuffer, reader: EntryReader): StateQuestions {
  const words = new Int32Array(buffer);
  const bytes = new Uint8Array(buffer);
  const search = createCoveringSearch(words);
  const texts = createRenderedTexts(buffer);
  const coveringTexts = createCoveringTexts(buffer);
  const keyWords = createKeyWords();
  const state = new Int32Array(1);

  const oneState = (): number => 1;

  const of = (held: () => number): Questions => {
    const root = (family: Family): number => rootOf(words, held(), family);
    const entryOf = (item: number): UdmEntry => reader.entry(blockOf(item));
    const all = (): TreeCursor[] => [
      createCursor(words, layouts[4], root(4)),
      createCursor(words, layouts[6], root(6)),
    ];
    const inBounds = (bounds: Key): TreeCursor => {
      const { first, last } = setKeyWords(createKeyWords(), bounds);
      return createCursor(words, layouts[bounds.family], root(bounds.family), { first, last });
    };
    const itemOf = (key: Key): number =>
      findKey(words, layouts[key.family], root(key.family), setKeyWords(keyWords, key));
    const find = (address: Address): number => search.find(held(), address.family, addressWords(address));
    const select = (selection: UdmSelection): TreeCursor[] => {
      if (selection === "all") return all();
      if ("within" in selection) return [inBounds(selection.within)];
      if ("covering" in selection) {
        const count = find(selection.covering);
        // Asked for after the search, which may have taken a longer list; copied, because it is gone with the next search.
        return [cursorOver(search.items.slice(0, count))];
      }
      const item = itemOf(selection.key);
      return item === 0 ? [] : [cursorOver([item])];
    };
    const read = function* (cursors: readonly TreeCursor[]): Generator<UdmEntry, void> {
      const items = new Int32Array(batchItems);
      for (const cursor of cursors) {
        for (let count = cursor.next(items); count > 0; count = cursor.next(items)) {
          for (let i = 0; i < count; i++) {
            held();
            yield reader.passing(blockOf(items[i] as number));
          }
        }
      }
    };
    return {
      get(key) {
        const item = itemOf(key);
        return item === 0 ? undefined : entryOf(item);
      },
      covering(address) {
        const count = find(address);
        const found: UdmEntry[] = [];
        for (let i = 0; i < count; i++) found.push(entryOf(search.items[i] as number));
        return found;
      },
      texts(addresses, count, use) {
        state[0] = held();
        coveringTexts.find(addresses, count, state, oneState);
        return use(coveringTexts.read);
      },
      within: (bounds) => iterable(() => read([inBounds(bounds)])),
      entries: () => iterable(() => read(all())),
      render: (selection, text, separator, maxBytes) =>
        renderItems(select(selection), texts, text, Buffer.from(separator), maxBytes, held),
      jsonTexts: (selection, maxBytes) => showTexts(words, bytes, select(selection), maxBytes, held),
    };
  };
  return { of };
}

/** Unlike a generator it may be iterated more than once. */
function iterable(start: () => Iterator<UdmEntry>): Iterable<UdmEntry> {
  return { [Symbol.iterator]: start };
}
