/** Whole lines, and how many records they hold. */
export interface Batch {
  readonly bytes: Uint8Array;
  readonly count: number;
}

/** First in, first out, in one piece of memory after the other, never more than its limit. */
export interface BoundedQueue {
  /** Copies a chunk of whole lines into the queue. @returns false when it does not fit; nothing was taken then. */
  put(lines: Uint8Array, count: number): boolean;
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

interface Block {
  readonly bytes: Uint8Array;
  /** Where each chunk that waits ends, and its records. */
  readonly ends: number[];
  readonly counts: number[];
  /** The first chunk that waits, and where it begins. */
  first: number;
  start: number;
  end: number;
}

const blockSize = 4 * 1024 * 1024;

/** Blocks kept for later: fresh memory costs more than copying into it. */
const maxSpare = 4;

/**
 * The queue copies, for three reasons: its memory is bounded whatever the chunks are slices of, chunks become one large
 * write without gathering, and several outputs can be given the same bytes.
 */
export function createBoundedQueue(maxBytes: number): BoundedQueue {
  const blocks: Block[] = [];
  /** Emptied, but the batch that was taken last may lie in them. */
  const emptied: Block[] = [];
  const spare: Uint8Array[] = [];
  let byteLength = 0;
  let count = 0;

  const usualSize = Math.min(blockSize, maxBytes);

  const blockFor = (bytes: number): Block => {
    const last = blocks.at(-1);
    if (last !== undefined && last.bytes.length - last.end >= bytes) return last;
    const size = Math.max(usualSize, bytes);
    const memory = (size === usualSize ? spare.pop() : undefined) ?? Buffer.allocUnsafeSlow(size);
    const block = { bytes: memory, ends: [], counts: [], first: 0, start: 0, end: 0 };
    if (last !== undefined && last.start === last.end) emptied.push(...blocks.splice(-1));
    blocks.push(block);
    return block;
  };

  return {
    put(lines, records) {
      if (byteLength + lines.length > maxBytes) return false;
      const block = blockFor(lines.length);
      block.bytes.set(lines, block.end);
      block.end += lines.length;
      block.ends.push(block.end);
      block.counts.push(records);
      byteLength += lines.length;
      count += records;
      return true;
    },
    take(limit) {
      for (const block of emptied.splice(0)) {
        if (block.bytes.length === usualSize && spare.length < maxSpare) spare.push(block.bytes);
      }
      const block = blocks[0];
      if (block === undefined || block.first === block.ends.length) return undefined;
      const from = block.start;
      let next = block.first;
      let to = from;
      let records = 0;
      do {
        to = block.ends[next] as number;
        records += block.counts[next] as number;
        next++;
      } while (next < block.ends.length && (block.ends[next] as number) - from <= limit);
      block.first = next;
      block.start = to;
      byteLength -= to - from;
      count -= records;
      // The last block stays: what is left of its space takes the next chunks.
      if (next === block.ends.length && blocks.length > 1) emptied.push(...blocks.splice(0, 1));
      return { bytes: block.bytes.subarray(from, to), count: records };
    },
    get byteLength() {
      return byteLength;
    },
    get count() {
      return count;
    },
  };
}
