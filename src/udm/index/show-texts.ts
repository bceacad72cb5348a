import type { EntryTexts } from "../model/udm-index.ts";
import { jsonStart, jsonWord } from "./entry-block.ts";
import { blockOf } from "./node-layout.ts";
import type { TreeCursor } from "./tree-cursor.ts";

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
export function* showTexts(
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
