// Numbers in network byte order. The caller has checked that their bytes are there.

export function u16(b: Uint8Array, at: number): number {
  return ((b[at] as number) << 8) | (b[at + 1] as number);
}

export function u24(b: Uint8Array, at: number): number {
  return (u16(b, at) << 8) | (b[at + 2] as number);
}

export function u32(b: Uint8Array, at: number): number {
  return u16(b, at) * 0x10000 + u16(b, at + 2);
}
