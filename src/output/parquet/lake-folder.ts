import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import type { Clock } from "../../base/report/index.ts";
import { errorCode, isMissing, nodeFileIo, syncFolder, type FileIo } from "../../base/file/index.ts";
import { DeliveryError, reasonOf } from "../delivery/output-adapter.ts";
import type { Lake } from "./lake.ts";

/** The folder of files being written; engines ignore folders whose names start with an underscore. */
const temporaryFolder = "_temporary";
/** The age at which a file being written counts as abandoned: no request may take longer. */
const abandonedMs = 2 * 3_600_000;

/** Faults that somebody must mend. */
const sentences: Readonly<Record<string, string>> = {
  EACCES: "may not be written: its permissions",
  EPERM: "may not be written: its permissions",
  EROFS: "is on a file system that is read-only",
  ENOTDIR: "is no directory, or below a file",
  ENOSPC: "is on a full disk",
  EDQUOT: "has used up its quota of the disk",
};

/** Files in a directory. Each is written under another name, synced and renamed; then its folder is synced. */
export class LakeFolder implements Lake {
  readonly #root: string;
  readonly #clock: Clock;
  readonly #io: FileIo;
  readonly #prefix = `${hostname().replaceAll(/[^\w.-]/g, "_")}-${randomBytes(6).toString("hex")}`;
  /** Folders whose names are synced to disk. */
  readonly #folders = new Set<string>();
  #number = 0;

  constructor(root: string, clock: Clock, io: FileIo = nodeFileIo) {
    this.#root = root;
    this.#clock = clock;
    this.#io = io;
  }

  async open(): Promise<readonly string[]> {
    try {
      const temporary = join(this.#root, temporaryFolder);
      await this.#folder(temporary);
      await this.#sweep(temporary);
      const path = this.#temporaryPath();
      await this.#write(path, []);
      await this.#io.unlink(path);
      return [];
    } catch (error) {
      throw this.#failure(error);
    }
  }

  async put(path: string, chunks: readonly Uint8Array[], signal: AbortSignal): Promise<void> {
    const temporary = this.#temporaryPath();
    const target = join(this.#root, path);
    const folder = dirname(target);
    try {
      await this.#folder(dirname(temporary));
      await this.#write(temporary, chunks);
      // The same batch may be under way again: that file will do.
      signal.throwIfAborted();
      await this.#folder(folder);
      await this.#io.rename(temporary, target);
      await syncFolder(this.#io, folder);
    } catch (error) {
      // Somebody may have removed them.
      if (isMissing(error)) this.#folders.clear();
      await this.#io.unlink(temporary).catch(() => {});
      signal.throwIfAborted();
      throw this.#failure(error);
    }
  }

  close(): void {}

  #temporaryPath(): string {
    return join(this.#root, temporaryFolder, `${this.#prefix}-${this.#number++}.tmp`);
  }

  /** Removes files of runs that were interrupted. */
  async #sweep(folder: string): Promise<void> {
    for (const name of await this.#io.list(folder)) {
      if (!name.endsWith(".tmp")) continue;
      const path = join(folder, name);
      try {
        const { modified } = await this.#io.linkState(path);
        if (Number(modified / 1_000_000n) < this.#clock.now() - abandonedMs) await this.#io.unlink(path);
      } catch (error) {
        // Another collector may have been quicker.
        if (!isMissing(error)) throw error;
      }
    }
  }

  async #write(path: string, chunks: readonly Uint8Array[]): Promise<void> {
    const file = await this.#io.create(path, 0o644);
    try {
      let offset = 0;
      for (let left = chunks; left.length > 0;) {
        const taken = await file.writeAt(left.slice(0, chunksAtOnce), offset);
        offset += taken;
        left = behind(left, taken);
      }
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** Creates a folder and those above it, and syncs their names to disk. */
  async #folder(path: string): Promise<void> {
    if (this.#folders.has(path)) return;
    await this.#io.makeFolder(path);
    for (let at = path; at.length > this.#root.length; at = dirname(at)) await syncFolder(this.#io, dirname(at));
    this.#folders.add(path);
  }

  #failure(error: unknown): DeliveryError {
    if (error instanceof DeliveryError) return error;
    const code = errorCode(error);
    const sentence = sentences[code];
    const [blame, text] =
      sentence === undefined ? (["store", "cannot be written"] as const) : (["operator", sentence] as const);
    return new DeliveryError(blame, code.toLowerCase(), `${this.#root} ${text}: ${reasonOf(error)}`, { cause: error });
  }
}

/** The most chunks that systems take in one call. */
const chunksAtOnce = 1024;

/** Returns the rest of chunks after `taken` bytes. */
function behind(chunks: readonly Uint8Array[], taken: number): readonly Uint8Array[] {
  let left = taken;
  for (const [i, chunk] of chunks.entries()) {
    if (left < chunk.length) return [chunk.subarray(left), ...chunks.slice(i + 1)];
    left -= chunk.length;
  }
  return [];
}
