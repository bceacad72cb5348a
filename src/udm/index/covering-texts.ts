import type { Family } from "../../ip/index.ts";
import type { EntryTexts } from "../model/udm-index.ts";
import { createCoveringSearch } from "./covering-entries.ts";
import { hasContexts, jsonStart, jsonWord } from "./entry-block.ts";
import { blockOf } from "./node-layout.ts";

/** Finds the texts of the entries that cover an address in a state that is held or pinned. */
export interface CoveringTexts {
  /** Of the last search; may be read until the next one, while the state is held. */
  readonly texts: EntryTexts;
  /** @returns false when the texts alone do not tell all that counts, as {@link AddressIndex.texts} says. */
  find(snapshot: number, family: Family, address: Int32Array): boolean;
}

const mostTexts = 16;
const quote = 0x22;
const slash = 0x2f;
/** Where the text of a key begins in JSON. */
const keyStart = '{"key":"'.length;
const rankOfRange = 1;
const rankOfIp = 2;

export function createCoveringTexts(buffer: SharedArrayBuffer): CoveringTexts {
  const words = new Int32Array(buffer);
  const bytes = new Uint8Array(buffer);
  const search = createCoveringSearch(words);
  const texts = { bytes, starts: Array<number>(mostTexts).fill(0), ends: Array<number>(mostTexts).fill(0), count: 0 };
  const sizes = new Int32Array(mostTexts);

  /** Grows with how specific a key is: the length of a prefix, more for an IP. Begins behind `{"key":"`. */
  const specificity = (start: number, rank: number): number => {
    if (rank === rankOfIp) return 1000;
    let at = start;
    while (bytes[at] !== slash) at++;
    let length = 0;
    for (at++; bytes[at] !== quote; at++) length = 10 * length + (bytes[at] as number) - 0x30;
    return length;
  };

  return {
    texts,
    find(snapshot, family, address) {
      const count = search.find(snapshot, family, address);
      if (count > mostTexts) return false;
      for (let i = 0; i < count; i++) {
        const item = search.items[i] as number;
        const block = blockOf(item);
        if ((item & 3) === rankOfRange || hasContexts(words, block)) return false;
        const start = jsonStart(words, block);
        const size = specificity(start + keyStart, item & 3);
        // Lists have the wider first, so that most go to the front. Of equal ones the first counts.
        let to = i;
        for (; to > 0 && (sizes[to - 1] as number) < size; to--) {
          sizes[to] = sizes[to - 1] as number;
          texts.starts[to] = texts.starts[to - 1] as number;
          texts.ends[to] = texts.ends[to - 1] as number;
        }
        sizes[to] = size;
        texts.starts[to] = start;
        texts.ends[to] = start + (words[block + jsonWord] as number);
      }
      texts.count = count;
      return true;
    },
  };
}
