import type { Address, Family, Key } from "../../base/ip/index.ts";
import type { UdmEntry } from "../model/entry.ts";
import type { CoveringEntryTexts, EntryTexts, UdmEdit, UdmIndex, UdmSelection, UdmText } from "../model/udm-store.ts";
import { CoveringSearch } from "./covering-entries.ts";
import { CoveringTexts } from "./entry-precedence.ts";
import { jsonStart, jsonWord, yamlWord, type EntryReader } from "./entry-block.ts";
import { addressWords, createKeyWords, setKeyWords } from "./key-limbs.ts";
import { rootOf, sizeOf, versionOf, type ChangesOf } from "./snapshots.ts";
import { blockOf, layouts, TreeCursor, findKey } from "./tree-nodes.ts";

/** The location of a text of an entry, in bytes of the heap. */
interface TextLocation {
  start: number;
  length: number;
}

/** The number of bytes below which a loop is faster than a system call. */
const manyBytes = 512;
const quote = 0x22;
/** The offset of the quotes of the key in every entry's JSON. */
const keyStart = '{"key":'.length;

/** Reads states of one heap, in the thread that owns them. */
export class StateReading {
  readonly words: Int32Array;
  readonly bytes: Buffer;
  readonly reader: EntryReader;
  readonly search: CoveringSearch;
  readonly coveringTexts: CoveringTexts;
  readonly keyWords = createKeyWords();
  /** Room for the one state that {@link CoveringTexts.find} searches. */
  readonly state = new Int32Array(1);
  readonly #view: DataView;

  constructor(buffer: SharedArrayBuffer, reader: EntryReader) {
    this.words = new Int32Array(buffer);
    this.bytes = Buffer.from(buffer);
    this.reader = reader;
    this.search = new CoveringSearch(this.words);
    this.coveringTexts = new CoveringTexts(buffer);
    this.#view = new DataView(buffer);
  }

  /** Finds the location of a text of an entry. */
  find(text: UdmText, block: number, location: TextLocation): void {
    const json = jsonStart(this.words, block);
    if (text === "json") {
      location.start = json;
      location.length = this.words[block + jsonWord] as number;
    } else if (text === "yaml") {
      location.start = json + (this.words[block + jsonWord] as number);
      location.length = this.words[block + yamlWord] as number;
    } else {
      location.start = json + keyStart;
      // A key has no character that JSON must escape.
      let end = location.start + 1;
      while (this.bytes[end] !== quote) end++;
      location.length = end + 1 - location.start;
    }
  }

  copy({ start, length }: TextLocation, into: DataView, at: number): void {
    if (length >= manyBytes) {
      new Uint8Array(into.buffer, into.byteOffset + at, length).set(this.bytes.subarray(start, start + length));
      return;
    }
    const [view, bytes] = [this.#view, this.bytes];
    let i = 0;
    for (; i + 4 <= length; i += 4) into.setInt32(at + i, view.getInt32(start + i, true), true);
    for (; i < length; i++) into.setUint8(at + i, bytes[start + i] as number);
  }
}

/** The items of the first read from a tree. They are few because most answers are short, and V8 keeps up to 64 bytes in its own heap. */
const firstItems = 16;
/** The most items for a chunk of text. They are many because chunks have the size that the saver passes on without copying. */
const mostRendered = 4096;
const mostShown = 512;
const mostEntries = 256;

/**
 * One state of the database, for the writing thread. The state is freed when the object is released or collected as garbage. It stays
 * while one of its iterators is in use.
 */
export class IndexState implements UdmIndex {
  readonly version: number;
  readonly size: number;
  /** The state's block; 0 after it was released. */
  snapshot: number;
  /** A number that differs for each state. */
  readonly serial: number;
  /** The changes that made this state; undefined where it was not made from another one, or by too many changes. */
  changes: ChangesOf | undefined;
  readonly reading: StateReading;
  readonly #begin: (before: IndexState) => UdmEdit;
  /**
   * Unused memory that makes the garbage collector run in time, because it does not know how much shared memory an object
   * keeps.
   */
  readonly weight: ArrayBuffer | undefined;

  /** @param begin begins an edit. @param weight the bytes of unused memory that make the garbage collector run in time. */
  constructor(
    reading: StateReading,
    begin: (before: IndexState) => UdmEdit,
    snapshot: number,
    serial: number,
    changes: ChangesOf | undefined,
    weight: number,
  ) {
    this.reading = reading;
    this.#begin = begin;
    this.snapshot = snapshot;
    this.serial = serial;
    this.changes = changes;
    this.weight = weight === 0 ? undefined : new ArrayBuffer(weight);
    this.version = versionOf(reading.words, snapshot);
    this.size = sizeOf(reading.words, snapshot);
  }

  /** Returns the state's block. @throws Error when it was released, which may happen between two steps of an iterator. */
  held(): number {
    if (this.snapshot === 0) throw new Error("this state of the metadata was released");
    return this.snapshot;
  }

  get(key: Key): UdmEntry | undefined {
    const item = this.#itemOf(key);
    return item === 0 ? undefined : this.reading.reader.entry(blockOf(item));
  }

