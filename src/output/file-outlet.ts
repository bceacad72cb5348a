import { dirname } from "node:path";
import { limitLog, type Clock, type Log } from "../report/index.ts";
import { errorCode, reasonOf } from "./errno.ts";
import { lineStart, type Outlet } from "./outlet.ts";
import type { OutputFile, OutputFileState, OutputIo } from "./output-io.ts";
import type { OutputReport } from "./output-metrics.ts";
import { rotateFiles } from "./rotate-files.ts";

export interface FileOutletOptions {
  readonly path: string;
  /** 0 is never. */
  readonly maxBytes: number;
  readonly maxFiles: number;
  readonly retryMs: number;
  readonly io: OutputIo;
  readonly log: Log;
  readonly clock: Clock;
  readonly report: OutputReport;
}

export interface FileOutlet extends Outlet {
  /** Has the next `next` open the path again. Until that works, lines go on into the file that is open. */
  reopen(): void;
}

/** One write is under way at a time, and a busy event loop turns some hundred times a second at worst. */
const maxBatch = 4 * 1024 * 1024;

/** After these the descriptor is as good as before; after any other error the file is opened again. */
const spaceErrors: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

interface Opened {
  readonly file: OutputFile;
  readonly state: OutputFileState;
}

/**
 * A file that is appended to.
 *
 * - It never keeps half a line: after a failed write it is cut back to its last whole line, unless someone else has
 *   changed its length. A half line that is found when it is opened (a crash, a power cut) is ended, not removed.
 * - It is left for another file only between two lines, and only when that other file is open.
 */
export function createFileOutlet(options: FileOutletOptions): FileOutlet {
  const { path, maxBytes, maxFiles, retryMs, io, clock, report } = options;
  const log = limitLog(options.log, clock);

  let opened: Opened | undefined;
  /** Bytes in the file as far as we know. */
  let size = 0;
  let reopenAsked = false;
  /** When a rotation or reopening may be tried again, by the monotonic clock. */
  let notBefore = -Infinity;

  const openFile = async (): Promise<Opened> => {
    const file = await io.open(path).catch(async (error: unknown) => {
      if (errorCode(error) !== "ENOENT") throw error;
      await io.makeFolder(dirname(path));
      return io.open(path);
    });
    try {
      const state = await file.state();
      if (!state.isRegular || state.size === 0 || (await io.lastByte(path)) === 0x0a) return { file, state };
      log.warn({ path }, "the output file ends in an incomplete line, which is ended");
      await file.write(Buffer.from("\n"));
      return { file, state: { ...state, size: state.size + 1 } };
    } catch (error) {
      await file.close().catch(() => {});
      throw error;
    }
  };

  const closeFile = async (): Promise<void> => {
    const file = opened?.file;
    opened = undefined;
    await file?.close().catch((error: unknown) => report.failed("close", errorCode(error)));
  };

  const use = async (next: Opened): Promise<void> => {
    await closeFile();
    opened = next;
    size = next.state.size;
    reopenAsked = false;
  };

  /** Does what may fail while the file that is open stays in use. */
  const attempt = async (operation: string, action: () => Promise<void>): Promise<void> => {
    if (clock.monotonic() < notBefore) return;
    try {
      await action();
    } catch (error) {
      notBefore = clock.monotonic() + retryMs;
      report.failed(operation, errorCode(error));
      log.error({ path, reason: reasonOf(error) }, `output file: cannot ${operation}, continuing with the old one`);
    }
  };

  const rotate = async (current: Opened): Promise<void> => {
    const target = await io.realPath(path);
    const there = await io.state(target);
    // Someone else may have renamed the file; what is at its place then is not ours to rename.
    const isOurs = there.inode === current.state.inode && there.device === current.state.device;
    if (isOurs) {
      await rotateFiles(io, target, maxFiles);
      report.rotated();
    }
    reopenAsked = true;
    await use(await openFile());
  };

  const isFull = (): boolean => maxBytes > 0 && opened?.state.isRegular === true && size >= maxBytes;

  return {
    async next() {
      if (opened === undefined) await use(await openFile());
      if (reopenAsked) await attempt("reopen", async () => use(await openFile()));
      const current = opened;
      if (current !== undefined && isFull() && !reopenAsked) await attempt("rotate", () => rotate(current));
      return maxBytes > 0 && !isFull() ? Math.min(maxBatch, maxBytes - size) : maxBatch;
    },

    isUnfinished: () => reopenAsked,

    async write(batch, at) {
      if (opened === undefined) await use(await openFile());
      try {
        const taken = (await opened?.file.write(batch.subarray(at))) ?? 0;
        size += taken;
        return taken;
      } catch (error) {
        if (errorCode(error) === "EAGAIN") return 0;
        throw error;
      }
    },

    async retreat(batch, at, error) {
      const from = lineStart(batch, at);
      if (opened === undefined) return from;
      const { file, state } = opened;
      const isUsable = error === undefined || spaceErrors.has(errorCode(error));
      let to = at;
      if (state.isRegular && from < at) {
        try {
          const now = await file.state();
          if (now.size !== size) throw new Error("the length of the file was changed by someone else");
          await file.truncate(size - (at - from));
          size -= at - from;
          to = from;
        } catch (failure) {
          report.failed("truncate", errorCode(failure));
          log.error({ path, reason: reasonOf(failure) }, "an incomplete line stays in the output file");
          await closeFile();
          return from;
        }
      }
      if (isUsable) return to;
      await closeFile();
      return from;
    },

    close: closeFile,
    abort() {},
    reopen() {
      reopenAsked = true;
      notBefore = -Infinity;
    },
  };
}
