import { createCipheriv } from "node:crypto";
import type { Address } from "../../ip/index.ts";

/** Bytes of a key: the first half is that of the cipher, the second makes the padding. */
export const cryptoPanKeyBytes = 32;

/** Gives an address another one of its family. */
export type AnonymizeAddress = (address: Address) => Address;

const blockBytes = 16;
const wordsOfBlock = 4;
const wordBits = 32;

/** The first n bits of a word, in the order of the network; little-endian like all processors that Node runs on. */
const masks = Int32Array.from({ length: wordBits }, (_, bits) => swapped(bits === 0 ? 0 : -1 << (wordBits - bits)));

/**
 * Crypto-PAn (Xu, Fan, Ammar, Moon: "Prefix-Preserving IP Address Anonymization", 2002) with AES-128: each bit is turned or not by
 * the cipher's first bit for all bits before it, filled up with the padding. Two addresses that share their first n bits do so
 * afterwards. IPv6 is done alike with 128 bits.
 *
 * @param key {@link cryptoPanKeyBytes}.
 */
export function createCryptoPan(key: Uint8Array): AnonymizeAddress {
  if (key.length !== cryptoPanKeyBytes) throw new RangeError(`a key has ${cryptoPanKeyBytes} bytes, not ${key.length}`);
  const cipher = createCipheriv("aes-128-ecb", key.subarray(0, blockBytes), null).setAutoPadding(false);
  const padding = Int32Array.from(wordsOf(cipher.update(key.subarray(blockBytes))));
  // A block for each bit: they do not depend on each other, so the cipher is called once for an address.
  const blocks = new Int32Array(128 * wordsOfBlock);
  const input = Buffer.from(blocks.buffer);
  const own = new Int32Array(wordsOfBlock);

  const fill = (bits: number): void => {
    for (let bit = 0, at = 0; bit < bits; bit++, at += wordsOfBlock) {
      const whole = bit >>> 5;
      const mask = masks[bit & 31] as number;
      for (let i = 0; i < wordsOfBlock; i++) blocks[at + i] = (i < whole ? own[i] : padding[i]) as number;
      blocks[at + whole] = ((own[whole] as number) & mask) | ((padding[whole] as number) & ~mask);
    }
  };
  return ({ family, value }) => {
    const bits = family === 4 ? 32 : 128;
    for (let i = 0, shift = bits; shift > 0; i++) {
      shift -= wordBits;
      own[i] = swapped(Number(BigInt.asIntN(wordBits, value >> BigInt(shift))));
    }
    fill(bits);
    const output = cipher.update(input.subarray(0, bits * blockBytes));
    let turned = 0n;
    for (let from = 0; from < bits; from += wordBits) {
      let word = 0;
      for (let bit = from; bit < from + wordBits; bit++) {
        word = (word << 1) | ((output[bit * blockBytes] as number) >>> 7);
      }
      turned = (turned << 32n) | BigInt(word >>> 0);
    }
    return { family, value: value ^ turned };
  };
}

function wordsOf(bytes: Buffer): number[] {
  return Array.from({ length: wordsOfBlock }, (_, i) => bytes.readInt32LE(4 * i));
}

function swapped(word: number): number {
  return (word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24);
}
