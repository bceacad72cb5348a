import { CaptureError } from "./capture-error.ts";

/** Bytes of a stream, taken in pieces of a given length. */
export interface ByteSource {
  /** How many bytes were taken. */
  readonly at: number;
  /** The next bytes; undefined at the end of the stream. @throws CaptureError when it ends within them. */
  take(length: number): Promise<Buffer | undefined>;
}

export function createByteSource(stream: AsyncIterable<string | Uint8Array>): ByteSource {
  const chunks = stream[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  let at = 0;
  return {
    get at() {
      return at;
    },
    async take(length) {
      const parts = [rest];
      let size = rest.length;
      while (size < length) {
        const next = await chunks.next();
        if (next.done === true) break;
        const part = typeof next.value === "string" ? Buffer.from(next.value, "latin1") : Buffer.from(next.value);
        parts.push(part);
        size += part.length;
      }
      const all = parts.length === 1 ? rest : Buffer.concat(parts);
      if (all.length < length) {
        if (all.length === 0) return undefined;
        throw new CaptureError(`the capture ends within a packet, at byte ${at + all.length}`);
      }
      rest = all.subarray(length);
      at += length;
      return all.subarray(0, length);
    },
  };
}
