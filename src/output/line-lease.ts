import type { Sink } from "../record/index.ts";
import type { OutputReport } from "./output-metrics.ts";

/** Lines that are leased to another thread, which reports when it does not need them any more. */
export type LeasedLines = SharedLines | CopiedLines;

/** Lines in memory that both threads see. Memory is posted once, and known by its number then. */
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

/** Memories whose numbers are known. */
const maxMemories = 64;
/** A message with this part of the queue does not wait for more. */
const enoughOfQueue = 1 / 8;

interface LeaseLimits {
  /** Bytes that may be leased at a time; what comes beyond is dropped and counted. */
  readonly maxBytes: number;
  /** Lines one behind the other are one lease up to this many bytes. */
  readonly maxLeaseBytes: number;
  /** The time that lines wait at most for others that go in the same message, milliseconds. */
  readonly gatherMs: number;
  /** A message with this many bytes of lines does not wait for more. */
  readonly gatherBytes: number;
}

/**
 * A sink whose lines are dealt with by another thread. Those in shared memory are not copied.
 *
 * A message costs as much as some hundred lines. So lines that lie one behind the other are one lease, and all that comes
 * within some milliseconds is one message.
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
  /** Lines that no message has brought to the other thread. */
  #pending: LeasedLines[] = [];
  #pendingBytes = 0;
  /** The last of them, where it is of shared memory: lines right behind it join it. */
  #tail: { readonly buffer: SharedArrayBuffer; readonly lines: SharedLines } | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param post brings lines to the other thread. */
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

  /** Brings to the other thread what waits for others. */
  flush(): void {
    const lines = this.#pending;
    this.#forgetPending();
    if (lines.length > 0) this.#post(lines);
  }

  /** The other thread needs these no more. */
  returned(leases: readonly number[]): void {
    for (const number of leases) {
      const lease = this.#leases.get(number);
      if (lease === undefined) continue;
      this.#leases.delete(number);
      this.#byteLength -= lease.length;
      for (const done of lease.dones) done();
    }
  }

  /** The other thread has died: all that it has leased is lost, and counted. A new one takes its place. */
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

  /** Counts lines that were put among the pending ones. */
  #noted(length: number): void {
    this.#byteLength += length;
    this.#pendingBytes += length;
    if (this.#pendingBytes >= this.#enough) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), this.#limits.gatherMs);
  }

  #memoryOf(buffer: SharedArrayBuffer): SharedArrayBuffer | number {
    const known = this.#memories.get(buffer);
    if (known !== undefined) return known;
    // A decoding thread that died has left its memory; those in use come again.
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

  /** Leases lines with those right before them. @returns false when there are none. */
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

/** The other end of a lessor. */
export class LineLessee {
  readonly #add: (lines: Uint8Array, count: number, done: () => void) => void;
  readonly #giveBack: (leases: readonly number[]) => void;
  readonly #memories: SharedArrayBuffer[] = [];
  #ended: number[] = [];

  /**
   * @param add is given lines; it calls back once when it needs them no more.
   * @param giveBack brings numbers of leases to the lessor; called once in a cycle of the event loop at most.
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