  covering(address: Address): UdmEntry[] {
    const { reader } = this.reading;
    return Array.from(this.#itemsCovering(address), (item) => reader.entry(blockOf(item)));
  }

  texts<T>(addresses: Int32Array, count: number, use: (read: (i: number) => CoveringEntryTexts) => T): T {
    const { state, coveringTexts } = this.reading;
    state[0] = this.held();
    coveringTexts.find(addresses, count, state, oneState);
    return use(coveringTexts.read);
  }

  within(bounds: Key): Iterable<UdmEntry> {
    return { [Symbol.iterator]: () => this.#entriesOf({ within: bounds }) };
  }

  entries(): Iterable<UdmEntry> {
    return { [Symbol.iterator]: () => this.#entriesOf("all") };
  }

  render(selection: UdmSelection, text: UdmText, separator: string, maxBytes: number): Generator<Uint8Array, void> {
    return this.#render(this.#select(selection, mostRendered), text, Buffer.from(separator), maxBytes);
  }

  jsonTexts(selection: UdmSelection, maxBytes: number): Generator<EntryTexts, void> {
    return this.#jsonTexts(this.#select(selection, mostShown), maxBytes);
  }

  edit(): UdmEdit {
    this.held();
    return this.#begin(this);
  }

  #root(family: Family): number {
    return rootOf(this.reading.words, this.held(), family);
  }

  #itemOf(key: Key): number {
    const { words, keyWords } = this.reading;
    const { family } = key;
    return findKey(words, layouts[family], rootOf(words, this.held(), family), setKeyWords(keyWords, key));
  }

  /** Returns a copy of the found items, because the next search overwrites them. */
  #itemsCovering({ family, value }: Address): Int32Array {
    const { search } = this.reading;
    const count = search.find(this.held(), family, addressWords({ family, value }));
    return search.items.slice(0, count);
  }

  /** Returns the items of entries, some at a time. @param most the most items at a time. */
  #select(selection: UdmSelection, most: number): Iterable<Int32Array> {
    const { words } = this.reading;
    if (selection === "all") {
      const cursors = ([4, 6] as const).map((family) => new TreeCursor(words, layouts[family], this.#root(family)));
      return this.#batches(cursors, most);
    }
    if ("within" in selection) {
      const { family } = selection.within;
      const bounds = setKeyWords(createKeyWords(), selection.within);
      return this.#batches([new TreeCursor(words, layouts[family], this.#root(family), bounds)], most);
    }
    if ("covering" in selection) return [this.#itemsCovering(selection.covering)];
    const item = this.#itemOf(selection.key);
    return item === 0 ? [] : [Int32Array.of(item)];
  }

  *#batches(cursors: readonly TreeCursor[], most: number): Generator<Int32Array, void> {
    let items = new Int32Array(firstItems);
    for (const cursor of cursors) {
      for (;;) {
        this.held();
        const count = cursor.next(items);
        yield count < items.length ? items.subarray(0, count) : items;
        if (count < items.length) break;
        if (items.length < most) items = new Int32Array(8 * items.length);
      }
    }
  }

  *#entriesOf(selection: UdmSelection): Generator<UdmEntry, void> {
    for (const items of this.#select(selection, mostEntries)) {
      for (const item of items) {
        this.held();
        yield this.reading.reader.passing(blockOf(item));
      }
    }
  }

  /** Copies one text of each item, with a separator between them. A text longer than `maxBytes` gets its own chunk. */
  *#render(
    batches: Iterable<Int32Array>,
    text: UdmText,
    separator: Uint8Array,
    maxBytes: number,
  ): Generator<Uint8Array, void> {
    const { reading } = this;
    const location: TextLocation = { start: 0, length: 0 };
    let isFirst = true;
    for (const items of batches) {
      for (let from = 0; from < items.length;) {
        this.held();
        let bytes = 0;
        let to = from;
        for (; to < items.length; to++) {
          reading.find(text, blockOf(items[to] as number), location);
          const more = location.length + separator.length;
          if (to > from && bytes + more > maxBytes) break;
          bytes += more;
        }
        const chunk = Buffer.allocUnsafe(isFirst ? bytes - separator.length : bytes);
        const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.length);
        let at = 0;
        for (let i = from; i < to; i++) {
          if (!isFirst) for (let s = 0; s < separator.length; s++) chunk[at++] = separator[s] as number;
          isFirst = false;
          reading.find(text, blockOf(items[i] as number), location);
          reading.copy(location, view, at);
          at += location.length;
        }
        from = to;
        yield chunk;
      }
    }
  }

  /** Yields the positions of the items' JSON, for at least one item. It yields the same object each time. */
  *#jsonTexts(batches: Iterable<Int32Array>, maxBytes: number): Generator<EntryTexts, void> {
    const { words, bytes } = this.reading;
    // Most answers have one entry. An empty list would grow to 17 places for it.
    const shown = { bytes, starts: [0], ends: [0], count: 0 };
    for (const items of batches) {
      for (let from = 0; from < items.length;) {
        this.held();
        let shownBytes = 0;
        let to = from;
        for (; to < items.length; to++) {
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
    }
  }
}

const oneState = (): number => 1;
