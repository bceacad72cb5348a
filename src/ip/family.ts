/** IP version. */
export type Family = 4 | 6;

/** Width of an address of the family in bits. */
export function familyBits(family: Family): 32 | 128 {
  return family === 4 ? 32 : 128;
}
