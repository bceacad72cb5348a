import { close, write } from "node:fs";
import { promisify } from "node:util";
import { errorCode, reasonOf } from "../delivery/output-adapter.ts";
import type { Sink } from "../../record/index.ts";
import { limitLog, type Clock, type Component, type Health, type Log } from "../../base/report/index.ts";
import { createPause } from "../delivery/backoff.ts";
import type { DropReason, OutputMetrics, OutputReport } from "../output-metrics.ts";

/** Where a queued sink takes its bytes. Its calls are made one at a time, but for `abort`. */
export interface Outlet {
  /**
   * Called between two batches, and after each `retreat`: opens what is not open, or goes on to another file. @returns
   * how many bytes the next batch should have at most.
   *
   * @throws an error of the system when there is nothing open to write to.
   */
  next(): Promise<number>;
  /** Whether `next` is to be called again after a while, because it could not do all it was to do. */
  isUnfinished(): boolean;
  /**
   * Writes the batch from `at` on. @returns how many bytes were taken; 0 when none can be taken now.
   *
   * @throws an error of the system, or OutletClosedError. Nothing of this call's bytes was taken then.
   */
  write(batch: Uint8Array, at: number): Promise<number>;
  /**
   * Called when a write failed or the batch is given up: takes back the part of a line that was written, where that is
   * possible. @returns where in the batch to go on: the beginning of that line, else `at`.
   */
  retreat(batch: Uint8Array, at: number, error?: unknown): Promise<number>;
  close(): Promise<void>;
  /** Makes a write that is under way end soon. */
  abort(): void;
}

/** The reader is gone and will not come back. */
export class OutletClosedError extends Error {
  override readonly name = "OutletClosedError";
}

/** Where the line begins in which `at` lies; `at` itself between two lines. */
export function lineStart(batch: Uint8Array, at: number): number {
  return at === 0 ? 0 : batch.lastIndexOf(0x0a, at - 1) + 1;
}

/** Whole lines in the first `end` bytes. */
export function countLines(batch: Uint8Array, end: number): number {
  const bytes = bufferOf(batch);
  let lines = 0;
  for (let at = bytes.indexOf(0x0a); at >= 0 && at < end; at = bytes.indexOf(0x0a, at + 1)) lines++;
  return lines;
}

/** The same memory as a buffer. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

const writeTo = promisify(write);
const closeOf = promisify(close);

const maxBatch = 256 * 1024;

interface DescriptorOutletOptions {
  readonly fd: number;
  /** Whether to close the descriptor with the outlet. */
  readonly isOwned: boolean;
  /** Whether an I/O error means that nobody is there any more, as with a terminal that was closed. */
  readonly isTerminal: boolean;
}

/** A regular file, terminal or device that is already open, written to at its current position. */
export function createDescriptorOutlet(options: DescriptorOutletOptions): Outlet {
  const { fd, isOwned, isTerminal } = options;
  return {
    next: async () => maxBatch,
    isUnfinished: () => false,
    async write(batch, at) {
      try {
        return (await writeTo(fd, batch, at, batch.length - at, null)).bytesWritten;
      } catch (error) {
        const code = errorCode(error);
        if (code === "EAGAIN") return 0;
        if (code === "EPIPE" || (isTerminal && code === "EIO")) {
          throw new OutletClosedError(reasonOf(error), { cause: error });
        }
        throw error;
      }
    },
    // Others may write to the same file, so nothing is taken back: the next write goes on at the exact byte.
    retreat: async (_batch, at) => at,
    close: async () => {
      if (isOwned) await closeOf(fd).catch(() => {});
    },
    abort() {},
  };
}

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

/** What every output is given. */
export interface OutputOptions {
  /** How many bytes may wait before records are dropped. */
  readonly queueBytes: number;
  readonly log: Log;
  readonly metrics: OutputMetrics;
  readonly clock: Clock;
  readonly health: Health;
  /** How long to wait after a failure before trying again, in milliseconds. Default 1000. */
  readonly retryMs?: number;
  /** How long `stop` may take to write what waits, in milliseconds. Default 2000. */
  readonly flushMs?: number;
}

interface QueuedSinkOptions extends OutputOptions {
  readonly name: string;
  /** Called once when the reader is gone. */
  readonly onClosed?: () => void;
  /** @throws what makes a start without the output the better choice. */
  readonly open: (report: OutputReport) => Promise<Outlet>;
}

interface QueuedSink extends Sink, Component {
  readonly report: OutputReport;
  /** Makes the sink call `next` of its outlet even if nothing is to be written, and at once if it waits for a retry. */
  nudge(): void;
}

/** How long to wait when the reader takes nothing now: longer each time. */
const blockedMs = [1, 2, 4, 8, 16] as const;

/** Writes follow each other no faster than this, unless there is much to write: each wakes a thread of the system's calls. */
const gatherMs = 5;
const gatherBytes = 512 * 1024;

/** How long an aborted write may take to end. */
const abortMs = 500;

/**
 * A bounded queue with one outlet behind it and one write under way at a time. `write` only copies into the queue, `lend`
 * not even that.
 *
 * - A chunk that does not fit into the queue is dropped and counted.
 * - After a failure the same bytes are tried again at a limited rate, for ever: the queue holds what comes meanwhile.
 * - A reader that is gone for good ends the sink; what comes after is dropped and counted.
 * - `stop` writes what waits, within its time; a failing outlet is tried once more. The rest is dropped and counted.
 */
