import { closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { hasValue, isAddress4, type Block, type BlockColumn } from "../block.ts";
import type { Log } from "../../base/report/index.ts";
import { quoted } from "./duckdb-table.ts";

/** DuckDB files grow in blocks of this many bytes. */
const fileBlockBytes = 256 * 1024;
/** Bytes in the log for each column, in addition to its values. */
const columnBytes = 64;
/** Bytes of a text length in the log. */
const lengthBytes = 2;

/** Space that always stays free: for a new file, and for a block of rows written early. */
export const spareBytes = 2 ** 20;

/** Returns the maximum bytes that the rows of a block take in the log of a file. @param others number of columns of the file that the block lacks. */
export function logBytesOf({ columns, rows }: Block, others: number): number {
  const values = columns.reduce((sum, column) => sum + valueBytes(column, rows), 0);
  // The weights are one more column.
  return Math.ceil(values + 4 * rows + (columns.length + others + 1) * (rows / 8 + columnBytes) + others * 8 * rows);
}

function valueBytes(source: BlockColumn, rows: number): number {
  const { column, data, texts } = source;
  if (column.type === "text") {
    let bytes = 0;
    for (const code of data as Uint32Array)
      bytes += (texts.offsets[code + 1] as number) - (texts.offsets[code] as number);
    return bytes + lengthBytes * rows;
  }
  if (column.type !== "address") return data.BYTES_PER_ELEMENT * rows;
  let bytes = 0;
  for (let row = 0; row < rows; row++) if (hasValue(source, row)) bytes += isAddress4(data as Uint8Array, row) ? 8 : 32;
  return bytes + lengthBytes * rows;
}

/** Returns the maximum growth of a file while its log of this many bytes is compressed into it, before the log is removed. */
export function checkpointBytes(logBytes: number): number {
  // The rows take less than in the log. Two further blocks with metadata may be only partly full.
  return (Math.ceil(logBytes / fileBlockBytes) + 2) * fileBlockBytes;
}

const ending = ".duckdb";
const damaged = ".damaged";
const draft = ".draft";
const sorted = "-sorted";

/** Reports whether a file has the sorted rows of another one. */
export function isSorted(name: string): boolean {
  return name.endsWith(sorted);
}

/** Returns the original name of a file. It stays when the rows are sorted. */
export function firstName(name: string): string {
  return isSorted(name) ? name.slice(0, -sorted.length) : name;
}

/** DuckDB files of one kind in a directory. A name is that of the file without its extension, and of its schema while it is attached. */
export class DatabaseFiles {
  readonly #connection: DuckDBConnection;
  readonly #directory: string;
  readonly #kind: string;
  readonly #log: Log;
  readonly #pattern: RegExp;
  #setAsideCount = 0;
  #lastName = "";

  /** @param kind the prefix of the file names; a time and a number follow. */
  constructor(connection: DuckDBConnection, directory: string, kind: "flows" | "minutes", log: Log) {
    this.#connection = connection;
    this.#directory = directory;
    this.#kind = kind;
    this.#log = log;
    this.#pattern = new RegExp(`^${kind}-\\d{8}(?:T\\d{2})?-\\d{4}(?:${sorted})?\\${ending}$`);
  }

  /** The number of unreadable files that were set aside since the start. */
  get setAside(): number {
    return this.#setAsideCount;
  }

  /** Lists the files, oldest first. Where a file and its sorted replacement both exist, the sorted one comes first. */
  list(): readonly string[] {
    return readdirSync(this.#directory)
      .filter((file) => this.#pattern.test(file))
      .map((file) => file.slice(0, -ending.length))
      .toSorted(oldestFirst);
  }

  /**
   * Returns a name after those of all files of this time, including removed files and those set aside. So names sort like files, and what is known about
   * a file by its name never applies to another.
   *
   * @param time in the form of file names, such as `20261122T04`.
   */
  newName(time: string): string {
    const begin = `${this.#kind}-${time}-`;
    // Earlier names may belong to files that are gone by now.
    const taken = [...readdirSync(this.#directory), this.#lastName].filter((name) => name.startsWith(begin));
    const number = Math.max(-1, ...taken.map((name) => Number.parseInt(name.slice(begin.length), 10))) + 1;
    this.#lastName = `${begin}${String(number).padStart(4, "0")}`;
    return this.#lastName;
  }

  /** Creates and attaches a file. @param prepare creates the tables; when it fails, the file is detached again. */
  async attach<T>(name: string, prepare: () => Promise<T>): Promise<T> {
    await this.#connection.run(attachStatement(this.#pathOf(name), name));
    try {
      return await prepare();
    } catch (error) {
      await this.#detach(name);
      throw error;
    }
  }

  /**
   * Attaches a file of an earlier run. It repairs the file, or sets it aside where it cannot be read.
   *
   * @returns undefined for a file that was set aside.
   * @throws Error when another process has it open.
   */
  async attachOld<T>(name: string, prepare: () => Promise<T>): Promise<T | undefined> {
    try {
      return await this.attach(name, async () => {
        const prepared = await prepare();
        // This writes what a crash left in the log of the file.
        await this.#connection.run(`CHECKPOINT ${quoted(name)}`);
        return prepared;
      });
    } catch (error) {
      if (isLocked(error)) {
        const message = `another process has the files in ${this.#directory} open: ${messageOf(error)}`;
        throw new Error(message, { cause: error });
      }
      const file = this.#putAside(name);
      this.#log.error({ file, error }, "a file of Explore cannot be read: it is set aside, its records are missing");
      return undefined;
    }
  }

  /**
   * Writes a sorted copy of a file that gets no more rows; both are attached afterwards. After a crash at any point, the list has either the old file
   * alone, or both with the same rows.
   *
   * @param aside the connection for the work.
   * @param write receives the schema of the new file.
   * @returns the name of the new file.
   */
  async writeSorted(aside: DuckDBConnection, name: string, write: (schema: string) => Promise<void>): Promise<string> {
    const made = `${name}${sorted}`;
    const path = `${this.#pathOf(made)}${draft}`;
    removeFile(path);
    await aside.run(attachStatement(path, made));
    try {
      await write(made);
      // This flushes everything to disk.
      await aside.run(`CHECKPOINT ${quoted(made)}`);
      await aside.run(`DETACH DATABASE ${quoted(made)}`);
      renameSync(path, this.#pathOf(made));
    } catch (error) {
      await this.#detach(made);
      removeFile(path);
      throw error;
    }
    try {
      syncDirectory(this.#directory);
      await aside.run(attachStatement(this.#pathOf(made), made));
    } catch (error) {
      removeFile(this.#pathOf(made));
      throw error;
    }
    return made;
  }

  /** Detaches a file and deletes it. */
  async remove(name: string): Promise<void> {
    await this.#detach(name);
    removeFile(this.#pathOf(name));
  }

  /** Deletes incomplete sorted files that a crash left. Only while no other process uses the directory. */
  removeDrafts(): void {
    for (const file of this.#ofKind((name) => name.includes(`${ending}${draft}`))) rmSync(file, { force: true });
  }

  /** Returns the bytes on disk, including those in the log. */
  bytes(name: string): number {
    return sizesOf(this.#pathOf(name));
  }

  /** Returns the bytes in the log. */
  logBytes(name: string): number {
    return sizeOf(`${this.#pathOf(name)}.wal`);
  }

  /** Returns the bytes of the sorted copy that is being written. */
  draftBytes(name: string): number {
    return sizesOf(`${this.#pathOf(`${name}${sorted}`)}${draft}`);
  }

  /** Returns the bytes of the file that was set aside. */
  damagedBytes(): number {
    return this.#damagedFiles().reduce((sum, file) => sum + sizeOf(file), 0);
  }

  #pathOf(name: string): string {
    return join(this.#directory, `${name}${ending}`);
  }

  async #detach(name: string): Promise<void> {
    await this.#connection.run(`DETACH DATABASE IF EXISTS ${quoted(name)}`);
  }

  #ofKind(isWanted: (file: string) => boolean): readonly string[] {
    const files = readdirSync(this.#directory).filter((file) => file.startsWith(`${this.#kind}-`) && isWanted(file));
    return files.map((file) => join(this.#directory, file));
  }

  #damagedFiles(): readonly string[] {
    return this.#ofKind((file) => file.endsWith(damaged));
  }

  /** Sets a file aside and removes those set aside before. @returns its new path. */
  #putAside(name: string): string {
    for (const file of this.#damagedFiles()) rmSync(file, { force: true });
    const path = this.#pathOf(name);
    for (const each of [path, `${path}.wal`]) if (sizeOf(each) > 0) renameSync(each, `${each}${damaged}`);
    this.#setAsideCount++;
    return `${path}${damaged}`;
  }
}

function attachStatement(path: string, name: string): string {
  return `ATTACH '${path.replaceAll("'", "''")}' AS ${quoted(name)} (STORAGE_VERSION 'v1.5.0')`;
}

function oldestFirst(a: string, b: string): number {
  const [first, second] = [firstName(a), firstName(b)];
  if (first !== second) return first < second ? -1 : 1;
  return isSorted(a) ? -1 : 1;
}

function removeFile(path: string): void {
  rmSync(path, { force: true });
  rmSync(`${path}.wal`, { force: true });
}

/** Flushes a directory, so that a new name survives a power loss. */
function syncDirectory(directory: string): void {
  const handle = openSync(directory, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function sizesOf(path: string): number {
  return sizeOf(path) + sizeOf(`${path}.wal`);
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function isLocked(error: unknown): boolean {
  return /lock on file|Conflicting lock/i.test(messageOf(error));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
