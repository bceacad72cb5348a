import { errorCode } from "../../base/file/index.ts";
import {
  Backoff,
  limitLog,
  Pause,
  within,
  type Clock,
  type Component,
  type Health,
  type Log,
} from "../../base/report/index.ts";
import type { Sink } from "../../record/index.ts";
import { countLines } from "../delivery/batch.ts";
import { reasonOf } from "../delivery/output-adapter.ts";
import type { DropReason, OutputMetrics, OutputReport } from "../output-metrics.ts";

/** Takes the bytes of a queued sink. Its calls are made one at a time, except `abort`. */
export interface Outlet {
  /**
   * Opens the outlet if it is not open, or goes on to another file. Called between two batches, and after each `retreat`. @returns
   * the most bytes that the next batch should have.
   *
   * @throws an error of the system when nothing is open to write to.
   */
  next(): Promise<number>;
  /** Reports whether `next` must be called again after a while, because it could not do all its work. */
  isUnfinished(): boolean;
  /**
   * Writes the batch from `at` on. @returns the number of bytes taken; 0 when none can be taken now.
   *
   * @throws an error of the system, or OutletClosedError. None of this call's bytes were taken then.
   */
  write(batch: Uint8Array, at: number): Promise<number>;
  /**
   * Removes the written part of a line, where that is possible, after a write failed or the batch is given up. @returns where in
   * the batch to go on: the beginning of that line, else `at`.
   */
  retreat(batch: Uint8Array, at: number, error?: unknown): Promise<number>;
  close(): Promise<void>;
  /** Makes a write that is under way end soon. */
  abort(): void;
}

/** The error of a reader that is gone and will not come back. */
export class OutletClosedError extends Error {
  override readonly name = "OutletClosedError";
}

/** Whole lines, and their number of records. */
type Lines = { readonly bytes: Uint8Array; readonly count: number };

/** Lines whose memory is freed by `done`. */
type Chunk = Lines & { readonly done: () => void };

/** Memory for copied chunks, and how many chunks in it wait or were taken last. */
type Block = { readonly bytes: Uint8Array; end: number; chunks: number };

const blockSize = 4 * 1024 * 1024;

/** The number of free blocks that are kept: fresh memory costs more than copying into it. */
const maxSpare = 4;

/** The number of taken chunks, at least half of the list, at which they are removed from it. */
const maxTaken = 1024;

/**
 * A queue, first in, first out, never with more bytes than its limit. Copies bound the memory, whatever the chunks are slices of.
 * They also put consecutive chunks together, which become one large write.
 */
