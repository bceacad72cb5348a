import { sameStamp, type FileIo, type FileState, nodeFileIo, type FileStamp } from "./file-io.ts";
import type { Component } from "../report/index.ts";

/** A file that changes while it is read is read again, this often at most. */
const maxReads = 3;

/**
 * Reads a whole file as it is between two writes.
 *
 * @param before the state that was seen last, so that one look is saved.
 * @throws Error for what is no regular file and for one that changes all the time; the errors of {@link FileIo}.
 */
export async function readSettled(
  io: Pick<FileIo, "state" | "read">,
  path: string,
  before: FileState,
): Promise<{ readonly bytes: Uint8Array; readonly state: FileState }> {
  let state = before;
  for (let reads = 0; reads < maxReads; reads++) {
    if (state.kind !== "file") throw new Error("is not a regular file");
    const bytes = await io.read(path);
    const after = await io.state(path);
    if (sameStamp(state, after)) return { bytes, state };
    state = after;
  }
  throw new Error("changes while it is read");
}

/** The longest time that a timer of Node takes; a longer one would fire at once. */
const longestTimeout = 2 ** 31 - 1;

/** Runs an action once after a time in milliseconds, without keeping the process alive. @returns a function that calls it off. */
export function runAfter(action: () => void, ms: number): () => void {
  const timer = setTimeout(action, Math.min(ms, longestTimeout)).unref();
  return () => clearTimeout(timer);
}

export interface WatchedFileOptions {
  readonly path: string;
  /** How often to look whether the file is another one, in milliseconds; 0 for never. */
  readonly pollMs: number;
  readonly io?: Pick<FileIo, "state" | "read">;
  /** Takes the content; throws when it is of no use, and then what was taken before stays. */
  readonly take: (bytes: Uint8Array) => void;
  /** The content could not be read, or not be used. */
  readonly failed: (error: unknown) => void;
}

export interface WatchedFile extends Component {
  /** Looks at once. @param force reads a file that seems unchanged, too. */
  reload(force: boolean): Promise<void>;
}

/**
 * Hands over a file's content at the start and whenever its size, time or inode changed. Content that was refused is not
 * tried again until the file changes; neither that nor a missing file makes `start` fail.
 */
export function createWatchedFile(options: WatchedFileOptions): WatchedFile {
  const { path, pollMs, io = nodeFileIo, take, failed } = options;
  let seen: FileStamp | undefined;
  let isRunning = false;
  let cancel: () => void = () => {};
  let last: Promise<void> = Promise.resolve();

  const read = async (force: boolean): Promise<void> => {
    try {
      const before = await io.state(path);
      if (!force && sameStamp(seen, before)) return;
      const { bytes, state } = await readSettled(io, path, before).catch((error: unknown) => {
        throw new Error(`${path} ${messageOf(error)}`, { cause: error });
      });
      seen = state;
      take(bytes);
    } catch (error) {
      failed(error);
    }
  };
  const reload = (force: boolean): Promise<void> => {
    last = last.then(() => read(force));
    return last;
  };
  const schedule = (): void => {
    if (!isRunning || pollMs <= 0) return;
    cancel = runAfter(() => void reload(false).then(schedule), pollMs);
  };

  return {
    name: `file ${path}`,
    async start() {
      isRunning = true;
      await reload(true);
      schedule();
    },
    async stop() {
      isRunning = false;
      cancel();
      await last;
    },
    reload,
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
