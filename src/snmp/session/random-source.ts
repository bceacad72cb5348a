/** Unpredictable bytes, such as those of `randomBytes` of node:crypto. */
export type RandomBytes = (count: number) => Uint8Array;

const idsInPool = 256;

/** Unpredictable request ids of 1 to 2^31-1. Randomness is fetched for many at a time, which is far cheaper. */
export function createIdSource(randomBytes: RandomBytes): () => number {
  let pool: DataView = new DataView(new ArrayBuffer(0));
  let at = 0;
  const next = (): number => {
    if (at + 4 > pool.byteLength) {
      const bytes = randomBytes(4 * idsInPool);
      pool = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      at = 0;
    }
    const id = pool.getUint32(at) & 0x7fffffff;
    at += 4;
    return id === 0 ? next() : id;
  };
  return next;
}

/** Salts of 8 octets that do not repeat: a counter of 64 bits from a random start (RFC 3826 section 3.1.2.1). */
export function createSaltSource(randomBytes: RandomBytes): () => Uint8Array {
  const counter = Buffer.from(randomBytes(8));
  return () => {
    counter.writeBigUInt64BE(BigInt.asUintN(64, counter.readBigUInt64BE() + 1n));
    return Uint8Array.from(counter);
  };
}
