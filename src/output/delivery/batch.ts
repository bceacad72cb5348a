import type { Clock } from "../../base/report/index.ts";
import { copyLines } from "../../record/index.ts";
import type { CommonSettings } from "./settings.ts";

const lineFeed = 0x0a;

/** The identity of a batch, assigned before the first try. A batch that is sent again has the same one, even in a later run. */
export interface BatchId {
  /** The run of the collector and the output that made the batch: lower-case letters and digits, unique. */
  readonly instance: string;
  /** The number of the batch within its instance, from 0. */
  readonly number: number;
}

/** Whole NDJSON lines that are sent together. Immutable. */
export interface Batch {
  readonly id: BatchId;
  /** The lines, each ending in a line feed. No line lies in two chunks. The memory may be shared with other threads. */
  readonly chunks: readonly Uint8Array[];
  /** The number of records. */
  readonly count: number;
  /** Bytes of all chunks. */
  readonly byteLength: number;
  /** The arrival of its oldest record, milliseconds since the epoch. */
  readonly oldestAt: number;
  /**
   * The position of each record in the original batch; absent: 0, 1, 2 …. A batch of records to be retried keeps the positions,
   * and so the identities, of its records.
   */
  readonly positions?: readonly number[];
}

/** Returns the identity of a batch as text: `k3v9x2q0m1ab-2s`. */
export function batchKey({ instance, number }: BatchId): string {
  return `${instance}-${number.toString(36)}`;
}

/** Returns the position of the `index`th record, which with the batch's key identifies the record. */
export function positionOf(batch: Batch, index: number): number {
  return batch.positions?.[index] ?? index;
}

/**
 * Calls back for each line of a batch, without its line feed.
 *
 * @param visit receives the chunk, the start and end of the line in it, and its index in the batch.
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
 * Returns a batch of some of the records of another, in the same memory.
 *
 * @param indexes of the records in `batch`, ascending.
 */
export function selectRecords(batch: Batch, indexes: readonly number[]): Batch {
  const chunks: Uint8Array[] = [];
  let byteLength = 0;
  let next = 0;
  // Consecutive lines are one chunk.
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

/** Returns the two halves of a batch of two records or more. */
export function splitBatch(batch: Batch): readonly [Batch, Batch] {
  const indexes = Array.from({ length: batch.count }, (_, index) => index);
  const middle = batch.count >>> 1;
  return [selectRecords(batch, indexes.slice(0, middle)), selectRecords(batch, indexes.slice(middle))];
}

/** Returns the lines of a batch in contiguous memory: a copy unless they are contiguous already. */
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

/** A batch that was taken from a queue. The holder calls one of the two methods, once. */
export interface TakenBatch {
  readonly batch: Batch;
  /** Reports that all its records are dealt with. */
  done(): void;
  /** Returns the batch, or the records that were not delivered: it will be taken again, or kept for the next run. */
  giveBack(left: Pick<Batch, "count" | "byteLength">): void;
}

/** Returns the same memory as a buffer. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Counts the whole lines in the first `end` bytes. */
export function countLines(batch: Uint8Array, end: number): number {
  const bytes = bufferOf(batch);
  let lines = 0;
  for (let at = bytes.indexOf(lineFeed); at >= 0 && at < end; at = bytes.indexOf(lineFeed, at + 1)) lines++;
  return lines;
}

/** Gathers lines into batches. */
export class Batcher {
  readonly #instance: string;
  readonly #maxBytes: number;
  readonly #maxRecords: number;
  readonly #deadlineMs: number;
  readonly #clock: Clock;
  readonly #emit: (batch: Batch, release: () => void) => void;
  #number = 0;
  #chunks: Uint8Array[] = [];
  #dones: (() => void)[] = [];
  #byteLength = 0;
  #count = 0;
  #oldestAt = 0;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param instance of the batches that are made.
   * @param maxRecords of a batch, besides the limits of the settings. A record that exceeds these is a batch by itself.
   * @param emit receives each batch and a function that frees its memory, to be called once.
   */
  constructor(
    instance: string,
    { BATCH_MAX_BYTES, BATCH_DEADLINE }: Pick<CommonSettings, "BATCH_MAX_BYTES" | "BATCH_DEADLINE">,
    maxRecords: number,
    clock: Clock,
    emit: (batch: Batch, release: () => void) => void,
  ) {
    this.#instance = instance;
    this.#maxBytes = BATCH_MAX_BYTES;
    this.#deadlineMs = BATCH_DEADLINE;
    this.#maxRecords = maxRecords;
    this.#clock = clock;
    this.#emit = emit;
  }

  /** Takes whole lines, without copying them. `done` is called when they are not needed any more. */
  add(lines: Uint8Array, records: number, done: () => void): void {
    if (lines.length <= this.#maxBytes && records <= this.#maxRecords) {
      this.#gather(lines, records, done);
      return;
    }
    const parts = cutLines(lines, this.#maxBytes, this.#maxRecords);
    let left = parts.length;
    const partDone = (): void => {
      if (--left === 0) done();
    };
    for (const part of parts) this.#gather(part.lines, part.count, partDone);
  }

  /** Emits the lines gathered so far. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#count === 0) return;
    const id = { instance: this.#instance, number: this.#number++ };
    const dones = this.#dones;
    const batch = {
      id,
      chunks: this.#chunks,
      count: this.#count,
      byteLength: this.#byteLength,
      oldestAt: this.#oldestAt,
    };
    this.#chunks = [];
    this.#dones = [];
    this.#byteLength = 0;
    this.#count = 0;
    this.#emit(batch, () => {
      for (const done of dones) done();
    });
  }

  /** Takes lines that fit into one batch. */
  #gather(lines: Uint8Array, records: number, done: () => void): void {
    const isTooMuch = this.#byteLength + lines.length > this.#maxBytes || this.#count + records > this.#maxRecords;
    if (this.#count > 0 && isTooMuch) this.flush();
    if (this.#count === 0) {
      this.#oldestAt = this.#clock.now();
      this.#timer = setTimeout(() => this.flush(), this.#deadlineMs);
    }
    this.#chunks.push(lines);
    this.#dones.push(done);
    this.#byteLength += lines.length;
    this.#count += records;
    if (this.#byteLength >= this.#maxBytes || this.#count >= this.#maxRecords) this.flush();
  }
}

/** Cuts lines between records into parts of at most `maxBytes` (unless a part is one record) and `maxRecords`. */
function cutLines(given: Uint8Array, maxBytes: number, maxRecords: number): { lines: Uint8Array; count: number }[] {
  const lines = bufferOf(given);
  const parts: { lines: Uint8Array; count: number }[] = [];
  for (let from = 0; from < lines.length;) {
    const within = lines.subarray(from, from + maxBytes);
    let end = within.lastIndexOf(0x0a) + 1;
    // A single record may exceed the size of a batch.
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
