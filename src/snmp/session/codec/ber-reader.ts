import { maxSubIdentifier, maxSubIdentifiers, type Oid } from "../oid.ts";
import { DecodeError } from "./decode-error.ts";

/** A place in BER bytes. Readers move `at` forward and never look at or beyond `end`. */
export interface Cursor {
  readonly bytes: Uint8Array;
  at: number;
  readonly end: number;
}

export function cursorOver(bytes: Uint8Array): Cursor {
  return { bytes, at: 0, end: bytes.length };
}

/** The tag of the next element, without moving. */
export function peekTag(cursor: Cursor): number {
  if (cursor.at >= cursor.end) throw new DecodeError("element missing");
  return cursor.bytes[cursor.at] as number;
}

/**
 * Reads tag and length of the next element and stops at its content.
 *
 * Lengths may be longer than needed (agents that reserve their place send them so); indefinite ones are not allowed in
 * SNMP (RFC 3417 section 8).
 *
 * @returns where the content ends, which is not beyond the cursor's end.
 */
export function readHeader(cursor: Cursor, tag: number): number {
  const { bytes, end } = cursor;
  if (cursor.at + 2 > end) throw new DecodeError("element missing");
  if (bytes[cursor.at] !== tag) {
    throw new DecodeError(`tag 0x${(bytes[cursor.at] as number).toString(16)} where 0x${tag.toString(16)} belongs`);
  }
  let length = bytes[cursor.at + 1] as number;
  cursor.at += 2;
  if (length > 0x7f) {
    const octets = length & 0x7f;
    if (octets === 0) throw new DecodeError("indefinite length");
    if (octets > 4 || cursor.at + octets > end) throw new DecodeError("length of a length");
    length = 0;
    for (let i = 0; i < octets; i++) length = length * 256 + (bytes[cursor.at++] as number);
  }
  if (length > end - cursor.at) throw new DecodeError("length beyond the end");
  return cursor.at + length;
}

/** Steps over the next element of this tag and gives a cursor over its content. */
export function enter(cursor: Cursor, tag: number): Cursor {
  const end = readHeader(cursor, tag);
  const inner = { bytes: cursor.bytes, at: cursor.at, end };
  cursor.at = end;
  return inner;
}

/** Fails unless everything was read. */
export function expectEnd(cursor: Cursor): void {
  if (cursor.at !== cursor.end) throw new DecodeError("bytes after the last element");
}

/** X.690 wants the fewest octets, but agents with a fixed width pad them. A 64-bit unsigned value needs nine. */
const maxIntegerOctets = 9;

/** A signed integer of up to nine octets, rounded when it is beyond 2^53; callers allow 32 bits only. */
function readSigned(cursor: Cursor, end: number): number {
  const { bytes } = cursor;
  const length = end - cursor.at;
  if (length === 0) throw new DecodeError("empty integer");
  if (length > maxIntegerOctets) throw new DecodeError("over-long integer");
  let value = ((bytes[cursor.at++] as number) << 24) >> 24;
  while (cursor.at < end) value = value * 256 + (bytes[cursor.at++] as number);
  return value;
}

/** An integer of -2^31 to 2^31-1. */
export function readInteger32(cursor: Cursor, tag: number): number {
  const value = readSigned(cursor, readHeader(cursor, tag));
  if (value < -0x80000000 || value > 0x7fffffff) throw new DecodeError("integer beyond 32 bits");
  return value;
}

/**
 * An integer of 0 to 2^32-1. Four octets with the top bit set are read as unsigned, because many agents leave out the
 * zero octet in front; any other negative number is refused.
 */
export function readUnsigned32(cursor: Cursor, tag: number): number {
  const end = readHeader(cursor, tag);
  const length = end - cursor.at;
  let value = readSigned(cursor, end);
  if (value < 0 && length === 4) value += 0x100000000;
  if (value < 0) throw new DecodeError("negative where unsigned");
  if (value > 0xffffffff) throw new DecodeError("integer beyond 32 bits");
  return value;
}

/** An integer of 0 to 2^64-1, exact. Eight octets with the top bit set are read as unsigned, as with 32 bits. */
export function readUnsigned64(cursor: Cursor, tag: number): bigint {
  const end = readHeader(cursor, tag);
  const length = end - cursor.at;
  if (length <= 6) {
    const value = readSigned(cursor, end);
    if (value < 0) throw new DecodeError("negative where unsigned");
    return BigInt(value);
  }
  const high = BigInt(readSigned({ ...cursor }, end - 4));
  const { bytes } = cursor;
  let low = 0;
  for (let at = end - 4; at < end; at++) low = low * 256 + (bytes[at] as number);
  if (length > maxIntegerOctets) throw new DecodeError("over-long integer");
  cursor.at = end;
  let value = (high << 32n) + BigInt(low);
  if (value < 0n && length === 8) value += 1n << 64n;
  if (value < 0n) throw new DecodeError("negative where unsigned");
  if (value >> 64n !== 0n) throw new DecodeError("integer beyond 64 bits");
  return value;
}

/** The content as a view of the datagram. */
export function readOctets(cursor: Cursor, tag: number): Uint8Array {
  const end = readHeader(cursor, tag);
  const octets = cursor.bytes.subarray(cursor.at, end);
  cursor.at = end;
  return octets;
}

/** The content as bytes of their own. */
export function copyOctets(cursor: Cursor, tag: number): Uint8Array {
  return copyBytes(readOctets(cursor, tag));
}

/** A copy. Not `slice`, which gives a view when the bytes are a Buffer. */
export function copyBytes(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(bytes.length);
  copy.set(bytes);
  return copy;
}

/** An object identifier. Empty content is read as 0.0, which is what agents that send it mean. */
export function readOid(cursor: Cursor, tag: number): Oid {
  const { bytes } = cursor;
  const end = readHeader(cursor, tag);
  if (cursor.at === end) return [0, 0];
  if ((bytes[end - 1] as number) > 0x7f) throw new DecodeError("object identifier cut off");
  // An array that grows takes more memory than the number of its parts is worth: this is done for every value that is read.
  let parts = 1;
  for (let at = cursor.at; at < end; at++) if ((bytes[at] as number) < 0x80) parts++;
  if (parts > maxSubIdentifiers) throw new DecodeError("more than 128 sub-identifiers");
  // oxlint-disable-next-line unicorn/no-new-array -- it is a length
  const oid = new Array<number>(parts);
  let value = 0;
  let filled = 0;
  let limit = maxSubIdentifier + 80;
  for (let at = cursor.at; at < end; at++) {
    const octet = bytes[at] as number;
    if (octet === 0x80 && value === 0) throw new DecodeError("padded sub-identifier");
    value = value * 128 + (octet & 0x7f);
    if (value > limit) throw new DecodeError("sub-identifier beyond 32 bits");
    if (octet > 0x7f) continue;
    if (filled === 0) {
      // The first octets hold two sub-identifiers: 40 times the first plus the second (X.690 section 8.19.4).
      const first = value < 80 ? Math.floor(value / 40) : 2;
      oid[filled++] = first;
      oid[filled++] = value - first * 40;
      limit = maxSubIdentifier;
    } else oid[filled++] = value;
    value = 0;
  }
  cursor.at = end;
  return oid;
}
