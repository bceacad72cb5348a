import { closeSync, existsSync, openSync, readdirSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { makeFolderSync } from "../../base/file/index.ts";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Clock } from "../../base/report/index.ts";

export interface LogFileOptions {
  readonly path: string;
  /** The size that the file may not exceed: it is rotated before. 0: never. */
  readonly maxBytes: number;
  /** The number of rotated files that are kept. 0: all. */
  readonly maxBackups: number;
  /** The age at which rotated files are removed. 0: never. */
  readonly maxAgeMs: number;
  /** True if rotated files are compressed with gzip. */
  readonly compress: boolean;
  readonly clock: Clock;
  /** Called once when the file cannot be written, and again only after it has worked. */
  readonly failed: (why: string) => void;
}

/**
 * Appends log lines to a file, each immediately, so that the last one before an end is there. A full file becomes
 * `<path>.<time>`, as in `netgloss.log.2026-01-31T12-00-00.000Z`. A file that cannot be written loses its lines, but never
 * stops the collector.
 */
export class LogFile {
  readonly #options: LogFileOptions;
  #fd: number | undefined;
  #size = 0;
  #isFailing = false;
  #retryAt = -Infinity;

  constructor(options: LogFileOptions) {
    this.#options = options;
  }

  write(line: string): void {
    const { maxBytes, clock, failed } = this.#options;
    if (this.#isFailing && clock.monotonic() < this.#retryAt) return;
    const bytes = Buffer.from(line);
    try {
      let fd = this.#fd ?? this.#open();
      if (maxBytes > 0 && this.#size > 0 && this.#size + bytes.length > maxBytes) {
        this.#rotate();
        fd = this.#open();
      }
      this.#size += writeSync(fd, bytes);
      this.#isFailing = false;
    } catch (error) {
      this.#retryAt = clock.monotonic() + retryMs;
      if (!this.#isFailing) failed(error instanceof Error ? error.message : String(error));
      this.#isFailing = true;
      try {
        this.reopen();
      } catch {
        // It was not usable anyway.
      }
    }
  }

  /** Opens the path again with the next line: it may have been renamed. */
  reopen(): void {
    const opened = this.#fd;
    this.#fd = undefined;
    if (opened !== undefined) closeSync(opened);
  }

  #open(): number {
    const { path } = this.#options;
    makeFolderSync(dirname(path));
    this.#fd = openSync(path, "a", 0o640);
    this.#size = statSync(path).size;
    return this.#fd;
  }

  #rotate(): void {
    const { path, clock, failed } = this.#options;
    this.reopen();
    let at = clock.now();
    while (existsSync(backupOf(path, at)) || existsSync(`${backupOf(path, at)}.gz`)) at++;
    const backup = backupOf(path, at);
    renameSync(path, backup);
    void tidy(this.#options, backup).catch((error: unknown) => failed(String(error)));
  }
}

const backupOf = (path: string, at: number): string => `${path}.${new Date(at).toISOString().replaceAll(":", "-")}`;

const retryMs = 10_000;
const zip = promisify(gzip);

/** Compresses the newest rotated file if configured, and removes those that are too many or too old. */
async function tidy({ path, maxBackups, maxAgeMs, compress, clock }: LogFileOptions, newest: string): Promise<void> {
  if (compress) {
    await writeFile(`${newest}.gz.part`, await zip(await readFile(newest)), { mode: 0o640 });
    await rename(`${newest}.gz.part`, `${newest}.gz`);
    await rm(newest);
  }
  const folder = dirname(path);
  const prefix = `${basename(path)}.`;
  const isBackup = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z(?:\.gz)?$/;
  const backups = readdirSync(folder)
    .filter((name) => name.startsWith(prefix) && isBackup.test(name.slice(prefix.length)))
    .toSorted()
    .toReversed();
  const oldest = clock.now() - maxAgeMs;
  for (const [i, name] of backups.entries()) {
    const isTooMany = maxBackups > 0 && i >= maxBackups;
    const isTooOld = maxAgeMs > 0 && statSync(join(folder, name)).mtimeMs < oldest;
    if (isTooMany || isTooOld) rmSync(join(folder, name), { force: true });
  }
}
