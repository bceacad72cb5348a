/**
 * An object identifier: at least two and at most 128 sub-identifiers, each an unsigned 32-bit integer (RFC 2578 section 3.5). The first
 * is at most 2, and if it is below 2, the second is at most 39.
 */
export type Oid = readonly number[];

const maxSubIdentifiers = 128;
const maxSubIdentifier = 0xffffffff;

/** Reports whether the numbers are an object identifier that can be encoded. */
export function isOid(oid: Oid): boolean {
  if (oid.length < 2 || oid.length > maxSubIdentifiers) return false;
  if (!oid.every((part) => Number.isInteger(part) && part >= 0 && part <= maxSubIdentifier)) return false;
  const [first, second] = oid as [number, number];
  return first < 2 ? second < 40 : first === 2;
}

/**
 * Parses dotted decimal text, with or without a leading dot; blanks, signs and leading zeros are not allowed.
 *
 * @returns undefined if the text is not an object identifier.
 */
export function parseOid(text: string): Oid | undefined {
  const digits = text.startsWith(".") ? text.slice(1) : text;
  if (!/^(?:0|[1-9]\d{0,9})(?:\.(?:0|[1-9]\d{0,9}))+$/.test(digits)) return undefined;
  const oid = digits.split(".").map(Number);
  return isOid(oid) ? oid : undefined;
}

/** Formats an OID as dotted decimal text with a leading dot. */
export function formatOid(oid: Oid): string {
  return `.${oid.join(".")}`;
}

/**
 * Compares OIDs in the lexicographic order of SNMP: negative if `a` comes first, 0 if they are equal. A prefix comes before the OIDs
 * that it starts.
 */
export function compareOids(a: Oid, b: Oid): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const difference = (a[i] as number) - (b[i] as number);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Reports whether `oid` lies below `root` or is `root`. */
export function oidStartsWith(oid: Oid, root: Oid): boolean {
  if (oid.length < root.length) return false;
  // The comparison starts at the end, because identifiers of one agent differ late.
  for (let i = root.length - 1; i >= 0; i--) if (oid[i] !== root[i]) return false;
  return true;
}

/** The types whose value is a number: signed for Integer32, otherwise 0 to 2^32-1. Unsigned32 has the tag of Gauge32. */
type NumberType = "Integer32" | "Counter32" | "Gauge32" | "TimeTicks";

/**
 * The types whose value is bytes. IpAddress has the length that the agent sent. An `Unknown` is a primitive value with a tag that SNMP
 * does not define. Its bytes are the whole element with tag and length, so that nothing is lost.
 */
type BytesType = "OctetString" | "IpAddress" | "Opaque" | "Unknown";

/** The exception that an agent answers in place of a value (RFC 3416 section 3). */
export type ExceptionType = "noSuchObject" | "noSuchInstance" | "endOfMibView";

/** The type of a value. `Malformed` means that the agent sent an unreadable value. */
export type ValueType =
  | NumberType
  | BytesType
  | ExceptionType
  | "Counter64"
  | "ObjectIdentifier"
  | "Null"
  | "Malformed";

/** A variable binding: an instance and its value. Counter64 is exact. Bytes are the receiver's own copy. */
export type VarBind =
  | { readonly oid: Oid; readonly type: NumberType; readonly value: number }
  | { readonly oid: Oid; readonly type: "Counter64"; readonly value: bigint }
  | { readonly oid: Oid; readonly type: BytesType; readonly value: Uint8Array }
  | { readonly oid: Oid; readonly type: "ObjectIdentifier"; readonly value: Oid }
  | { readonly oid: Oid; readonly type: ExceptionType | "Null" | "Malformed"; readonly value: null };

/** Reports whether the agent answered that there is no value. */
export function isException(varbind: VarBind): boolean {
  return varbind.type === "noSuchObject" || varbind.type === "noSuchInstance" || varbind.type === "endOfMibView";
}

/** Reports whether there is no value: the agent said so, or sent an unreadable one. */
export function hasNoValue(varbind: VarBind): boolean {
  return varbind.type === "Malformed" || isException(varbind);
}

/**
 * Writes BER bytes from the last to the first, so that every length is known when it is written and takes the fewest octets. The
 * written bytes are those of `bytes` from `at` to the end. Callers must check values beforehand.
 */
export class Writer {
  bytes: Uint8Array;
  at: number;

