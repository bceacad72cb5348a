import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { limitLog, type Clock, type Component, type Log } from "../report/index.ts";
import { LockedError, makeFolder, takeFileLock, type FileIo, type FileLock } from "../file/index.ts";

/** What the lock is named after, with `.lock` behind it in the directory: it shows people who holds it. */
const lockName = "collector";

/**
 * Makes the directory of what outlives a restart, and keeps a second collector off it: each would take the other's files
 * for its own. Whoever uses the directory starts after this and ends before it.
 *
 * `start` throws LockedError naming the holder. A directory that cannot be made or locked otherwise is a warning: who
 * writes to it says what that costs.
 */
export function createStateDirectory(
  path: string,
  { io, clock, log: plainLog }: { readonly io: FileIo; readonly clock: Clock; readonly log: Log },
): Component {
  const log = limitLog(plainLog, clock);
  let lock: FileLock | undefined;
  return {
    name: "state directory",
    async start() {
      try {
        await makeFolder(path);
        const target = join(await realpath(path), lockName);
        lock = await takeFileLock(io, target, { subject: `the state directory ${path}`, clock, log });
      } catch (error) {
        if (error instanceof LockedError) throw error;
        log.warn({ error, path }, "cannot lock the state directory");
      }
    },
    async stop() {
      await lock?.release();
      lock = undefined;
    },
  };
}
