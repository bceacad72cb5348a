import { dirname, join } from "node:path";
import { temporaryPath, type FileIo } from "../../file/index.ts";
import type { Health, Log } from "../../report/index.ts";

/** Name of the readiness check. */
const checkName = "metadata writes";
/** How often is tried whether writes would be possible again, milliseconds. */
const probeMs = 10_000;
/** What a trial writes at most, bytes. */
const mostTried = 8 * 1024 * 1024;

export interface WriteHealthOptions {
  readonly io: FileIo;
  /** The file that writes replace. */
  readonly target: () => string;
  /** Its bytes. */
  readonly size: () => number;
  /** Further folders in which a write needs room. */
  readonly folders: readonly string[];
  /** Runs an action while no write runs. */
  readonly alone: (action: () => Promise<void>) => Promise<void>;
  readonly after: (action: () => void, ms: number) => () => void;
  readonly health: Health;
  readonly log: Log;
}

/**
 * Says to readiness whether writes of metadata are possible: by how the last one ended, and at the start and after a failure by trials, because
 * nobody may write. A trial writes as many bytes as a save would.
 */
export class WriteHealth {
  readonly #options: WriteHealthOptions;
  readonly #run = `probe${process.pid.toString(36)}`;
  #isFailing = false;
  /** Files of trials that could not be removed. */
  readonly #left = new Set<string>();
  #callOff = (): void => {};
  #isStopped = false;

  constructor(options: WriteHealthOptions) {
    this.#options = options;
  }

  /** @param reason what a write failed at, in words for an operator. */
  failed(reason: string): void {
    this.#isFailing = true;
    this.#options.health.set({ name: checkName, ready: true, degraded: true, detail: `${reason}; trying again` });
    this.#callOff();
    if (this.#isStopped) return;
    this.#callOff = this.#options.after(() => void this.#options.alone(() => this.#tryAgain()), probeMs);
  }

  /** A write was saved, or could be. */
  async works(): Promise<void> {
    const { health, log, io } = this.#options;
    if (!this.#isFailing) return;
    for (const path of this.#left) await io.unlink(path).catch(() => {});
    this.#left.clear();
    log.info({}, "metadata can be written again");
    this.#isFailing = false;
    this.#callOff();
    health.set({ name: checkName, ready: true });
  }

  stop(): void {
    this.#isStopped = true;
    this.#callOff();
  }

  async #tryAgain(): Promise<void> {
    if (this.#isFailing && !this.#isStopped) await this.try();
  }

  /** Finds out whether a write would be possible. Not while one runs. */
  async try(): Promise<void> {
    const { target, size, folders } = this.#options;
    try {
      await this.#tryFolder(temporaryPath(target(), this.#run, 0), Math.min(size(), mostTried));
      for (const folder of folders) await this.#tryFolder(temporaryPath(join(folder, "metadata"), this.#run, 0), 1);
      await this.works();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.failed(`${dirname(target())} cannot be written: ${message}`);
    }
  }

  /** Writes a file and removes it. */
  async #tryFolder(path: string, bytes: number): Promise<void> {
    const { io } = this.#options;
    if (this.#left.has(path)) await io.unlink(path).catch(() => {});
    const file = await io.create(path, 0o600);
    this.#left.add(path);
    try {
      // Of a full disk some learn when they sync.
      for (let left = Math.max(4096, bytes); left > 0;)
        left -= await file.write(new Uint8Array(Math.min(left, 1024 * 1024)));
      await file.sync();
    } finally {
      await file.close().catch(() => {});
      await io.unlink(path);
      this.#left.delete(path);
    }
  }
}