  /** The bytes are from the pool of Buffer, because an allocation for every message would cost more than writing it. */
  constructor(size = 256) {
    this.bytes = Buffer.allocUnsafe(size);
    this.at = size;
  }
}

/** Returns the number of bytes written so far; a mark for {@link writeHeader}. */
export function sizeOf(writer: Writer): number {
  return writer.bytes.length - writer.at;
}

/** Returns the written bytes; the writer must not be used after that. */
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

/** Writes tag and length before everything that was written since `mark`. */
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

/** Writes bytes as they are. */
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

/** Writes an integer of -2^31 to 2^32-1. */
export function writeInteger(writer: Writer, tag: number, value: number): void {
  reserve(writer, 11);
  const mark = sizeOf(writer);
  const { bytes } = writer;
  let rest = value;
  do {
    bytes[--writer.at] = rest & 0xff;
    rest = Math.floor(rest / 256);
  } while (rest !== 0 && rest !== -1);
  // The first octet carries the sign; if the top bit of a value contradicts it, one more octet is necessary.
  const isNegative = (bytes[writer.at] as number) > 0x7f;
  if (isNegative !== value < 0) bytes[--writer.at] = value < 0 ? 0xff : 0;
  writeHeader(writer, tag, mark);
}

/** Writes an integer of 0 to 2^64-1. */
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

/**
 * The faults of a value:
 *
 * - `cut`: a Counter32 or TimeTicks of more than 32 bits, of which the low 32 are used
 * - `empty`: a number without octets; `width`: a number beyond its type
 * - `length`: too few or too many octets; `tag`: no possible value; `oid`: no object identifier
 */
export const valueFaults = ["cut", "empty", "width", "length", "tag", "oid"] as const;
export type ValueFault = (typeof valueFaults)[number];

/** Returns counts of faults, all 0. */
export function noValueFaults(): Record<ValueFault, number> {
  return { cut: 0, empty: 0, width: 0, length: 0, tag: 0, oid: 0 };
}

/** Thrown for bytes that BER or SNMP do not allow. It stays inside the session, which counts it. */
export class DecodeError extends Error {
  override readonly name = "DecodeError";
  /** The fault of the value. */
  readonly fault: ValueFault;

  constructor(message: string, fault: ValueFault = "length") {
    super(message);
    this.fault = fault;
  }
}

/** The BER tags of the universal types that SNMP uses. */
export const tags = {
  integer: 0x02,
  octetString: 0x04,
  null: 0x05,
  objectIdentifier: 0x06,
  sequence: 0x30,
} as const;

/** A position in BER bytes. Readers move `at` forward and never read at or beyond `end`. */
export interface Cursor {
  readonly bytes: Uint8Array;
  at: number;
  readonly end: number;
}

export function cursorOver(bytes: Uint8Array): Cursor {
  return { bytes, at: 0, end: bytes.length };
}

/** Returns the tag of the next element without moving. */
export function peekTag(cursor: Cursor): number {
  if (cursor.at >= cursor.end) throw new DecodeError("element missing");
  return cursor.bytes[cursor.at] as number;
}

/**
 * Reads tag and length of the next element and stops at its content.
 *
 * Lengths may have more octets than necessary, because agents that reserve their place send them so. Indefinite lengths are not allowed
 * in SNMP (RFC 3417 section 8).
 *
 * @returns the end of the content, which is not beyond the cursor's end.
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

/** Skips the next element, which must have this tag, and returns a cursor over its content. */
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

/**
 * The most octets of an integer. X.690 requires the fewest octets, but agents with a fixed width pad them. A 64-bit unsigned value
 * needs nine.
 */
const maxIntegerOctets = 9;

/** Reads a signed integer of up to nine octets, rounded if it is beyond 2^53; its caller allows only 32 bits. */
function readSigned(cursor: Cursor, end: number): number {
  const { bytes } = cursor;
  const length = end - cursor.at;
  if (length === 0) throw new DecodeError("empty integer", "empty");
  if (length > maxIntegerOctets) throw new DecodeError("over-long integer", "width");
  let value = ((bytes[cursor.at++] as number) << 24) >> 24;
  while (cursor.at < end) value = value * 256 + (bytes[cursor.at++] as number);
  return value;
}