export class BoundedQueue {
  readonly #maxBytes: number;
  readonly #usualSize: number;
  #chunks: Chunk[] = [];
  /** The first that waits. */
  #first = 0;
  /** Chunks of the batch that was taken last. */
  #taken: Chunk[] = [];
  #filling: Block | undefined;
  readonly #spare: Uint8Array[] = [];
  #byteLength = 0;
  #count = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#usualSize = Math.min(blockSize, maxBytes);
  }

  /** Bytes that wait. */
  get byteLength(): number {
    return this.#byteLength;
  }

  /** Records that wait. */
  get count(): number {
    return this.#count;
  }

  /** Copies a chunk of whole lines into the queue. @returns false when it does not fit; nothing was taken then. */
  put(lines: Uint8Array, count: number): boolean {
    if (this.#byteLength + lines.length > this.#maxBytes) return false;
    const block = this.#blockFor(lines.length);
    const start = block.end;
    block.bytes.set(lines, start);
    block.end += lines.length;
    block.chunks++;
    this.#add({ bytes: block.bytes.subarray(start, block.end), count, done: () => this.#leave(block) });
    return true;
  }

  /**
   * Takes a chunk without copying it: its bytes must stay unchanged until `done` is called, which happens once.
   *
   * @returns false when it does not fit; nothing was taken then, and `done` is not called.
   */
  lease(lines: Uint8Array, count: number, done: () => void): boolean {
    if (this.#byteLength + lines.length > this.#maxBytes) return false;
    this.#add({ bytes: lines, count, done });
    return true;
  }

  /**
   * Removes as many whole chunks as fit in `limit` bytes and are contiguous, and always the first one. The bytes
   * stay unchanged until the next call. @returns undefined when the queue is empty.
   */
  take(limit: number): Lines | undefined {
    for (const chunk of this.#taken) chunk.done();
    this.#taken = [];
    const first = this.#chunks[this.#first];
    if (first === undefined) {
      this.#chunks = [];
      this.#first = 0;
      return undefined;
    }
    const { buffer, byteOffset: start } = first.bytes;
    let length = 0;
    let count = 0;
    for (let next: Chunk | undefined = first; next !== undefined; next = this.#chunks[this.#first]) {
      const { bytes } = next;
      const isBehind = bytes.buffer === buffer && bytes.byteOffset === start + length;
      if (!isBehind || (length > 0 && length + bytes.length > limit)) break;
      length += bytes.length;
      count += next.count;
      this.#taken.push(next);
      this.#first++;
    }
    if (this.#first > maxTaken && this.#first > this.#chunks.length / 2) {
      this.#chunks = this.#chunks.slice(this.#first);
      this.#first = 0;
    }
    this.#byteLength -= length;
    this.#count -= count;
    return { bytes: new Uint8Array(buffer, start, length), count };
  }

  #add(chunk: Chunk): void {
    this.#chunks.push(chunk);
    this.#byteLength += chunk.bytes.length;
    this.#count += chunk.count;
  }

  #blockFor(bytes: number): Block {
    const filling = this.#filling;
    if (filling !== undefined && filling.bytes.length - filling.end >= bytes) return filling;
    if (filling?.chunks === 0) this.#retire(filling);
    const size = Math.max(this.#usualSize, bytes);
    const memory = (size === this.#usualSize ? this.#spare.pop() : undefined) ?? Buffer.allocUnsafeSlow(size);
    return (this.#filling = { bytes: memory, end: 0, chunks: 0 });
  }

  #leave(block: Block): void {
    if (--block.chunks > 0) return;
    if (block === this.#filling) block.end = 0;
    else this.#retire(block);
  }

  #retire({ bytes }: Block): void {
    if (bytes.length === this.#usualSize && this.#spare.length < maxSpare) this.#spare.push(bytes);
  }
}

/** The options of every output. */
export interface OutputOptions {
  /** Bytes that may wait before records are dropped. */
  readonly queueBytes: number;
  readonly log: Log;
  readonly metrics: OutputMetrics;
  readonly clock: Clock;
  readonly health: Health;
  /** The time to wait after a failure before trying again, in milliseconds. Default 1000. */
  readonly retryMs?: number;
  /** The time that `stop` may take to write waiting lines, in milliseconds. Default 2000. */
  readonly flushMs?: number;
  /** Called once when the reader is gone (`| head`, a closed terminal). The sink then drops and counts all records. */
  readonly onClosed?: () => void;
}

/** Waits while the reader takes nothing. */
const blocked = new Backoff(1, 16);

/** The least interval between writes, unless there is much to write: each wakes a thread of libuv's pool. */
const gatherMs = 5;
const gatherBytes = 512 * 1024;

/** The time that an aborted write may take to end. */
const abortMs = 500;

/**
 * A bounded queue before one outlet, with one write under way at a time. `write` only copies into the queue, and `lease` does
 * not even copy.
 *
 * - A chunk that does not fit into the queue is dropped and counted.
 * - After a failure the same bytes are tried again at a limited rate, for ever; the queue holds new lines meanwhile.
 * - A reader that is gone permanently ends the sink; further records are dropped and counted.
 * - `stop` writes waiting lines, within its time; a failing outlet is tried once more. The rest is dropped and counted.
 */
export abstract class QueuedSink implements Sink, Component {
  readonly name: string;
  readonly report: OutputReport;
  readonly #output: string;
  readonly #options: OutputOptions;
  readonly #retryMs: number;
  readonly #limitedLog: Log;
  readonly #queue: BoundedQueue;
  readonly #idle = new Pause();
  readonly #delay = new Pause();
  #isStopping = false;
  /** Set when no record will be written any more. */
  #ended: DropReason | undefined;
  #isFailing = false;
  /** True if `next` must be called although nothing waits: at first to open the outlet. */
  #isNudged = true;
  #outlet: Outlet | undefined;
  #inFlight: Lines | undefined;
  #running: Promise<void> | undefined;

  constructor(output: string, options: OutputOptions) {
    this.#output = output;
    this.#options = options;
    this.#retryMs = options.retryMs ?? 1000;
    this.#limitedLog = limitLog(options.log, options.clock);
    this.#queue = new BoundedQueue(options.queueBytes);
    this.name = `output ${output}`;
    this.report = options.metrics.output(output, () => this.#queue.byteLength);
  }

  write(lines: Uint8Array, count: number): void {
    if (this.#ended !== undefined) this.#drop(this.#ended, count, lines.length);
    else if (this.#queue.put(lines, count)) this.#idle.end();
    else this.#drop("queue_full", count, lines.length);
  }

  lease(lines: Uint8Array, count: number, done: () => void): void {
    if (this.#ended === undefined && this.#queue.lease(lines, count, done)) {
      this.#idle.end();
      return;
    }
    this.#drop(this.#ended ?? "queue_full", count, lines.length);
    done();
  }

  /** Makes the sink call `next` of its outlet even if there is nothing to write, and immediately if it waits for a retry. */
  nudge(): void {
    this.#isNudged = true;
    this.#idle.end();
    this.#delay.end();
  }

  async start(): Promise<void> {
    this.#outlet = await this.open();
    this.#options.health.set({ name: this.name, ready: true });
    this.#running = this.#run(this.#outlet);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#idle.end();
    this.#delay.end();
    const { flushMs = 2000 } = this.#options;
    if (this.#running !== undefined && (await within(this.#running, flushMs, "late")) === "late") {
      this.#ended ??= "stopped";
      this.#delay.end();
      this.#outlet?.abort();
      if ((await within(this.#running, abortMs, "late")) === "late") {
        this.#options.log.error({ output: this.#output }, "a write hangs in the operating system");
        if (this.#inFlight !== undefined) this.#drop("stopped", this.#inFlight.count, this.#inFlight.bytes.length);
      }
    }
    this.#ended ??= "stopped";
    this.#discard(this.#ended);
  }

  /** Opens the outlet. @throws an error that will not pass by itself: the start of the sink fails. */
  protected abstract open(): Promise<Outlet>;

  async #run(to: Outlet): Promise<void> {
    const { clock } = this.#options;
    let lastWrite = -Infinity;
    while (this.#ended === undefined) {
      if (this.#queue.count === 0 && this.#isStopping) break;
      if (this.#queue.count === 0 && !this.#isNudged) {
        await this.#idle.pause(to.isUnfinished() ? this.#retryMs : undefined);
        this.#isNudged ||= to.isUnfinished();
        continue;
      }
      const isEarly = this.#queue.byteLength < gatherBytes && clock.monotonic() - lastWrite < gatherMs;
      if (isEarly && !this.#isStopping) await this.#delay.pause(gatherMs);
      const batch = await this.#takeBatch(to);
      if (batch === undefined) continue;
      lastWrite = clock.monotonic();
      await this.#deliver(to, batch);
    }
    await to.close();
    if (this.#ended === "closed") this.#readerIsGone();
  }

  /** Takes the next lines to write. @returns undefined when the outlet has nothing open, or nothing waits. */
  async #takeBatch(from: Outlet): Promise<Lines | undefined> {
    this.#isNudged = false;
    try {
      const room = await from.next();
      if (this.#queue.count === 0) this.#succeeded();
      return this.#queue.take(room);
    } catch (error) {
      this.#failed("open", error);
      this.#isNudged = true;
      await this.#waitToRetry();
      return undefined;
    }
  }

  async #deliver(to: Outlet, batch: Lines): Promise<void> {
    this.#inFlight = batch;
    const written = await this.#writeAll(to, batch.bytes);
    this.#inFlight = undefined;
    const { length } = batch.bytes;
    const records = written === length ? batch.count : Math.min(batch.count, countLines(batch.bytes, written));
    this.report.written(records, written);
    this.#drop(this.#ended ?? "stopped", batch.count - records, length - written);
  }

  /** Writes bytes. @returns the number written: all, unless the sink ends. */
  async #writeAll(to: Outlet, bytes: Uint8Array): Promise<number> {
    let at = 0;
    let timesBlocked = 0;
    let hasFailed = false;
    while (at < bytes.length && this.#ended === undefined) {
      try {
        if (hasFailed) await to.next();
        hasFailed = false;
        const taken = await to.write(bytes, at);
        at += taken;
        if (taken > 0) timesBlocked = 0;
        else await this.#delay.pause(blocked.delay(++timesBlocked));
      } catch (error) {
        hasFailed = true;
        at = await to.retreat(bytes, at, error);
        if (error instanceof OutletClosedError) this.#ended ??= "closed";
        if (this.#isEnded()) return at;
        this.#failed("write", error);
        await this.#waitToRetry();
      }
    }
    if (at < bytes.length) return to.retreat(bytes, at);
    this.#succeeded();
    return at;
  }

  /** Reports whether the sink has ended; the compiler does not see that others may end it meanwhile. */
  #isEnded(): boolean {
    return this.#ended !== undefined;
  }

  async #waitToRetry(): Promise<void> {
    if (this.#isStopping) this.#ended = "stopped";
    else await this.#delay.pause(this.#retryMs);
  }

  #failed(operation: string, error: unknown): void {
    const output = this.#output;
    this.report.failed(operation, errorCode(error));
    const reason = reasonOf(error);
    this.#limitedLog.error({ output, reason }, "output fails, trying again");
    this.#options.health.set({ name: this.name, ready: true, degraded: true, detail: `${reason}; trying again` });
    this.#isFailing = true;
  }

  #succeeded(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#options.log.info({ output: this.#output }, "output works again");
    this.#options.health.set({ name: this.name, ready: true });
  }

  #readerIsGone(): void {
    const { log, health, onClosed } = this.#options;
    this.#discard("closed");
    log.warn({ output: this.#output }, "the reader of the output is gone; records for it are dropped");
    const detail = "the reader is gone; records for it are dropped and counted";
    health.set({ name: this.name, ready: true, degraded: true, detail });
    onClosed?.();
  }

  #discard(reason: DropReason): void {
    this.#drop(reason, this.#queue.count, this.#queue.byteLength);
    while (this.#queue.take(Infinity) !== undefined);
  }

  #drop(reason: DropReason, records: number, bytes: number): void {
    if (bytes === 0) return;
    this.report.dropped(reason, records, bytes);
    // The log already says once that the reader is gone.
    if (reason === "closed") return;
    this.#limitedLog.warn({ output: this.#output, reason, records }, "records dropped");
  }
}
