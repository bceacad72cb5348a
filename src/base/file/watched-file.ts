import { sameStamp, type FileIo, type FileState, nodeFileIo, type FileStamp } from "./file-io.ts";
import type { Component } from "../report/index.ts";

/** Maximum number of reads of a file that changes during the read. */
const maxReads = 3;

/**
 * Reads a whole file in a state between two writes.
 *
 * @param before the state seen last, which saves a call.
 * @throws Error for anything but a regular file, and for a file that keeps changing; the errors of {@link FileIo}.
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

/** The longest delay of a Node timer. A longer one would fire at once. */
const longestTimeout = 2 ** 31 - 1;

/** Runs an action once after a time in milliseconds, without keeping the process alive. @returns a function that cancels it. */
export function runAfter(action: () => void, ms: number): () => void {
  const timer = setTimeout(action, Math.min(ms, longestTimeout)).unref();
  return () => clearTimeout(timer);
}

/** A receiver of a watched file. */
interface FileTaker {
  /** Takes the content. It throws for unusable content; the earlier content then stays in use. */
  take(this: void, bytes: Uint8Array): void;
  /** Called when the content could not be read or used. */
  failed(this: void, error: unknown): void;
}

/**
 * Hands over a file's content at the start and whenever its size, time or inode changed. It retries refused content only after the file changes. Neither
 * refused content nor a missing file makes `start` fail.
 */
export class WatchedFile implements Component {
  readonly name: string;
  readonly #path: string;
  readonly #pollMs: number;
  readonly #taker: FileTaker;
  readonly #io: Pick<FileIo, "state" | "read">;
  #seen: FileStamp | undefined;
  #isRunning = false;
  #cancel = (): void => {};
  #last: Promise<void> = Promise.resolve();

  /** @param pollMs interval in milliseconds between checks for changes; 0 for none. */
  constructor(path: string, pollMs: number, taker: FileTaker, io: Pick<FileIo, "state" | "read"> = nodeFileIo) {
    this.name = `file ${path}`;
    this.#path = path;
    this.#pollMs = pollMs;
    this.#taker = taker;
    this.#io = io;
  }

  async start(): Promise<void> {
    this.#isRunning = true;
    await this.reload(true);
    this.#schedule();
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#cancel();
    await this.#last;
  }

  /** Checks the file at once. @param force also reads a file that seems unchanged. */
  reload(force: boolean): Promise<void> {
    this.#last = this.#last.then(() => this.#read(force));
    return this.#last;
  }

  async #read(force: boolean): Promise<void> {
    const path = this.#path;
    try {
      const before = await this.#io.state(path);
      if (!force && sameStamp(this.#seen, before)) return;
      const { bytes, state } = await readSettled(this.#io, path, before).catch((error: unknown) => {
        throw new Error(`${path} ${messageOf(error)}`, { cause: error });
      });
      this.#seen = state;
      this.#taker.take(bytes);
    } catch (error) {
      this.#taker.failed(error);
    }
  }

  #schedule(): void {
    if (!this.#isRunning || this.#pollMs <= 0) return;
    this.#cancel = runAfter(() => void this.reload(false).then(() => this.#schedule()), this.#pollMs);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
