import { closeSync, existsSync, openSync, readdirSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { makeFolderSync } from "../../base/file/index.ts";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Clock } from "../../base/report/index.ts";

export interface LogFileOptions {
  readonly path: string;
  /** Rotates when the file would be larger. 0 is never. */
  readonly maxBytes: number;
  /** How many rotated files are kept. 0 is all. */
  readonly maxBackups: number;
  /** Rotated files that are older are removed. 0 is none. */
  readonly maxAgeMs: number;
  /** Whether rotated files are compressed with gzip. */
  readonly compress: boolean;
  readonly clock: Clock;
  /** Called when the file cannot be written, once until it can be again. */
  readonly failed: (why: string) => void;
}

/** A destination of log lines. */
export interface LogFile {
  write(line: string): void;
  /** Opens the path again: it may have been renamed. */
  reopen(): void;
}

/**
 * Appends log lines to a file, each at once, so that the last one before an end is there. A full file becomes
 * `<path>.<time>`, as in `netgloss.log.2026-01-31T12-00-00.000Z`. A file that cannot be written costs its lines, never
 * the collector.
 */
export function createLogFile(options: LogFileOptions): LogFile {
  const { path, maxBytes, clock, failed } = options;
  let fd: number | undefined;
  let size = 0;
  let isFailing = false;
  let retryAt = -Infinity;

  const open = (): number => {
    makeFolderSync(dirname(path));
    fd = openSync(path, "a", 0o640);
    size = statSync(path).size;
    return fd;
  };
  const close = (): void => {
    const opened = fd;
    fd = undefined;
    if (opened !== undefined) closeSync(opened);
  };
  const rotate = (): void => {
    close();
    let at = clock.now();
    while (existsSync(backupOf(path, at)) || existsSync(`${backupOf(path, at)}.gz`)) at++;
    const backup = backupOf(path, at);
    renameSync(path, backup);
    void tidy(options, backup).catch((error: unknown) => failed(String(error)));
  };

  return {
    write(line) {
      if (isFailing && clock.monotonic() < retryAt) return;
      const bytes = Buffer.from(line);
      try {
        const current = fd ?? open();
        if (maxBytes > 0 && size > 0 && size + bytes.length > maxBytes) rotate();
        size += writeSync(fd ?? (maxBytes > 0 ? open() : current), bytes);
        isFailing = false;
      } catch (error) {
        retryAt = clock.monotonic() + retryMs;
        if (!isFailing) failed(error instanceof Error ? error.message : String(error));
        isFailing = true;
        try {
          close();
        } catch {
          // It was not usable anyway.
        }
      }
    },
    reopen: close,
  };
}

const backupOf = (path: string, at: number): string => `${path}.${new Date(at).toISOString().replaceAll(":", "-")}`;

const retryMs = 10_000;
const zip = promisify(gzip);

/** Compresses the newest rotated file if asked to, and removes those that are too many or too old. */
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
