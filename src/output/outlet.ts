import { close, write } from "node:fs";
import { promisify } from "node:util";
import { errorCode, reasonOf } from "./delivery/delivery-error.ts";

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
