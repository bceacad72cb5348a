import type { Sink } from "../../record/index.ts";
import type { OutputReport } from "../output-metrics.ts";

/** Lines that are lent to another thread, or given to it. */
export type LentLines =
  /** Memory that both threads see. The borrower reports when it does not need them any more. */
  | {
      readonly loan: number;
      readonly memory: SharedArrayBuffer | number;
      readonly at: number;
      readonly length: number;
      readonly count: number;
    }
  /** A copy that the other thread owns; it reports, too. */
  | { readonly loan: number; readonly bytes: Uint8Array; readonly count: number };

export interface LineLenderOptions {
  /** Bytes that may be lent at a time; what comes beyond is dropped and counted. */
  readonly maxBytes: number;
  readonly report: Pick<OutputReport, "dropped">;
  /** Brings lines to the other thread. */
  readonly post: (lines: readonly LentLines[]) => void;
}

/** A sink whose lines are dealt with by another thread. Those in shared memory are not copied. */
export interface LineLender extends Sink {
  lend(lines: Uint8Array, count: number, done: () => void): void;
  /** The other thread needs these no more. */
  returned(loans: readonly number[]): void;
  /** The other thread has died: all its loans are lost, and counted. A new one takes its place. */
  reset(): void;
  /** Bytes that are lent. */
  readonly byteLength: number;
}

interface Loan {
  readonly count: number;
  readonly length: number;
  readonly done: () => void;
}

/** Shared memories are posted once and known by their number then. */
const maxMemories = 64;

export function createLineLender({ maxBytes, report, post }: LineLenderOptions): LineLender {
  const loans = new Map<number, Loan>();
  const memories = new Map<SharedArrayBuffer, number>();
  let nextLoan = 0;
  let nextMemory = 0;
  let byteLength = 0;
  let pending: LentLines[] = [];

  const flush = (): void => {
    if (pending.length === 0) return;
    const lines = pending;
    pending = [];
    post(lines);
  };

  const hasRoom = (bytes: number, count: number): boolean => {
    if (byteLength + bytes <= maxBytes) return true;
    report.dropped("queue_full", count, bytes);
    return false;
  };

  const note = (lines: LentLines, loan: Loan): void => {
    loans.set(lines.loan, loan);
    byteLength += loan.length;
    // All that comes in one turn goes in one message.
    if (pending.length === 0) queueMicrotask(flush);
    pending.push(lines);
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
    note({ loan: nextLoan++, bytes, count }, { count, length: bytes.length, done: () => {} });
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
      if (!(lines.buffer instanceof SharedArrayBuffer)) {
        copy(lines, count);
        done();
        return;
      }
      const memory = memoryOf(lines.buffer);
      note(
        { loan: nextLoan++, memory, at: lines.byteOffset, length: lines.length, count },
        { count, length: lines.length, done },
      );
    },
    returned(numbers) {
      for (const number of numbers) {
        const loan = loans.get(number);
        if (loan === undefined) continue;
        loans.delete(number);
        byteLength -= loan.length;
        loan.done();
      }
    },
    reset() {
      for (const { count, length, done } of loans.values()) {
        report.dropped("thread_died", count, length);
        done();
      }
      loans.clear();
      memories.clear();
      nextMemory = 0;
      byteLength = 0;
      pending = [];
    },
    get byteLength() {
      return byteLength;
    },
  };
}
