import type { Family, Key } from "../../base/ip/index.ts";
import { createKeyWords, setKeyWords } from "./key-words.ts";

// Where layers have entries, for all threads: words with a bit for each layer. A bit once set stays, so that a layer may be searched in vain,
// but is never passed over wrongly. Of a key that lies in one /24 (IPv6: /48) the word is found by a hash of that, of wider ones by
// each /16 (/32) that they touch; the widest set the bit for all addresses of their family.
const narrowWords = 2 ** 20;
const wideWords = 2 ** 16;
const firstWide = narrowWords;
const everywhere = firstWide + wideWords;
const hashFactor = 0x9e37_79b1;
/** More wide places than this are everywhere. */
const mostWide = 256;
/** The sign bit stays unused. */
const mostLayers = 31;

/** Where one layer has entries. */
export interface LayerPlaces {
  /** Its bit. */
  readonly bit: number;
  /** To be called before a state that has the key is published. */
  add(key: Key): void;
}

export function createPlacesBuffer(): SharedArrayBuffer {
  return new SharedArrayBuffer((everywhere + 7) * 4);
}

/** Gives each layer its places; undefined when there are no more bits: such a layer is always searched. */
export function createPlacesWriter(buffer: SharedArrayBuffer): () => LayerPlaces | undefined {
  const words = new Int32Array(buffer);
  const keyWords = createKeyWords();
  let taken = 0;

  const add = (bit: number, key: Key): void => {
    const { first, last } = setKeyWords(keyWords, key);
    if (areNear(key.family, first, last)) {
      (words[narrowPlace(key.family, first)] as number) |= bit;
      return;
    }
    const from = wideNumber(key.family, first);
    const to = wideNumber(key.family, last);
    if (to - from >= mostWide) {
      (words[everywhere + key.family] as number) |= bit;
      return;
    }
    for (let n = from; n <= to; n++) (words[widePlace(key.family, n)] as number) |= bit;
  };

  return () => {
    if (taken === mostLayers) return undefined;
    const bit = 1 << taken++;
    return { bit, add: (key) => add(bit, key) };
  };
}

/** Gives the bits of the layers that may have entries that cover an address; those without a bit are not known. */
export function createPlacesReader(buffer: SharedArrayBuffer): (family: Family, address: Int32Array) => number {
  const words = new Int32Array(buffer);
  return (family, address) =>
    (words[narrowPlace(family, address)] as number) |
    (words[widePlace(family, wideNumber(family, address))] as number) |
    (words[everywhere + family] as number);
}

/** Whether two addresses lie in one /24, of IPv6 in one /48. */
function areNear(family: Family, one: Int32Array, other: Int32Array): boolean {
  if (family === 4) return (one[0] as number) >> 8 === (other[0] as number) >> 8;
  return one[0] === other[0] && (one[1] as number) >> 16 === (other[1] as number) >> 16;
}

function narrowPlace(family: Family, address: Int32Array): number {
  if (family === 4) return Math.imul((address[0] as number) >> 8, hashFactor) >>> 12;
  return Math.imul(Math.imul(address[0] as number, hashFactor) ^ ((address[1] as number) >> 16), hashFactor) >>> 12;
}

/** The number of the /16, of IPv6 of the /32, in the order of addresses. */
function wideNumber(family: Family, address: Int32Array): number {
  return family === 4 ? (address[0] as number) >> 16 : (address[0] as number);
}

function widePlace(family: Family, n: number): number {
  return firstWide + (family === 4 ? n & (wideWords - 1) : Math.imul(n, hashFactor) >>> 16);
}
