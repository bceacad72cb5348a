const multiplier = 0x5bd1_e995;
const seed = 0x9747_b28c;

/**
 * MurmurHash2 of the bytes at `from` … `to`, by which Kafka's Java client chooses the partition of a key; 31 bits, not
 * negative. The library's one counts with big integers: as long as copying the record.
 */
export function murmur2(bytes: Uint8Array, from: number, to: number): number {
  const byteAt = (at: number): number => bytes[at] as number;
  let hash = seed ^ (to - from);
  let at = from;
  for (; at + 4 <= to; at += 4) {
    let word = byteAt(at) | (byteAt(at + 1) << 8) | (byteAt(at + 2) << 16) | (byteAt(at + 3) << 24);
    word = Math.imul(word, multiplier);
    word = Math.imul(word ^ (word >>> 24), multiplier);
    hash = Math.imul(hash, multiplier) ^ word;
  }
  if (at < to) {
    for (let i = to - 1; i >= at; i--) hash ^= byteAt(i) << (8 * (i - at));
    hash = Math.imul(hash, multiplier);
  }
  hash = Math.imul(hash ^ (hash >>> 13), multiplier);
  return (hash ^ (hash >>> 15)) & 0x7fff_ffff;
}
