/** Whole lines, and how many records they hold. */
export interface Batch {
  readonly bytes: Uint8Array;
  readonly count: number;
}

/** First in, first out, never more bytes than its limit. */
export interface BoundedQueue {
  /** Copies a chunk of whole lines into the queue. @returns false when it does not fit; nothing was taken then. */
  put(lines: Uint8Array, count: number): boolean;
  /**
   * Takes a chunk without copying it: its bytes must stay as they are until `done` is called, which happens once.
   *
   * @returns false when it does not fit; nothing was taken then, and `done` is not called.
   */
  lend(lines: Uint8Array, count: number, done: () => void): boolean;
  /**
   * Removes as many whole chunks as fit in `limit` bytes and lie together, and the first one in any case. The bytes
   * stay as they are until the next call. @returns undefined when the queue is empty.
   */
  take(limit: number): Batch | undefined;
  /** Bytes that wait. */
  readonly byteLength: number;
  /** Records that wait. */
  readonly count: number;
}

/** Memory for chunks that are copied. */
interface Block {
  readonly bytes: Uint8Array;
  end: number;
  /** Chunks in it that wait, or were taken last. */
  chunks: number;
}

interface Chunk {
  readonly bytes: Uint8Array;
  readonly count: number;
  /** Called when the bytes are not needed any more. */
  readonly done: () => void;
}

const blockSize = 4 * 1024 * 1024;

/** Blocks kept for later: fresh memory costs more than copying into it. */
const maxSpare = 4;

/** Chunks that were taken leave the list when they are this many, and half of it. */
const maxTaken = 1024;

/**
 * What is put in is copied, so that memory is bounded whatever the chunks are slices of, and chunks that come one after the
 * other lie together: they become one large write.
 */
export function createBoundedQueue(maxBytes: number): BoundedQueue {
  let chunks: Chunk[] = [];
  /** The first that waits. */
  let first = 0;
  /** Those of the batch that was taken last. */
  let lent: Chunk[] = [];
  let filling: Block | undefined;
  const spare: Uint8Array[] = [];
  let byteLength = 0;
  let count = 0;

  const usualSize = Math.min(blockSize, maxBytes);

  const retire = ({ bytes }: Block): void => {
    if (bytes.length === usualSize && spare.length < maxSpare) spare.push(bytes);
  };

  const blockFor = (bytes: number): Block => {
    if (filling !== undefined && filling.bytes.length - filling.end >= bytes) return filling;
    if (filling?.chunks === 0) retire(filling);
    const size = Math.max(usualSize, bytes);
    const memory = (size === usualSize ? spare.pop() : undefined) ?? Buffer.allocUnsafeSlow(size);
    filling = { bytes: memory, end: 0, chunks: 0 };
    return filling;
  };

  const leave = (block: Block): void => {
    if (--block.chunks > 0) return;
    if (block === filling) block.end = 0;
    else retire(block);
  };

  const add = (bytes: Uint8Array, records: number, done: () => void): void => {
    chunks.push({ bytes, count: records, done });
    byteLength += bytes.length;
    count += records;
  };

  return {
    put(lines, records) {
      if (byteLength + lines.length > maxBytes) return false;
      const block = blockFor(lines.length);
      const start = block.end;
      block.bytes.set(lines, start);
      block.end += lines.length;
      block.chunks++;
      add(block.bytes.subarray(start, block.end), records, () => leave(block));
      return true;
    },
    lend(lines, records, done) {
      if (byteLength + lines.length > maxBytes) return false;
      add(lines, records, done);
      return true;
    },
    take(limit) {
      for (const chunk of lent) chunk.done();
      lent = [];
      let last = chunks[first];
      if (last === undefined) {
        chunks = [];
        first = 0;
        return undefined;
      }
      const start = last.bytes.byteOffset;
      const { buffer } = last.bytes;
      let length = 0;
      let records = 0;
      for (let next: Chunk | undefined = last; next !== undefined; next = chunks[first]) {
        const isNext = next === last || (next.bytes.buffer === buffer && next.bytes.byteOffset === start + length);
        if (!isNext || (length > 0 && length + next.bytes.length > limit)) break;
        length += next.bytes.length;
        records += next.count;
        lent.push(next);
        last = next;
        first++;
      }
      if (first > maxTaken && first > chunks.length / 2) {
        chunks = chunks.slice(first);
        first = 0;
      }
      byteLength -= length;
      count -= records;
      return { bytes: new Uint8Array(buffer, start, length), count: records };
    },
    get byteLength() {
      return byteLength;
    },
    get count() {
      return count;
    },
  };
}
