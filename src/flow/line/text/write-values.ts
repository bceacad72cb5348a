import { digits, fourDigits } from "../../kernel/text-tables.ts";

// Each writes the JSON of a value at `at` and returns where it ends; up to seven bytes behind may be overwritten. The caller
// has made room. Those that can be asked for what has no value return -1 then, and nothing has happened that counts.

/** @param value a uint32. */
export function writeUint32(out: DataView, at: number, value: number): number {
  if (value < 10_000) {
    const piece = digits[value] as number;
    out.setUint32(at, piece, true);
    return at + 4 - (Math.clz32(piece) >>> 3);
  }
  const upper = (value / 10_000) >>> 0;
  const lower = fourDigits[value - upper * 10_000] as number;
  if (upper < 10_000) {
    const piece = digits[upper] as number;
    out.setUint32(at, piece, true);
    const end = at + 4 - (Math.clz32(piece) >>> 3);
    out.setUint32(end, lower, true);
    return end + 4;
  }
  const top = (upper / 10_000) >>> 0;
  const piece = digits[top] as number;
  out.setUint32(at, piece, true);
  const end = at + 4 - (Math.clz32(piece) >>> 3);
  out.setUint32(end, fourDigits[upper - top * 10_000] as number, true);
  out.setUint32(end + 4, lower, true);
  return end + 8;
}

/** @param value whole, from 0 to 2^53-1. */
export function writeSafeInteger(out: DataView, at: number, value: number): number {
  if (value <= 0xffff_ffff) return writeUint32(out, at, value >>> 0);
  const upper = Math.floor(value / 100_000_000);
  const lower = (value - upper * 100_000_000) >>> 0;
  const middle = (lower / 10_000) >>> 0;
  const end = writeUint32(out, at, upper);
  out.setUint32(end, fourDigits[middle] as number, true);
  out.setUint32(end + 4, fourDigits[lower - middle * 10_000] as number, true);
  return end + 8;
}

/** Without quotes. */
export function writeAscii(out: DataView, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) out.setUint8(at + i, text.charCodeAt(i));
  return at + text.length;
}

/** Copies by eight bytes. As doubles: no text in UTF-8 has the bits of a NaN, which alone would not survive. */
export function copyText(out: DataView, at: number, from: DataView, start: number, length: number): number {
  for (let i = 0; i < length; i += 8) out.setFloat64(at + i, from.getFloat64(start + i, true), true);
  return at + length;
}

/** Bytes in a memory of their own that {@link copyText} may read behind the end of. */
export function paddedView(bytes: Uint8Array): DataView {
  const padded = new Uint8Array(bytes.length + 8);
  padded.set(bytes);
  return new DataView(padded.buffer);
}