/** Reads an integer of -2^31 to 2^31-1. */
export function readInteger32(cursor: Cursor, tag: number): number {
  const value = readSigned(cursor, readHeader(cursor, tag));
  if (value < -0x80000000 || value > 0x7fffffff) throw new DecodeError("integer beyond 32 bits", "width");
  return value;
}

/**
 * Checks an unsigned number of up to eight octets, or nine if the first is zero, and returns its end. A set top bit is part of the
 * number, because many agents omit the zero octet in front; net-snmp does the same.
 */
function unsignedEnd(cursor: Cursor, tag: number): number {
  const end = readHeader(cursor, tag);
  const length = end - cursor.at;
  if (length === 0) throw new DecodeError("empty integer", "empty");
  if (length > maxIntegerOctets) throw new DecodeError("over-long integer", "width");
  if (length === maxIntegerOctets && cursor.bytes[cursor.at] !== 0) {
    throw new DecodeError("integer beyond 64 bits", "width");
  }
  return end;
}

/** Returns the low 32 bits of the number that ends at `end`. */
function readLow32({ bytes, at }: Cursor, end: number): number {
  let value = 0;
  for (let i = Math.max(at, end - 4); i < end; i++) value = value * 256 + (bytes[i] as number);
  return value;
}

function isWiderThan32({ bytes, at }: Cursor, end: number): boolean {
  for (let i = at; i < end - 4; i++) if (bytes[i] !== 0) return true;
  return false;
}

/** Reads an integer of 0 to 2^32-1. */
export function readUnsigned32(cursor: Cursor, tag: number): number {
  const end = unsignedEnd(cursor, tag);
  if (isWiderThan32(cursor, end)) throw new DecodeError("integer beyond 32 bits", "width");
  const value = readLow32(cursor, end);
  cursor.at = end;
  return value;
}

/** Reads a number that wraps at 2^32. A wider one gives its low 32 bits, as in net-snmp, and adds `cut` to `faults`. */
export function readModulo32(cursor: Cursor, tag: number, faults: ValueFault[]): number {
  const end = unsignedEnd(cursor, tag);
  if (isWiderThan32(cursor, end)) faults.push("cut");
  const value = readLow32(cursor, end);
  cursor.at = end;
  return value;
}

/** Reads an exact integer of 0 to 2^64-1. */
export function readUnsigned64(cursor: Cursor, tag: number): bigint {
  const end = unsignedEnd(cursor, tag);
  const low = readLow32(cursor, end);
  const high = end - cursor.at > 4 ? readLow32(cursor, end - 4) : 0;
  cursor.at = end;
  return (BigInt(high) << 32n) + BigInt(low);
}

/** Returns the content as a view of the datagram. */
export function readOctets(cursor: Cursor, tag: number): Uint8Array {
  const end = readHeader(cursor, tag);
  const octets = cursor.bytes.subarray(cursor.at, end);
  cursor.at = end;
  return octets;
}

/** Returns the content as a copy. */
export function copyOctets(cursor: Cursor, tag: number): Uint8Array {
  return copyBytes(readOctets(cursor, tag));
}

/** Returns a copy. It does not use `slice`, which returns a view if the bytes are a Buffer. */
export function copyBytes(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(bytes.length);
  copy.set(bytes);
  return copy;
}

/** Reads an object identifier. Empty content means 0.0, as agents that send it intend; padding is skipped. */
export function readOid(cursor: Cursor, tag: number): Oid {
  const { bytes } = cursor;
  const end = readHeader(cursor, tag);
  if (cursor.at === end) return [0, 0];
  if ((bytes[end - 1] as number) > 0x7f) throw new DecodeError("object identifier cut off", "oid");
  // The parts are counted first, because an array that grows would take more memory than they need, for every value.
  let parts = 1;
  for (let at = cursor.at; at < end; at++) if ((bytes[at] as number) < 0x80) parts++;
  if (parts > maxSubIdentifiers) throw new DecodeError("more than 128 sub-identifiers", "oid");
  // oxlint-disable-next-line unicorn/no-new-array -- it is a length
  const oid = new Array<number>(parts);
  let value = 0;
  let filled = 0;
  let limit = maxSubIdentifier + 80;
  for (let at = cursor.at; at < end; at++) {
    const octet = bytes[at] as number;
    value = value * 128 + (octet & 0x7f);
    if (value > limit) throw new DecodeError("sub-identifier beyond 32 bits", "oid");
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
