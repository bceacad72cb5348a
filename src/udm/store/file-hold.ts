import { LockedError, resolveTarget, takeFileLock, type FileIo, type FileLock } from "../../file/index.ts";
import type { Clock, Log } from "../../report/index.ts";
import { LoadError } from "./read-metadata-file.ts";
import type { UdmSaver } from "./udm-saver.ts";

/** Which file the metadata is in, behind links, and the lock on it when it is ours. */
export interface FileHold {
  /** The file itself; the path as it is set until it was found. */
  target(): string;
  /**
   * Finds the file and, when it is to be ours, takes it and ends what an interrupted save left.
   *
   * @throws LockedError when another collector holds it, LoadError when it cannot be used.
   */
  take(): Promise<void>;
  /**
   * Goes on with another file when the links lead there now. What it holds is for the saver to keep.
   *
   * @throws LockedError when another collector holds that one; this goes on with the file before then.
   */
  follow(): Promise<void>;
  release(): Promise<void>;
}

export interface FileHoldParts {
  readonly path: string;
  readonly owned: boolean;
  readonly io: FileIo;
  readonly saver: Pick<UdmSaver, "replay" | "removeLeftOvers">;
  readonly clock: Clock;
  readonly log: Log;
}

export function createFileHold({ path, owned, io, saver, clock, log }: FileHoldParts): FileHold {
  let target = path;
  let lock: FileLock | undefined;

  const release = async (): Promise<void> => {
    await lock?.release();
    lock = undefined;
  };

  return {
    target: () => target,
    async take() {
      try {
        const found = await resolveTarget(io, path);
        if (found !== target) {
          await release();
          target = found;
        }
        if (!owned || lock !== undefined) return;
        lock = await takeFileLock(io, target, { subject: `the metadata file ${target}`, clock, log });
        await saver.replay(target);
      } catch (error) {
        if (error instanceof LockedError) throw error;
        const message = error instanceof Error ? error.message : String(error);
        throw new LoadError("io", `${path}: ${message}`, undefined, { cause: error });
      }
      await saver.removeLeftOvers(target);
    },
    async follow() {
      // Links that cannot be read now say nothing of another file.
      const found = await resolveTarget(io, path).catch(() => target);
      if (found === target) return;
      const taken = await takeFileLock(io, found, { subject: `the metadata file ${found}`, clock, log });
      log.warn({ path, before: target, now: found }, "the link of the metadata file leads to another file now");
      await release();
      lock = taken;
      target = found;
    },
    release,
  };
}
