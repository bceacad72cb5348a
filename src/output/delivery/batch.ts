import type { Clock } from "../../base/report/index.ts";
import { bufferOf, countLines } from "../local/queued-sink.ts";
import type { HeldBatch } from "./delivery-queue.ts";
import { copyLines } from "../../record/index.ts";

interface BatcherOptions {
  /** Of the batches that are made. */
  readonly instance: string;
  /** A batch has no more bytes than this, but for one record that is longer. */
  readonly maxBytes: number;
  readonly maxRecords: number;
  /** How long the first record of a batch waits for others at most, in milliseconds. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly emit: (held: HeldBatch) => void;
}

/** Makes batches of lines as they come. */
interface Batcher {
  /** Takes whole lines, without copying them. `done` is called when they are not needed any more. */
  add(lines: Uint8Array, count: number, done: () => void): void;
  /** Emits what has gathered. */
  flush(): void;
}

export function createBatcher(options: BatcherOptions): Batcher {
  const { instance, maxBytes, maxRecords, deadlineMs, clock, emit } = options;
  let number = 0;
  let chunks: Uint8Array[] = [];
  let dones: (() => void)[] = [];
  let byteLength = 0;
  let count = 0;
  let oldestAt = 0;
  let timer: NodeJS.Timeout | undefined;

  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (count === 0) return;
    const gathered = dones;
    emit({
      batch: { id: { instance, number: number++ }, chunks, count, byteLength, oldestAt },
      release() {
        for (const done of gathered) done();
      },
    });
    chunks = [];
    dones = [];
    byteLength = 0;
    count = 0;
  };

  /** Takes lines that fit into one batch. */
  const gather = (lines: Uint8Array, records: number, done: () => void): void => {
    if (count > 0 && (byteLength + lines.length > maxBytes || count + records > maxRecords)) flush();
    if (count === 0) {
      oldestAt = clock.now();
      timer = setTimeout(flush, deadlineMs);
    }
    chunks.push(lines);
    dones.push(done);
    byteLength += lines.length;
    count += records;
    if (byteLength >= maxBytes || count >= maxRecords) flush();
  };

  return {
    add(lines, records, done) {
      if (lines.length <= maxBytes && records <= maxRecords) {
        gather(lines, records, done);
        return;
      }
      const parts = cutLines(lines, maxBytes, maxRecords);
      let left = parts.length;
      const partDone = (): void => {
        if (--left === 0) done();
      };
      for (const part of parts) gather(part.lines, part.count, partDone);
    },
    flush,
  };
}

/** Cuts lines between records, so that each part has no more than this many bytes (unless it is one record) and records. */
function cutLines(given: Uint8Array, maxBytes: number, maxRecords: number): { lines: Uint8Array; count: number }[] {
  const lines = bufferOf(given);
  const parts: { lines: Uint8Array; count: number }[] = [];
  for (let from = 0; from < lines.length;) {
    const within = lines.subarray(from, from + maxBytes);
    let end = within.lastIndexOf(0x0a) + 1;
    // One record that is longer than a batch may be.
    if (end === 0) end = (lines.indexOf(0x0a, from) + 1 || lines.length) - from;
    let count = countLines(within.length < end ? lines.subarray(from, from + end) : within, end);
    if (count > maxRecords) {
      end = 0;
      for (count = 0; count < maxRecords; count++) end = within.indexOf(0x0a, end) + 1;
    }
    parts.push({ lines: lines.subarray(from, from + end), count });
    from += end;
  }
  return parts;
}

const lineFeed = 0x0a;

/** Which batch this is, made before the first try: a batch that is sent again, even by a later run, has the same. */
export interface BatchId {
  /** Of the run of the collector and the output that made the batch: lower-case letters and digits, unique. */
  readonly instance: string;
  /** Counts the batches of an instance, from 0. */
  readonly number: number;
}

/** Whole NDJSON lines that are sent together. Immutable. */
export interface Batch {
  readonly id: BatchId;
  /** The lines, each ending in a line feed. No line lies in two chunks. The memory may be shared with other threads. */
  readonly chunks: readonly Uint8Array[];
  /** Records in it. */
  readonly count: number;
  /** Bytes of all chunks. */
  readonly byteLength: number;
  /** When its oldest record arrived, milliseconds since the epoch. */
  readonly oldestAt: number;
  /**
   * The position that each record had in the batch as it was first made; absent: 0, 1, 2 …. A batch made of the records
   * that are to be tried again keeps the positions, and so the identities, of its records.
   */
  readonly positions?: readonly number[];
}

/** The identity of a batch as text: `k3v9x2q0m1ab-2s`. */
export function batchKey({ instance, number }: BatchId): string {
  return `${instance}-${number.toString(36)}`;
}

/** The position of the `index`th record, which with the batch's key identifies the record. */
export function positionOf(batch: Batch, index: number): number {
  return batch.positions?.[index] ?? index;
}

/**
 * Calls back for each line of a batch, without its line feed.
 *
 * @param visit is given the chunk and where the line begins and ends in it, and its index in the batch.
 */
export function forEachLine(
  { chunks }: Pick<Batch, "chunks">,
  visit: (chunk: Buffer, from: number, to: number, index: number) => void,
): void {
  let index = 0;
  for (const chunk of chunks) {
    // A buffer's search is many times as quick as that of an array of shared memory.
    const lines = bufferOf(chunk);
    for (let from = 0; from < lines.length;) {
      const to = lines.indexOf(lineFeed, from);
      const end = to < 0 ? lines.length : to;
      visit(lines, from, end, index++);
      from = end + 1;
    }
  }
}

/**
 * A batch of some of the records of another, which share its memory.
 *
 * @param indexes of the records in `batch`, ascending.
 */
export function selectRecords(batch: Batch, indexes: readonly number[]): Batch {
  const chunks: Uint8Array[] = [];
  let byteLength = 0;
  let next = 0;
  // Lines one behind the other are one chunk.
  let start = 0;
  let end = 0;
  let within: Buffer | undefined;
  const flush = (): void => {
    if (within === undefined || start === end) return;
    chunks.push(within.subarray(start, end));
    byteLength += end - start;
  };
  forEachLine(batch, (chunk, from, to, index) => {
    if (index !== indexes[next]) return;
    next++;
    if (chunk !== within || from !== end) {
      flush();
      within = chunk;
      start = from;
    }
    end = Math.min(to + 1, chunk.length);
  });
  flush();
  return {
    id: batch.id,
    chunks,
    count: indexes.length,
    byteLength,
    oldestAt: batch.oldestAt,
    positions: indexes.map((index) => positionOf(batch, index)),
  };
}

/** The two halves of a batch of two records or more. */
export function splitBatch(batch: Batch): readonly [Batch, Batch] {
  const indexes = Array.from({ length: batch.count }, (_, index) => index);
  const middle = batch.count >>> 1;
  return [selectRecords(batch, indexes.slice(0, middle)), selectRecords(batch, indexes.slice(middle))];
}

/** The lines of a batch in one piece of memory, a copy unless they lie so already. */
export function joinChunks({ chunks, byteLength }: Pick<Batch, "chunks" | "byteLength">): Uint8Array {
  const [first] = chunks;
  if (chunks.length === 1 && first !== undefined) return first;
  const joined = Buffer.allocUnsafeSlow(byteLength);
  let at = 0;
  for (const chunk of chunks) {
    at = copyLines(chunk, 0, chunk.length, joined, at);
  }
  return joined;
}
