import { blockOf } from "./node-layout.ts";
import type { RenderedTexts, TextPlace } from "./rendered-texts.ts";
import type { TreeCursor } from "./tree-cursor.ts";
import type { UdmText } from "../model/udm-index.ts";

/** Items read from a tree at a time: few at first, because most answers are short, and V8 keeps up to 64 bytes in its own heap. */
const firstItems = 16;
const mostItems = 4096;

/**
 * Copies one text of each item, with bytes between them, into pieces of up to `maxBytes`; a text that is longer makes a piece
 * of its own.
 *
 * @param check is called before memory is read; throws when it is not held any more.
 */
export function* renderItems(
  cursors: readonly TreeCursor[],
  texts: RenderedTexts,
  text: UdmText,
  separator: Uint8Array,
  maxBytes: number,
  check: () => void,
): Generator<Uint8Array, void> {
  const place: TextPlace = { start: 0, length: 0 };
  let items = new Int32Array(firstItems);
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
      if (items.length < mostItems) items = new Int32Array(8 * items.length);
    }
  }
}
