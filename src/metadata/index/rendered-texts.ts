import type { UdmText } from "../model/udm-index.ts";
import { jsonStart, jsonWord, yamlWord } from "./entry-block.ts";

/** The texts that an entry keeps rendered, as bytes of the heap. */
export interface RenderedTexts {
  /** Finds where a text of an entry is. */
  find(text: UdmText, block: number, place: TextPlace): void;
  copy(place: TextPlace, into: DataView, at: number): void;
}

/** In bytes of the heap. */
export interface TextPlace {
  start: number;
  length: number;
}

/** Below this a loop is faster than asking the system. */
const manyBytes = 512;
const quote = 0x22;
/** Where the quotes of the key begin in every entry's JSON. */
const keyStart = '{"key":'.length;

export function createRenderedTexts(buffer: SharedArrayBuffer): RenderedTexts {
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
