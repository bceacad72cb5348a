/** A fast generator of 32-bit numbers (xorshift), the same sequence for the same seed other than 0. */
export function createRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}
