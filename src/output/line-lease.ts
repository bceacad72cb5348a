import type { Sink } from "../record/index.ts";
import type { OutputReport } from "./output-metrics.ts";

/** Lines that are lent to another thread, or given to it. It reports when it does not need them any more. */
export type LentLines = SharedLines | CopiedLines;

/** Lines in memory that both threads see. */
interface SharedLines {
  readonly loan: number;
  readonly memory: SharedArrayBuffer | number;
  readonly at: number;
  readonly length: number;
  readonly count: number;
}

/** A copy that the other thread owns. */
interface CopiedLines {
  readonly loan: number;
  readonly bytes: Uint8Array;
  readonly count: number;
}

interface LineLenderOptions {
  /** Bytes that may be lent at a time; what comes beyond is dropped and counted. */
  readonly maxBytes: number;
  /** Lines one behind the other are one loan up to this many bytes. */
  readonly maxLoanBytes: number;
  /** How long lines wait at most for others that go in the same message, milliseconds. */
  readonly gatherMs: number;
  /** A message with this many bytes of lines does not wait for more. */
  readonly gatherBytes: number;
  readonly report: Pick<OutputReport, "dropped">;
  /** Brings lines to the other thread. */
  readonly post: (lines: readonly LentLines[]) => void;
}

/**
 * A sink whose lines are dealt with by another thread. Those in shared memory are not copied.
 *
 * A message costs as much as some hundred lines. So lines that lie one behind the other are one loan, and all that comes
 * within some milliseconds is one message.
 */
interface LineLender extends Sink {
  lend(lines: Uint8Array, count: number, done: () => void): void;
  /** Brings to the other thread what waits for others. */
  flush(): void;
  /** The other thread needs these no more. */
  returned(loans: readonly number[]): void;
  /** The other thread has died: all its loans are lost, and counted. A new one takes its place. */
  reset(): void;
  /** Bytes that are lent. */
  readonly byteLength: number;
}

interface Loan {
  count: number;
  length: number;
  readonly dones: (() => void)[];
}

/** Shared memories are posted once and known by their number then. */
const maxMemories = 64;
/** Nor does one with this part of the queue. */
const enoughOfQueue = 1 / 8;

export function createLineLender(options: LineLenderOptions): LineLender {
  const { maxBytes, maxLoanBytes, gatherMs, gatherBytes, report, post } = options;
  const loans = new Map<number, Loan>();
  const memories = new Map<SharedArrayBuffer, number>();
  const enough = Math.min(gatherBytes, maxBytes * enoughOfQueue);
  let nextLoan = 0;
  let nextMemory = 0;
  let byteLength = 0;
  /** What no message has brought to the other thread. */
  let pending: LentLines[] = [];
  let pendingBytes = 0;
  /** The last of them, where it is of shared memory: lines right behind it join it. */
  let tail: { readonly buffer: SharedArrayBuffer; readonly lines: SharedLines } | undefined;
  let timer: NodeJS.Timeout | undefined;

  const forgetPending = (): void => {
    clearTimeout(timer);
    timer = undefined;
    pending = [];
    pendingBytes = 0;
    tail = undefined;
  };

  const flush = (): void => {
    const lines = pending;
    forgetPending();
    if (lines.length > 0) post(lines);
  };

  const hasRoom = (bytes: number, count: number): boolean => {
    if (byteLength + bytes <= maxBytes) return true;
    report.dropped("queue_full", count, bytes);
    return false;
  };

  /** Counts lines that were put among the pending ones. */
  const noted = (length: number): void => {
    byteLength += length;
    pendingBytes += length;
    if (pendingBytes >= enough) flush();
    else timer ??= setTimeout(flush, gatherMs);
  };

  const memoryOf = (buffer: SharedArrayBuffer): SharedArrayBuffer | number => {
    const known = memories.get(buffer);
    if (known !== undefined) return known;
    // A decoding thread that died has left its memory; those in use come again.
    if (memories.size >= maxMemories) memories.clear();
    memories.set(buffer, nextMemory++);
    return buffer;
  };

  const copy = (lines: Uint8Array, count: number): void => {
    const bytes = new Uint8Array(lines);
    loans.set(nextLoan, { count, length: bytes.length, dones: [] });
    pending.push({ loan: nextLoan++, bytes, count });
    tail = undefined;
    noted(bytes.length);
  };

  /** Lends lines with those right before them. @returns false when there are none. */
  const join = (buffer: SharedArrayBuffer, lines: Uint8Array, count: number, done: () => void): boolean => {
    const before = tail?.lines;
    const loan = before && loans.get(before.loan);
    if (tail?.buffer !== buffer || before === undefined || loan === undefined) return false;
    if (before.at + before.length !== lines.byteOffset || loan.length + lines.length > maxLoanBytes) return false;
    loan.count += count;
    loan.length += lines.length;
    loan.dones.push(done);
    tail = { buffer, lines: { ...before, length: loan.length, count: loan.count } };
    pending[pending.length - 1] = tail.lines;
    noted(lines.length);
    return true;
  };

  return {
    write(lines, count) {
      if (hasRoom(lines.length, count)) copy(lines, count);
    },
    lend(lines, count, done) {
      if (!hasRoom(lines.length, count)) {
        done();
        return;
      }
      const { buffer, byteOffset, length } = lines;
      if (!(buffer instanceof SharedArrayBuffer)) {
        copy(lines, count);
        done();
        return;
      }
      if (join(buffer, lines, count, done)) return;
      const shared: SharedLines = { loan: nextLoan++, memory: memoryOf(buffer), at: byteOffset, length, count };
      loans.set(shared.loan, { count, length, dones: [done] });
      tail = { buffer, lines: shared };
      pending.push(shared);
      noted(length);
    },
    flush,
    returned(numbers) {
      for (const number of numbers) {
        const loan = loans.get(number);
        if (loan === undefined) continue;
        loans.delete(number);
        byteLength -= loan.length;
        for (const done of loan.dones) done();
      }
    },
    reset() {
      for (const { count, length, dones } of loans.values()) {
        report.dropped("thread_died", count, length);
        for (const done of dones) done();
      }
      loans.clear();
      memories.clear();
      nextMemory = 0;
      byteLength = 0;
      forgetPending();
    },
    get byteLength() {
      return byteLength;
    },
  };
}

/** The other end of a line lender. */
export interface LineBorrower {
  take(lent: readonly LentLines[]): void;
}

/**
 * @param add is given lines; it calls back once when it needs them no more.
 * @param giveBack brings numbers of loans to the lender; called once in a turn at most.
 */
export function createLineBorrower(
  add: (lines: Uint8Array, count: number, done: () => void) => void,
  giveBack: (loans: readonly number[]) => void,
): LineBorrower {
  const memories: SharedArrayBuffer[] = [];
  let pending: number[] = [];

  const flush = (): void => {
    const loans = pending;
    pending = [];
    giveBack(loans);
  };
  const done = (loan: number) => (): void => {
    if (pending.length === 0) queueMicrotask(flush);
    pending.push(loan);
  };
  const linesOf = (lent: LentLines): Uint8Array => {
    if ("bytes" in lent) return lent.bytes;
    if (typeof lent.memory !== "number") memories.push(lent.memory);
    const memory = typeof lent.memory === "number" ? memories[lent.memory] : lent.memory;
    if (memory === undefined) throw new Error("lines lie in memory that was never lent");
    return new Uint8Array(memory, lent.at, lent.length);
  };

  return {
    take(lent) {
      for (const one of lent) add(linesOf(one), one.count, done(one.loan));
    },
  };
}
