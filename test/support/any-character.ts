import * as fc from "fast-check";

/** There are no characters from here on, this many: halves of pairs. */
const surrogates = 0xd800;
const surrogateCount = 0x800;

/**
 * Each character of Unicode as often as any other, for `fc.string({ unit: anyCharacter })`: what its unit "binary" gives, in the same
 * order. To tell whether a text consists of them, that one makes a map of all 1.1 million characters first.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .nat(0x10ffff - surrogateCount)
  .map((n) => String.fromCodePoint(n < surrogates ? n : n + surrogateCount), numberOf);

/** @throws Error when it is not one character. */
function numberOf(value: unknown): number {
  const code = typeof value === "string" ? (value.codePointAt(0) ?? surrogates) : surrogates;
  const isSurrogate = code >= surrogates && code < surrogates + surrogateCount;
  if (isSurrogate || value !== String.fromCodePoint(code)) throw new Error("not one character");
  return code < surrogates ? code : code - surrogateCount;
}
