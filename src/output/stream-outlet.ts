import { Socket } from "node:net";
import { reasonOf } from "./errno.ts";
import { OutletClosedError, type Outlet } from "./outlet.ts";

/** A few times what a pipe holds by default, because a quick reader makes room while we write. */
const maxBatch = 256 * 1024;

/**
 * A pipe or a socket, written to when it has room: no thread waits in the system for a reader that does not read. The
 * descriptor is closed with the outlet.
 */
export function createStreamOutlet(fd: number): Outlet {
  const socket = new Socket({ fd, readable: false, writable: true });
  // Each write learns of its failure by its callback.
  socket.on("error", () => {});

  return {
    next: async () => maxBatch,
    isUnfinished: () => false,
    write: (batch, at) =>
      new Promise((resolve, reject) => {
        socket.write(batch.subarray(at), (error) => {
          // A write that `destroy` cuts off is called back as if it had worked.
          if (error || socket.destroyed) reject(new OutletClosedError(reasonOf(error), { cause: error }));
          else resolve(batch.length - at);
        });
      }),
    retreat: async (_batch, at) => at,
    close: () =>
      new Promise((resolve) => {
        if (socket.destroyed) resolve();
        else socket.once("close", () => resolve()).destroy();
      }),
    abort: () => void socket.destroy(),
  };
}
