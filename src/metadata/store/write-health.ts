import { dirname, join } from "node:path";
import { temporaryPath, type FileIo } from "../../base/file/index.ts";
import type { Health, Log } from "../../base/report/index.ts";

/** Name of the readiness check. */
const checkName = "metadata writes";
/** How often is tried whether writes would be possible again, milliseconds. */
const tryMs = 10_000;

export interface WriteHealthOptions {
  /** Finds out whether a write would be possible, without one. Rejects with why not, in words for an operator. */
  readonly trial: () => Promise<void>;
  /** Runs an action while no write runs. */
  readonly alone: (action: () => Promise<void>) => Promise<void>;
  readonly after: (action: () => void, ms: number) => () => void;
  readonly health: Health;
  readonly log: Log;
}

/**
 * Says to readiness whether writes of metadata are possible: by how the last one ended, and at the start and after a failure by trials, because
 * nobody may write.
 */
export class WriteHealth {
  readonly #options: WriteHealthOptions;
  #isFailing = false;
  #callOff = (): void => {};
  #isStopped = false;

  constructor(options: WriteHealthOptions) {
    this.#options = options;
  }

  /** @param error what a write failed at, in words for an operator. */
  failed(error: unknown): void {
    const { health, after, alone } = this.#options;
    const reason = error instanceof Error ? error.message : String(error);
    this.#isFailing = true;
    health.set({ name: checkName, ready: true, degraded: true, detail: `${reason}; trying again` });
    this.#callOff();
    if (!this.#isStopped) this.#callOff = after(() => void alone(() => this.#tryAgain()), tryMs);
  }

  /** A write was saved, or could be. */
  works(): void {
    const { health, log } = this.#options;
    if (!this.#isFailing) return;
    log.info({}, "metadata can be written again");
    this.#isFailing = false;
    this.#callOff();
    health.set({ name: checkName, ready: true });
  }

  /** Finds out whether a write would be possible. Not while one runs. */
  async try(): Promise<void> {
    try {
      await this.#options.trial();
      this.works();
    } catch (error) {
      this.failed(error);
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#callOff();
  }

  async #tryAgain(): Promise<void> {
    if (this.#isFailing && !this.#isStopped) await this.try();
  }
}

/** What a trial writes at most, bytes. */
const mostTried = 8 * 1024 * 1024;
const oneWrite = 1024 * 1024;

/**
 * Makes a trial of the folders in which a save of a file makes others: it writes as many bytes as the save would. For who holds the lock.
 *
 * @param target the file.
 * @param size its bytes.
 * @param folders further ones that must take something.
 */
export function createFolderTrial(
  io: FileIo,
  target: () => string,
  size: () => number,
  folders: readonly string[],
): () => Promise<void> {
  const tryFolder = async (path: string, bytes: number): Promise<void> => {
    // One may be there of a collector that was killed.
    await io.unlink(path).catch(() => {});
    const file = await io.create(path, 0o600);
    try {
      for (let rest = Math.max(4096, bytes); rest > 0;)
        rest -= await file.write(new Uint8Array(Math.min(rest, oneWrite)));
      // That a disk is full some say only here.
      await file.sync();
    } finally {
      await file.close().catch(() => {});
      await io.unlink(path);
    }
  };

  return async () => {
    const plan: [path: string, bytes: number][] = [
      [temporaryPath(target(), "trial", 0), Math.min(size(), mostTried)],
      ...folders.map((folder): [string, number] => [temporaryPath(join(folder, "metadata"), "trial", 0), 1]),
    ];
    for (const [path, bytes] of plan) {
      await tryFolder(path, bytes).catch((error: Error) => {
        throw new Error(`${dirname(path)} cannot be written: ${error.message}`, { cause: error });
      });
    }
  };
}
