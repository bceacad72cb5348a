import type { Sink } from "../record/index.ts";
import type { OutputReport } from "./output-metrics.ts";

/** Lines leased to another thread, which reports when it does not need them any more. */
export type LeasedLines = SharedLines | CopiedLines;

/** Lines in memory that both threads share. The memory is posted once and then known by its number. */
interface SharedLines {
  readonly lease: number;
  readonly memory: SharedArrayBuffer | number;
  readonly at: number;
  readonly length: number;
  readonly count: number;
}

/** A copy that the other thread owns. */
interface CopiedLines {
  readonly lease: number;
  readonly bytes: Uint8Array;
  readonly count: number;
}

/** The number of memories that are remembered by number. */
const maxMemories = 64;
/** The fraction of the queue at which a message is sent at once. */
const enoughOfQueue = 1 / 8;

interface LeaseLimits {
  /** The most bytes leased at a time; further lines are dropped and counted. */
  readonly maxBytes: number;
  /** The bytes up to which consecutive lines share one lease. */
  readonly maxLeaseBytes: number;
  /** The longest time that lines wait for others to share their message, milliseconds. */
  readonly gatherMs: number;
  /** The bytes of lines at which a message is sent at once. */
  readonly gatherBytes: number;
}

/**
 * A sink that leases its lines to another thread. Those in shared memory are not copied.
 *
 * A message costs as much as some hundred lines. So consecutive lines share one lease, and all lines within some milliseconds
 * share one message.
 */
export class LineLessor implements Sink {
  readonly #limits: LeaseLimits;
  readonly #enough: number;
  readonly #report: Pick<OutputReport, "dropped">;
  readonly #post: (lines: readonly LeasedLines[]) => void;
  readonly #leases = new Map<number, { count: number; length: number; readonly dones: (() => void)[] }>();
  readonly #memories = new Map<SharedArrayBuffer, number>();
  #nextLease = 0;
  #nextMemory = 0;
  #byteLength = 0;
  /** Lines that are not yet posted to the other thread. */
  #pending: LeasedLines[] = [];
  #pendingBytes = 0;
  /** The last of them, if it is in shared memory: lines right after it join it. */
  #tail: { readonly buffer: SharedArrayBuffer; readonly lines: SharedLines } | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param post sends lines to the other thread. */
  constructor(
    limits: LeaseLimits,
    report: Pick<OutputReport, "dropped">,
    post: (lines: readonly LeasedLines[]) => void,
  ) {
    this.#limits = limits;
    this.#enough = Math.min(limits.gatherBytes, limits.maxBytes * enoughOfQueue);
    this.#report = report;
    this.#post = post;
  }

  /** Bytes that are leased. */
  get byteLength(): number {
    return this.#byteLength;
  }

