import type { UdmEntry } from "../../udm/index.ts";

// Tags of the fields of udm.v1.Udm and of its map entries: (number << 3) | wire type.
const keyTag = 0x0a;
const nameTag = 0x12;
const tagsTag = 0x1a;
const vlanTag = 0x20;
const internalTag = 0x28;
const metadataTag = 0x32;
const mapKeyTag = 0x0a;
const mapValueTag = 0x12;

/** Bytes of an entry as the message udm.v1.Udm. */
export function udmSize(entry: UdmEntry): number {
  let size = fieldSize(entry.key.text.length);
  if (entry.name !== "") size += textSize(entry.name);
  for (const tag of entry.tags) size += textSize(tag);
  if (entry.vlan !== 0n) size += 1 + varint64Size(entry.vlan);
  if (entry.internal) size += 2;
  for (const [key, value] of entry.metadata) size += fieldSize(textSize(key) + textSize(value));
  return size;
}

/** Writes what {@link udmSize} has measured. @returns where the next byte goes. */
export function writeUdm(entry: UdmEntry, into: Buffer, start: number): number {
  let at = writeText(keyTag, entry.key.text, into, start);
  if (entry.name !== "") at = writeText(nameTag, entry.name, into, at);
  for (const tag of entry.tags) at = writeText(tagsTag, tag, into, at);
  if (entry.vlan !== 0n) {
    into[at++] = vlanTag;
    let rest = entry.vlan;
    for (; rest > 0x7fn; rest >>= 7n) into[at++] = Number(rest & 0x7fn) | 0x80;
    into[at++] = Number(rest);
  }
  if (entry.internal) {
    into[at++] = internalTag;
    into[at++] = 1;
  }
  for (const [key, value] of entry.metadata) {
    into[at++] = metadataTag;
    at = writeVarint(textSize(key) + textSize(value), into, at);
    at = writeText(mapKeyTag, key, into, at);
    at = writeText(mapValueTag, value, into, at);
  }
  return at;
}

/** Bytes of a field of the wire type LEN, with a tag of one byte. */
export function fieldSize(length: number): number {
  return 1 + varintSize(length) + length;
}

/** Writes a number below 2^32 as a varint. @returns where the next byte goes. */
export function writeVarint(value: number, into: Buffer, start: number): number {
  let at = start;
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) into[at++] = (rest & 0x7f) | 0x80;
  into[at++] = rest;
  return at;
}

function varintSize(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  return value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;
}

function varint64Size(value: bigint): number {
  let size = 1;
  for (let rest = value; rest > 0x7fn; rest >>= 7n) size++;
  return size;
}

function textSize(text: string): number {
  return fieldSize(Buffer.byteLength(text));
}

function writeText(tag: number, text: string, into: Buffer, start: number): number {
  into[start] = tag;
  const length = Buffer.byteLength(text);
  const at = writeVarint(length, into, start + 1);
  into.write(text, at, length, "utf8");
  return at + length;
}
