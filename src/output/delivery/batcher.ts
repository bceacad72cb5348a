import type { Clock } from "../../base/report/index.ts";
import { bufferOf, countLines } from "../outlet.ts";
import type { HeldBatch } from "./delivery-queue.ts";

export interface BatcherOptions {
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
export interface Batcher {
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
