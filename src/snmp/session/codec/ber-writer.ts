import type { Oid } from "../oid.ts";

/**
 * BER bytes written from the last to the first, so that every length is known when it is written and takes the fewest
 * octets. What was written lies in `bytes` from `at` to the end. Callers pass values that they have checked.
 */
export interface Writer {
  bytes: Uint8Array;
  at: number;
}

/** Takes its bytes from the pool of Buffer: an allocation for every message costs more than writing it. */
export function createWriter(size = 256): Writer {
  return { bytes: Buffer.allocUnsafe(size), at: size };
}

/** Number of bytes written so far; a mark for {@link writeHeader}. */
export function sizeOf(writer: Writer): number {
  return writer.bytes.length - writer.at;
}

/** What was written; the writer is not to be used after that. */
export function written(writer: Writer): Uint8Array {
  return writer.bytes.subarray(writer.at);
}

function reserve(writer: Writer, count: number): void {
  if (writer.at >= count) return;
  const size = sizeOf(writer);
  const bytes = Buffer.allocUnsafe(2 * (size + count));
  bytes.set(writer.bytes.subarray(writer.at), bytes.length - size);
  writer.at = bytes.length - size;
  writer.bytes = bytes;
}

/** Puts tag and length before everything that was written since `mark`. */
export function writeHeader(writer: Writer, tag: number, mark: number): void {
  reserve(writer, 6);
  const { bytes } = writer;
  const length = sizeOf(writer) - mark;
  if (length < 0x80) {
    bytes[--writer.at] = length;
  } else {
    let octets = 0;
    for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) {
      bytes[--writer.at] = rest & 0xff;
      octets++;
    }
    bytes[--writer.at] = 0x80 | octets;
  }
  bytes[--writer.at] = tag;
}

/** Bytes as they are. */
export function writeRaw(writer: Writer, octets: Uint8Array): void {
  reserve(writer, octets.length);
  writer.at -= octets.length;
  writer.bytes.set(octets, writer.at);
}

export function writeOctets(writer: Writer, tag: number, octets: Uint8Array): void {
  const mark = sizeOf(writer);
  writeRaw(writer, octets);
  writeHeader(writer, tag, mark);
}

/** An integer of -2^31 to 2^32-1. */
export function writeInteger(writer: Writer, tag: number, value: number): void {
  reserve(writer, 11);
  const mark = sizeOf(writer);
  const { bytes } = writer;
  let rest = value;
  do {
    bytes[--writer.at] = rest & 0xff;
    rest = Math.floor(rest / 256);
  } while (rest !== 0 && rest !== -1);
  // The first octet carries the sign; a value whose top bit says otherwise gets one more.
  const isNegative = (bytes[writer.at] as number) > 0x7f;
  if (isNegative !== value < 0) bytes[--writer.at] = value < 0 ? 0xff : 0;
  writeHeader(writer, tag, mark);
}

/** An integer of 0 to 2^64-1. */
export function writeUnsigned64(writer: Writer, tag: number, value: bigint): void {
  reserve(writer, 16);
  const mark = sizeOf(writer);
  const { bytes } = writer;
  let rest = value;
  do {
    bytes[--writer.at] = Number(rest & 0xffn);
    rest >>= 8n;
  } while (rest !== 0n);
  if ((bytes[writer.at] as number) > 0x7f) bytes[--writer.at] = 0;
  writeHeader(writer, tag, mark);
}

export function writeOid(writer: Writer, tag: number, oid: Oid): void {
  reserve(writer, 5 * oid.length + 6);
  const mark = sizeOf(writer);
  for (let i = oid.length - 1; i >= 2; i--) writeSubIdentifier(writer, oid[i] as number);
  writeSubIdentifier(writer, (oid[0] as number) * 40 + (oid[1] as number));
  writeHeader(writer, tag, mark);
}

function writeSubIdentifier(writer: Writer, value: number): void {
  const { bytes } = writer;
  bytes[--writer.at] = value & 0x7f;
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[--writer.at] = 0x80 | (rest & 0x7f);
  }
}
