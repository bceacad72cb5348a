/** Writes a number below 2^32 as a varint. @returns where the next byte goes. */
export function writeVarint(value: number, into: Uint8Array, start: number): number {
  let at = start;
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) into[at++] = (rest & 0x7f) | 0x80;
  into[at++] = rest;
  return at;
}

/** Bytes of a number below 2^32 as a varint. */
export function varintSize(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  return value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;
}
