import { close, write } from "node:fs";
import { promisify } from "node:util";
import { errorCode, reasonOf } from "./errno.ts";
import { OutletClosedError, type Outlet } from "./outlet.ts";

const writeTo = promisify(write);
const closeOf = promisify(close);

const maxBatch = 256 * 1024;

export interface DescriptorOutletOptions {
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
