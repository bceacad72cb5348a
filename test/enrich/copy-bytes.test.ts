import assert from "node:assert/strict";
import { test } from "node:test";
import { copyBytes } from "../../src/enrich/address/address-limbs.ts";

/** Text whose bytes cover the ends of each length in UTF-8. U+10FFFF begins with F4 8F, which is the most that a lead byte and its next can be. */
const texts = [
  "The quick brown fox jumps over the lazy dog, twice.",
  "\u{10ffff}".repeat(13),
  // As halves of a NaN: 7F and F4 in this order; the other order is not UTF-8.
  "\u007f\u{10ffff}\u007f\u{10ffff}xyz".repeat(5),
  "a\u{10ffff}\uffffb\u07ff\ud7ff".repeat(5),
  "\u0000\u007f\u0080\u07ff\u0800\uffff\u{10000}".repeat(4),
];
const filler = 0xaa;
const longest = 40;

test("copies every length from every offset to every offset, and nothing around it", () => {
  for (const text of texts) {
    const from = Buffer.from(text);
    const source = new DataView(from.buffer, from.byteOffset, from.length);
    for (let length = 0; length <= longest; length++) {
      for (let start = 0; start < 8; start++) {
        for (let at = 0; at < 8; at++) {
          const into = Buffer.alloc(64, filler);
          const expected = Buffer.from(into);
          from.copy(expected, at, start, start + length);
          copyBytes(source, start, start + length, new DataView(into.buffer, into.byteOffset, into.length), at);
          if (!into.equals(expected)) assert.deepEqual(into, expected, `${length} bytes from ${start} to ${at}`);
        }
      }
    }
  }
});

test("copies up to the last byte of both memories", () => {
  const from = Buffer.from("0123456789abcdef");
  for (let length = 0; length <= from.length; length++) {
    const into = new DataView(new ArrayBuffer(length));
    copyBytes(new DataView(from.buffer, from.byteOffset, from.length), from.length - length, from.length, into, 0);
    assert.deepEqual(Buffer.from(into.buffer), from.subarray(from.length - length));
  }
});