  write(lines: Uint8Array, count: number): void {
    if (this.#hasRoom(lines.length, count)) this.#copy(lines, count);
  }

  lease(lines: Uint8Array, count: number, done: () => void): void {
    if (!this.#hasRoom(lines.length, count)) {
      done();
      return;
    }
    const { buffer, byteOffset, length } = lines;
    if (!(buffer instanceof SharedArrayBuffer)) {
      this.#copy(lines, count);
      done();
      return;
    }
    if (this.#join(buffer, lines, count, done)) return;
    const lease = this.#nextLease++;
    const shared: SharedLines = { lease, memory: this.#memoryOf(buffer), at: byteOffset, length, count };
    this.#leases.set(lease, { count, length, dones: [done] });
    this.#tail = { buffer, lines: shared };
    this.#pending.push(shared);
    this.#noted(length);
  }

  /** Posts all pending lines to the other thread. */
  flush(): void {
    const lines = this.#pending;
    this.#forgetPending();
    if (lines.length > 0) this.#post(lines);
  }

  /** Ends leases that the other thread does not need any more. */
  returned(leases: readonly number[]): void {
    for (const number of leases) {
      const lease = this.#leases.get(number);
      if (lease === undefined) continue;
      this.#leases.delete(number);
      this.#byteLength -= lease.length;
      for (const done of lease.dones) done();
    }
  }

  /** Drops and counts all leased lines after the other thread has died. A new thread takes its place. */
  reset(): void {
    for (const { count, length, dones } of this.#leases.values()) {
      this.#report.dropped("thread_died", count, length);
      for (const done of dones) done();
    }
    this.#leases.clear();
    this.#memories.clear();
    this.#nextMemory = 0;
    this.#byteLength = 0;
    this.#forgetPending();
  }

  #forgetPending(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#tail = undefined;
  }

  #hasRoom(bytes: number, count: number): boolean {
    if (this.#byteLength + bytes <= this.#limits.maxBytes) return true;
    this.#report.dropped("queue_full", count, bytes);
    return false;
  }

  /** Counts lines that were added to the pending ones. */
  #noted(length: number): void {
    this.#byteLength += length;
    this.#pendingBytes += length;
    if (this.#pendingBytes >= this.#enough) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), this.#limits.gatherMs);
  }

  #memoryOf(buffer: SharedArrayBuffer): SharedArrayBuffer | number {
    const known = this.#memories.get(buffer);
    if (known !== undefined) return known;
    // A decoding thread that died has left its memory here; memories in use are numbered again.
    if (this.#memories.size >= maxMemories) this.#memories.clear();
    this.#memories.set(buffer, this.#nextMemory++);
    return buffer;
  }

  #copy(lines: Uint8Array, count: number): void {
    const bytes = new Uint8Array(lines);
    const lease = this.#nextLease++;
    this.#leases.set(lease, { count, length: bytes.length, dones: [] });
    this.#pending.push({ lease, bytes, count });
    this.#tail = undefined;
    this.#noted(bytes.length);
  }

  /** Extends the lease of the lines right before. @returns false when there are none. */
  #join(buffer: SharedArrayBuffer, lines: Uint8Array, count: number, done: () => void): boolean {
    const before = this.#tail?.lines;
    const lease = before && this.#leases.get(before.lease);
    if (this.#tail?.buffer !== buffer || before === undefined || lease === undefined) return false;
    if (before.at + before.length !== lines.byteOffset || lease.length + lines.length > this.#limits.maxLeaseBytes)
      return false;
    lease.count += count;
    lease.length += lines.length;
    lease.dones.push(done);
    this.#tail = { buffer, lines: { ...before, length: lease.length, count: lease.count } };
    this.#pending[this.#pending.length - 1] = this.#tail.lines;
    this.#noted(lines.length);
    return true;
  }
}

/** The thread that takes leased lines. */
export class LineLessee {
  readonly #add: (lines: Uint8Array, count: number, done: () => void) => void;
  readonly #giveBack: (leases: readonly number[]) => void;
  readonly #memories: SharedArrayBuffer[] = [];
  #ended: number[] = [];

  /**
   * @param add receives lines, and calls back once when it does not need them any more.
   * @param giveBack sends numbers of leases to the lessor; called at most once per cycle of the event loop.
   */
  constructor(
    add: (lines: Uint8Array, count: number, done: () => void) => void,
    giveBack: (leases: readonly number[]) => void,
  ) {
    this.#add = add;
    this.#giveBack = giveBack;
  }

  take(leased: readonly LeasedLines[]): void {
    for (const one of leased) this.#add(this.#linesOf(one), one.count, () => this.#end(one.lease));
  }

  #end(lease: number): void {
    if (this.#ended.length === 0) queueMicrotask(() => this.#giveBack(this.#ended.splice(0)));
    this.#ended.push(lease);
  }

  #linesOf(leased: LeasedLines): Uint8Array {
    if ("bytes" in leased) return leased.bytes;
    if (typeof leased.memory !== "number") this.#memories.push(leased.memory);
    const memory = typeof leased.memory === "number" ? this.#memories[leased.memory] : leased.memory;
    if (memory === undefined) throw new Error("lines lie in memory that was never leased");
    return new Uint8Array(memory, leased.at, leased.length);
  }
}
