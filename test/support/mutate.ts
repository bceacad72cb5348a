/** A stream of unsigned 32-bit numbers that is the same for the same seed (xorshift32; the seed is not 0). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state;
  };
}

/** Bytes that mean something to a decoder of BER: tags, lengths at the edges, sign bits. */
const meaningful = [
  0x00, 0x01, 0x02, 0x04, 0x05, 0x06, 0x1f, 0x30, 0x40, 0x41, 0x46, 0x7f, 0x80, 0x81, 0x82, 0x84, 0xa2, 0xa8, 0xff,
];

/** Damages bytes in one to four places: bits flipped, bytes set, cut out, put in, repeated, moved, the end cut off. */
export function mutate(bytes: Uint8Array, random: () => number): Uint8Array {
  let mutated: Buffer = Buffer.from(bytes);
  // Mostly one place: more damage would seldom get past the outermost length.
  const times = Math.max(1, (random() % 8) - 3);
  for (let i = 0; i < times && mutated.length > 0; i++) mutated = mutateOnce(mutated, random);
  return mutated;
}

function mutateOnce(bytes: Buffer, random: () => number): Buffer {
  const at = random() % bytes.length;
  const length = 1 + (random() % 16);
  const value = meaningful[random() % meaningful.length] ?? 0;
  const kind = random() % 20;
  if (kind < 6) {
    bytes[at] = (bytes[at] as number) ^ (1 << (random() % 8));
    return bytes;
  }
  if (kind < 12) {
    bytes[at] = value;
    return bytes;
  }
  switch (kind) {
    case 12:
      return bytes.subarray(0, at);
    case 13:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(Math.min(at + length, bytes.length))]);
    case 14:
      return Buffer.concat([bytes.subarray(0, at), Buffer.alloc(length, value), bytes.subarray(at)]);
    case 15:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at, at + length), bytes.subarray(at)]);
    case 16:
    case 17:
      bytes[at] = random() & 0xff;
      return bytes;
    default:
      bytes.copyWithin(random() % bytes.length, at, at + length);
      return bytes;
  }
}
