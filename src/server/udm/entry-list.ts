import { udmJson, type EntryTexts, type UdmEntry, type UdmIndex, type UdmSelection } from "../../metadata/index.ts";

/** What each entry is in an answer: itself, or its key. */
export type ListItems = "udms" | "keys";

/** Entries of one snapshot in list order, as the texts that they are kept as. Each call begins at the first entry; what it gives is gone through once. */
export interface EntryList {
  /** Where the JSON texts lie, up to {@link portionBytes} at a time. */
  texts(): Iterable<EntryTexts>;
  /** The texts as JSON with commas between them, in pieces of up to {@link portionBytes}. */
  rendered(items: ListItems): Iterable<Uint8Array>;
}

/** How much JSON is taken at a time: some hundred entries, less than a millisecond. */
export const portionBytes = 32_768;

/** Entries of an index. */
export function listOf(index: UdmIndex, selection: UdmSelection): EntryList {
  return new IndexList(index, selection);
}

/** Entries that are at hand. */
export function listOfEntries(entries: readonly UdmEntry[]): EntryList {
  return { texts: () => textsOf(entries), rendered: (items) => renderedOf(entries, items) };
}

/** A class, because closures of their own cost too much for each call. */
class IndexList implements EntryList {
  readonly #index: UdmIndex;
  readonly #selection: UdmSelection;

  constructor(index: UdmIndex, selection: UdmSelection) {
    this.#index = index;
    this.#selection = selection;
  }

  texts(): Iterable<EntryTexts> {
    return this.#index.jsonTexts(this.#selection, portionBytes);
  }

  rendered(items: ListItems): Iterable<Uint8Array> {
    return this.#index.render(this.#selection, items === "udms" ? "json" : "key", ",", portionBytes);
  }
}

function* textsOf(entries: readonly UdmEntry[]): Generator<EntryTexts, void> {
  for (let i = 0; i < entries.length;) {
    const texts: Buffer[] = [];
    const starts: number[] = [];
    const ends: number[] = [];
    let size = 0;
    for (; i < entries.length && size < portionBytes; i++) {
      const text = Buffer.from(udmJson(entries[i] as UdmEntry));
      texts.push(text);
      starts.push(size);
      size += text.length;
      ends.push(size);
    }
    yield { bytes: Buffer.concat(texts), starts, ends, count: starts.length };
  }
}

function* renderedOf(entries: readonly UdmEntry[], items: ListItems): Generator<Uint8Array, void> {
  for (let i = 0; i < entries.length;) {
    let text = "";
    for (; i < entries.length && text.length < portionBytes; i++) {
      const entry = entries[i] as UdmEntry;
      text += (i === 0 ? "" : ",") + (items === "udms" ? udmJson(entry) : JSON.stringify(entry.key.text));
    }
    yield Buffer.from(text);
  }
}