export function createQueuedSink(options: QueuedSinkOptions): QueuedSink {
  const { name, log, clock, health, retryMs = 1000, flushMs = 2000 } = options;
  const queue = createBoundedQueue(options.queueBytes);
  const report = options.metrics.output(name, () => queue.byteLength);
  const limited = limitLog(log, clock);
  const checkName = `output ${name}`;
  const idle = createPause();
  const delay = createPause();

  /** Whether `stop` was called. */
  let isStopping = false;
  /** Set when no record will be written any more. */
  let ended: DropReason | undefined;
  const isEnded = (): boolean => ended !== undefined;
  let isFailing = false;
  /** Whether `next` is to be called though nothing waits: at first to open the outlet. */
  let isNudged = true;
  let outlet: Outlet | undefined;
  let inFlight: Batch | undefined;
  let running: Promise<void> | undefined;

  const failed = (operation: string, error: unknown): void => {
    report.failed(operation, errorCode(error));
    const reason = reasonOf(error);
    limited.error({ output: name, reason }, "output fails, trying again");
    health.set({ name: checkName, ready: true, degraded: true, detail: `${reason}; trying again` });
    isFailing = true;
  };

  const succeeded = (): void => {
    if (!isFailing) return;
    isFailing = false;
    log.info({ output: name }, "output works again");
    health.set({ name: checkName, ready: true });
  };

  const drop = (reason: DropReason, records: number, bytes: number): void => {
    if (bytes === 0) return;
    report.dropped(reason, records, bytes);
    // That the reader is gone is logged once.
    if (reason !== "closed") limited.warn({ output: name, reason, records }, "records dropped");
  };

  /** @returns how many bytes were written: all, unless the sink ends. */
  const deliver = async (to: Outlet, bytes: Uint8Array): Promise<number> => {
    let at = 0;
    let blocked = 0;
    let hasFailed = false;
    while (at < bytes.length && !isEnded()) {
      try {
        if (hasFailed) await to.next();
        hasFailed = false;
        const taken = await to.write(bytes, at);
        at += taken;
        if (taken > 0) blocked = 0;
        else await delay.pause(blockedMs[Math.min(blocked++, blockedMs.length - 1)]);
      } catch (error) {
        hasFailed = true;
        at = await to.retreat(bytes, at, error);
        if (error instanceof OutletClosedError) ended ??= "closed";
        if (isEnded()) return at;
        failed("write", error);
        if (isStopping) ended = "stopped";
        else await delay.pause(retryMs);
      }
    }
    if (at < bytes.length) return to.retreat(bytes, at);
    succeeded();
    return at;
  };

  /** What may be written next. @returns undefined when the outlet has nothing open, or nothing waits. */
  const takeBatch = async (from: Outlet): Promise<Batch | undefined> => {
    isNudged = false;
    try {
      const room = await from.next();
      if (queue.count === 0) succeeded();
      return queue.take(room);
    } catch (error) {
      failed("open", error);
      isNudged = true;
      if (isStopping) ended = "stopped";
      else await delay.pause(retryMs);
      return undefined;
    }
  };

  const run = async (to: Outlet): Promise<void> => {
    let lastWrite = -Infinity;
    while (!isEnded()) {
      if (queue.count === 0 && isStopping) break;
      if (queue.count === 0 && !isNudged) {
        await idle.pause(to.isUnfinished() ? retryMs : undefined);
        isNudged ||= to.isUnfinished();
        continue;
      }
      if (queue.byteLength < gatherBytes && clock.monotonic() - lastWrite < gatherMs && !isStopping) {
        await delay.pause(gatherMs);
      }
      const batch = await takeBatch(to);
      if (batch === undefined) continue;
      lastWrite = clock.monotonic();
      inFlight = batch;
      const written = await deliver(to, batch.bytes);
      inFlight = undefined;
      const records =
        written === batch.bytes.length ? batch.count : Math.min(batch.count, countLines(batch.bytes, written));
      report.written(records, written);
      drop(ended ?? "stopped", batch.count - records, batch.bytes.length - written);
    }
    await to.close();
    if (ended !== "closed") return;
    discard("closed");
    log.warn({ output: name }, "the reader of the output is gone; records for it are dropped");
    health.set({
      name: checkName,
      ready: true,
      degraded: true,
      detail: "the reader is gone; records for it are dropped and counted",
    });
    options.onClosed?.();
  };

  const discard = (reason: DropReason): void => {
    drop(reason, queue.count, queue.byteLength);
    while (queue.take(Infinity) !== undefined);
  };

  return {
    name: checkName,
    report,

    write(lines, count) {
      if (ended !== undefined) drop(ended, count, lines.length);
      else if (queue.put(lines, count)) idle.end();
      else drop("queue_full", count, lines.length);
    },

    lend(lines, count, done) {
      if (ended === undefined && queue.lend(lines, count, done)) {
        idle.end();
        return;
      }
      drop(ended ?? "queue_full", count, lines.length);
      done();
    },

    nudge() {
      isNudged = true;
      idle.end();
      delay.end();
    },

    async start() {
      outlet = await options.open(report);
      health.set({ name: checkName, ready: true });
      running = run(outlet);
    },

    async stop() {
      isStopping = true;
      idle.end();
      delay.end();
      if (running !== undefined && !(await endsWithin(running, flushMs))) {
        ended ??= "stopped";
        delay.end();
        outlet?.abort();
        if (!(await endsWithin(running, abortMs))) {
          log.error({ output: name }, "a write hangs in the operating system");
          if (inFlight !== undefined) drop("stopped", inFlight.count, inFlight.bytes.length);
        }
      }
      ended ??= "stopped";
      discard(ended);
    },
  };
}

async function endsWithin(action: Promise<void>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), ms)));
  try {
    return await Promise.race([action.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
