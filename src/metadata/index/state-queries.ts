import { blockOf, type TreeCursor, layouts, createCursor, cursorOver, findKey } from "./tree-nodes.ts";
import type { UdmText, EntryTexts, UdmIndex, UdmSelection } from "../model/udm-store.ts";
import { jsonStart, jsonWord, yamlWord, type EntryReader } from "./entry-block.ts";
import type { Address, Family, Key } from "../../base/ip/index.ts";
import type { UdmEntry } from "../model/entry.ts";
import { createCoveringSearch } from "./covering-entries.ts";
import { createCoveringTexts } from "./covering-texts.ts";
import { addressWords, createKeyWords, setKeyWords } from "./key-limbs.ts";
import { rootOf } from "./snapshots.ts";

/** Items read from a tree at a time: few at first, because most answers are short, and V8 keeps up to 64 bytes in its own heap. */
const firstRendered = 16;
const mostRendered = 4096;

/**
 * Copies one text of each item, with bytes between them, into pieces of up to `maxBytes`; a text that is longer makes a piece
 * of its own.
 *
 * @param check is called before memory is read; throws when it is not held any more.
 */
function* renderItems(
  cursors: readonly TreeCursor[],
  texts: RenderedTexts,
  text: UdmText,
  separator: Uint8Array,
  maxBytes: number,
  check: () => void,
): Generator<Uint8Array, void> {
  const place: TextPlace = { start: 0, length: 0 };
  let items = new Int32Array(firstRendered);
  let isFirst = true;
  for (const cursor of cursors) {
    for (;;) {
      check();
      const count = cursor.next(items);
      for (let from = 0; from < count;) {
        check();
        let bytes = 0;
        let to = from;
        for (; to < count; to++) {
          texts.find(text, blockOf(items[to] as number), place);
          const more = place.length + separator.length;
          if (to > from && bytes + more > maxBytes) break;
          bytes += more;
        }
        const piece = Buffer.allocUnsafe(isFirst ? bytes - separator.length : bytes);
        const view = new DataView(piece.buffer, piece.byteOffset, piece.length);
        let at = 0;
        for (let i = from; i < to; i++) {
          if (!isFirst) for (let s = 0; s < separator.length; s++) piece[at++] = separator[s] as number;
          isFirst = false;
          texts.find(text, blockOf(items[i] as number), place);
          texts.copy(place, view, at);
          at += place.length;
        }
        from = to;
        yield piece;
      }
      if (count < items.length) break;
      if (items.length < mostRendered) items = new Int32Array(8 * items.length);
    }
  }
}

/** The texts that an entry keeps rendered, as bytes of the heap. */
interface RenderedTexts {
  /** Finds where a text of an entry is. */
  find(text: UdmText, block: number, place: TextPlace): void;
  copy(place: TextPlace, into: DataView, at: number): void;
}

/** In bytes of the heap. */
interface TextPlace {
  start: number;
  length: number;
}

/** Below this a loop is faster than asking the system. */
const manyBytes = 512;
const quote = 0x22;
/** Where the quotes of the key begin in every entry's JSON. */
const keyStart = '{"key":'.length;

function createRenderedTexts(buffer: SharedArrayBuffer): RenderedTexts {
  const words = new Int32Array(buffer);
  const bytes = Buffer.from(buffer);
  const view = new DataView(buffer);
  return {
    find(text, block, place) {
      const json = jsonStart(words, block);
      if (text === "json") {
        place.start = json;
        place.length = words[block + jsonWord] as number;
      } else if (text === "yaml") {
        place.start = json + (words[block + jsonWord] as number);
        place.length = words[block + yamlWord] as number;
      } else {
        place.start = json + keyStart;
        // A key has no character that JSON escapes.
        let end = place.start + 1;
        while (bytes[end] !== quote) end++;
        place.length = end + 1 - place.start;
      }
    },
    copy({ start, length }, into, at) {
      if (length >= manyBytes) {
        new Uint8Array(into.buffer, into.byteOffset + at, length).set(bytes.subarray(start, start + length));
        return;
      }
      let i = 0;
      for (; i + 4 <= length; i += 4) into.setInt32(at + i, view.getInt32(start + i, true), true);
      for (; i < length; i++) into.setUint8(at + i, bytes[start + i] as number);
    },
  };
}

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
interface StateQuestions {
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
