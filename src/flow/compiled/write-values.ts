import { digits, fourDigits, hexPairs, milliseconds, octetsWithDot } from "./text-tables.ts";

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

/** Without quotes. */
export function writeIpv4(out: DataView, at: number, address: number): number {
  let end = at;
  let piece = octetsWithDot[address >>> 24] as number;
  out.setUint32(end, piece, true);
  end += 4 - (Math.clz32(piece) >>> 3);
  piece = octetsWithDot[(address >>> 16) & 255] as number;
  out.setUint32(end, piece, true);
  end += 4 - (Math.clz32(piece) >>> 3);
  piece = octetsWithDot[(address >>> 8) & 255] as number;
  out.setUint32(end, piece, true);
  end += 4 - (Math.clz32(piece) >>> 3);
  piece = digits[address & 255] as number;
  out.setUint32(end, piece, true);
  return end + 4 - (Math.clz32(piece) >>> 3);
}

const colon = 0x3a;

/** RFC 5952, without quotes; an IPv4-mapped address with its dotted tail. */
export function writeIpv6(out: DataView, at: number, input: DataView, from: number): number {
  const a = input.getUint32(from);
  const b = input.getUint32(from + 4);
  const c = input.getUint32(from + 8);
  const d = input.getUint32(from + 12);
  if (a === 0 && b === 0 && c === 0xffff) {
    return writeIpv4(out, writeAscii(out, at, "::ffff:"), d);
  }
  // Bit i stands for group i.
  const zeros =
    (a >>> 16 === 0 ? 1 : 0) |
    ((a & 0xffff) === 0 ? 2 : 0) |
    (b >>> 16 === 0 ? 4 : 0) |
    ((b & 0xffff) === 0 ? 8 : 0) |
    (c >>> 16 === 0 ? 16 : 0) |
    ((c & 0xffff) === 0 ? 32 : 0) |
    (d >>> 16 === 0 ? 64 : 0) |
    ((d & 0xffff) === 0 ? 128 : 0);
  const gap = zeroGroupGaps[zeros] as number;
  const gapStart = gap >>> 4;
  const gapEnd = gapStart + (gap & 15);
  let end = at;
  for (let i = 0; i < 8; i++) {
    if (i === gapStart && gapEnd > gapStart) {
      // The groups before it have left one colon already, if there are any.
      if (i === 0) out.setUint8(end++, colon);
      out.setUint8(end++, colon);
      i = gapEnd - 1;
      continue;
    }
    const group = input.getUint16(from + 2 * i);
    const piece = (hexPairs[group >>> 8] as number) | ((hexPairs[group & 255] as number) << 16);
    const leading = (Math.clz32(group | 1) - 16) >>> 2;
    out.setUint32(end, piece >>> (8 * leading), true);
    end += 4 - leading;
    if (i < 7) out.setUint8(end++, colon);
  }
  return end;
}

/** By which groups are zero: where the first longest run of at least two begins (four bits), and its length (four bits). */
export const zeroGroupGaps = Uint8Array.from({ length: 256 }, (_, zeros) => {
  let best = 0;
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (start + length < 8 && (zeros & (1 << (start + length))) !== 0) length++;
    if (length >= 2 && length > (best & 15)) best = (start << 4) | length;
  }
  return best;
});

/** Without quotes. */
export function writeMac(out: DataView, at: number, input: DataView, from: number): number {
  for (let i = 0; i < 6; i++) {
    out.setUint32(at + 3 * i, (hexPairs[input.getUint8(from + i)] as number) | (colon << 16), true);
  }
  return at + 17;
}

const lastSecond = 253_402_300_799;
const cachedSeconds = 1024;
const secondBytes = 24;

/** Writes times as the record's own {@link TimeFormat} does, with the quotes; -1 for what that has no text for. */
export interface TimeWriter {
  seconds(out: DataView, at: number, seconds: number): number;
  milliseconds(out: DataView, at: number, milliseconds: number): number;
}

export function createTimeWriter(): TimeWriter {
  const seconds = new Float64Array(cachedSeconds).fill(-1);
  const texts = new DataView(new ArrayBuffer(cachedSeconds * secondBytes));

  /** `"YYYY-MM-DDTHH:MM:SS` */
  const writeSecond = (out: DataView, at: number, second: number): number => {
    if (!(second >= 0 && second <= lastSecond)) return -1;
    const slot = second % cachedSeconds;
    const from = slot * secondBytes;
    if (seconds[slot] !== second) {
      writeAscii(texts, from, `"${new Date(second * 1000).toISOString().slice(0, 19)}`);
      seconds[slot] = second;
    }
    out.setFloat64(at, texts.getFloat64(from, true), true);
    out.setFloat64(at + 8, texts.getFloat64(from + 8, true), true);
    out.setUint32(at + 16, texts.getUint32(from + 16, true), true);
    return at + 20;
  };

  return {
    seconds(out, at, second) {
      const end = writeSecond(out, at, second);
      if (end < 0) return -1;
      out.setUint16(end, 0x225a, true);
      return end + 2;
    },
    milliseconds(out, at, value) {
      const second = Math.floor(value / 1000);
      const end = writeSecond(out, at, second);
      if (end < 0) return -1;
      out.setUint32(end, milliseconds[value - second * 1000] as number, true);
      out.setUint16(end + 4, 0x225a, true);
      return end + 6;
    },
  };
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
