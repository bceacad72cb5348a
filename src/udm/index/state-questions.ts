import type { Address, Family, Key } from "../../ip/index.ts";
import type { UdmEntry } from "../model/udm-entry.ts";
import type { UdmIndex, UdmSelection } from "../model/udm-index.ts";
import { createCoveringSearch } from "./covering-entries.ts";
import { createCoveringTexts } from "./covering-texts.ts";
import type { EntryReader } from "./entry-block.ts";
import { createRenderedTexts } from "./rendered-texts.ts";
import { findKey } from "./find-key.ts";
import { addressWords, createKeyWords, setKeyWords } from "./key-words.ts";
import { blockOf, layouts } from "./node-layout.ts";
import { renderItems } from "./render-items.ts";
import { showTexts } from "./show-texts.ts";
import { rootOf } from "./snapshot-record.ts";
import { createCursor, cursorOver, type TreeCursor } from "./tree-cursor.ts";

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
