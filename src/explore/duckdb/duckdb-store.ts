import type { DuckDBAppender, DuckDBConnection } from "@duckdb/node-api";
import { columnOf, isMetadataName, timeField, withoutTwins, type Column } from "../column.ts";
import { blockRows, selectRows, type Block } from "../block.ts";
import { ChunkWriter } from "./chunk-writer.ts";
import { quoted } from "./duckdb-table.ts";
import { bookedColumns } from "../booking.ts";
import { DatabaseFiles, firstName, logBytesOf } from "./database-files.ts";
import type { StoreContext } from "./duckdb-instance.ts";
import { noteBlock, readPartition, type Partition } from "./partition.ts";
import { Retention, Sorter, type Keep } from "./upkeep.ts";

/** The byte limit is divided among at least this many files, so that removing one file removes little. */
const minFiles = 12;
/** Maximum bytes of a file in use: this much is read again after a crash. */
const maxFileBytes = 192 * 2 ** 20;
/** Maximum number of blocks that wait for a file with further columns: as many rows as DuckDB takes before it writes them itself. */
const maxWaiting = 100;
/**
 * Rows that DuckDB compresses together. A transaction of this many is written compressed at once. A smaller one goes to the log first, and a checkpoint
 * compresses it later: 7.5 µs of CPU a row instead of 4.8, and three times the bytes written.
 */
const groupRows = 60 * blockRows;
const hourMs = 3_600_000;
/** Maximum time for which rows wait for others, in milliseconds. */
const gatherMs = 5000;

/** The file that receives rows. */
class CurrentFile {
  readonly partition: Partition;
  readonly hour: number;
  readonly appender: DuckDBAppender;
  readonly writer: ChunkWriter;

  constructor(partition: Partition, hour: number, appender: DuckDBAppender, writer: ChunkWriter) {
    this.partition = partition;
    this.hour = hour;
    this.appender = appender;
    this.writer = writer;
  }
}

/** Adds the columns of metadata keys that earlier runs found. */
function withFound(columns: readonly Column[], partitions: readonly Partition[]): readonly Column[] {
  const known = new Set(columns.map(({ field }) => field));
  const found = new Set(partitions.flatMap((partition) => [...partition.columns]));
  const names = [...found].filter((name) => !known.has(name) && isMetadataName(name));
  return withoutTwins([...columns, ...names.map(columnOf).filter((column) => column !== undefined)]);
}

/** The files of rows. One caller makes all calls except queries, one after another. */
export class DuckDbStore {
  readonly sorter: Sorter;
  readonly #context: StoreContext;
  readonly #connection: DuckDBConnection;
  readonly #files: DatabaseFiles;
  readonly #partitions: Partition[] = [];
  readonly #retention: Retention;
  #columns: readonly Column[];
  /** A column without values costs as much as one with values. So a file has only the columns that had a value in some record. */
  readonly #used = new Set([timeField]);
  /** Rows for which the current file lacks a column, and the rows after them. */
  #waiting: Block[] = [];
  /** Bytes that rows will need that are not on disk yet. */
  #coming = 0;
  /** The number of rows waiting for the current file, and when it last got some. */
  #pending = 0;
  #putAt: number;
  #current: CurrentFile | undefined;
  #completing: Promise<void> = Promise.resolve();
  #fault: unknown;

  private constructor(columns: readonly Column[], context: StoreContext, keep: Keep, connection: DuckDBConnection) {
    this.#context = context;
    this.#connection = connection;
    this.#columns = columns;
    this.#putAt = context.clock.monotonic();
    this.#files = new DatabaseFiles(connection, context.config.directory, "flows", context.log);
    this.sorter = new Sorter(context, this.#files, this.#partitions, () => this.#retention.hasRoom());
    this.#retention = new Retention(this.#files, this.#partitions, this.sorter, keep, context);
  }

  /** Opens the store. @throws Error when the directory cannot be used, or another process uses it. */
  static async open(columns: readonly Column[], context: StoreContext, keep: Keep): Promise<DuckDbStore> {
    const store = new DuckDbStore(columns, context, keep, await context.instance.connect());
    await store.#readFiles();
    await store.#begin();
    return store;
  }

  /** Returns the files, oldest first. */
  partitions(): readonly Partition[] {
    return this.#partitions;
  }

  bytes(): number {
    return this.#retention.bytes();
  }

  /** The number of unreadable files that were set aside since the start. */
  get setAside(): number {
    return this.#files.setAside;
  }

  /** Returns the columns that blocks may have and queries may use. */
  columns(): readonly Column[] {
    return this.#columns;
  }

  setColumns(columns: readonly Column[]): void {
    this.#columns = columns;
  }

  /** Takes the rows of a block into memory. @throws Error when there is no room for them. */
  append(block: Block): void {
    if (this.#current === undefined) throw new Error("the store is closed");
    const { partition, writer, appender } = this.#current;
    const missing = block.columns.filter(({ column }) => !partition.columns.has(column.field));
    const bytes = logBytesOf(block, partition.columns.size - block.columns.length + missing.length);
    if (this.#waiting.length === 0 && missing.length === 0) {
      appender.appendDataChunk(new this.#context.duckDb.api.DuckDBDataChunk(writer.write(block)));
      noteBlock(partition, block);
      partition.logBytes += bytes;
      this.#pending += block.rows;
    } else {
      if (this.#waiting.length === maxWaiting) {
        throw new Error("no file can be begun for rows that have further fields");
      }
      for (const { column } of missing) this.#used.add(column.field);
      this.#waiting.push(selectRows(block, [...block.weights.subarray(0, block.rows).keys()]));
    }
    this.#coming += bytes;
    if (this.#pending >= groupRows) this.#put(appender);
  }

  /** Reports whether it can take as many rows as arrive in one turn of the thread, whatever columns they have. It can after `flush`, unless that throws. */
  hasRoom(): boolean {
    return this.#waiting.length < maxWaiting / 2;
  }

  /** Reports whether a whole group of rows will be complete soon. */
  isGathering(): boolean {
    const elapsed = this.#context.clock.monotonic() - this.#putAt;
    return this.#waiting.length === 0 && elapsed < gatherMs && this.#pending * gatherMs >= groupRows * elapsed;
  }

  /**
   * Writes the appended rows to disk. First it removes files that are too old or too many, to make room. It begins a new file when the hour is over, the
   * file is large, or rows have a value in a column that the file lacks.
   *
   * @param canWait true where rows may wait for others, because a whole group is cheaper to write.
   * @throws Error also when an earlier file could not be completed.
   */
  async flush(canWait: boolean): Promise<void> {
    if (this.#current === undefined) return;
    const { partition, hour } = this.#current;
    const bytes = this.#files.bytes(partition.name) + (canWait ? 0 : this.#coming);
    const isLarge = bytes > Math.min(this.#context.config.maxBytes / minFiles, maxFileBytes);
    const isOver = Math.floor(this.#context.clock.now() / hourMs) !== hour;
    const isWide = this.#waiting.length > 0;
    if (isWide || ((isLarge || isOver) && partition.rows > 0)) await this.#begin();
    else await this.#tidy();
    if (!canWait) this.#put(this.#current.appender);
    const found = this.#fault;
    this.#fault = undefined;
    if (found !== undefined) throw found as Error;
  }

  async close(): Promise<void> {
    await this.sorter.close();
    try {
      if (this.#waiting.length > 0) await this.#begin();
      else await this.#tidy();
    } finally {
      // A file that cannot be removed must not keep rows from the disk.
      const last = this.#current;
      this.#current = undefined;
      if (last !== undefined) this.#finish(last);
      await this.#completing;
      this.#connection.closeSync();
    }
  }

  /** Attaches the files of earlier runs. */
  async #readFiles(): Promise<void> {
    const superseded: string[] = [];
    for (const name of this.#files.list()) {
      // A sorted file comes before its unsorted original.
      if (this.#partitions.at(-1)?.id === firstName(name)) {
        superseded.push(name);
        continue;
      }
      const read = (): Promise<Partition> => readPartition(this.#connection, name, this.#columns);
      const partition = await this.#files.attachOld(name, read);
      if (partition === undefined) continue;
      partition.isComplete = true;
      if (partition.rows > 0) this.#partitions.push(partition);
      else await this.#files.remove(name);
    }
    // All files could be opened, so no other process uses them.
    for (const name of superseded) await this.#files.remove(name);
    this.#files.removeDrafts();
    for (const { columns } of this.#partitions) for (const field of columns) this.#used.add(field);
    this.#columns = withFound(this.#columns, this.#partitions);
  }

  #tidy(): Promise<void> {
    return this.#retention.tidy(
      () => this.#coming,
      () => this.#completing,
    );
  }

  /** Begins a file. Rows appended earlier go to the file before, which has just enough room for them. */
  async #begin(): Promise<void> {
    const next = await this.#prepare();
    try {
      await this.#tidy();
    } catch (error) {
      next.appender.closeSync();
      next.partition.isComplete = true;
      throw error;
    }
    const last = this.#current;
    this.#current = next;
    if (last !== undefined && last.partition.rows > 0) this.#finish(last);
    const held = this.#waiting;
    this.#waiting = [];
    this.#coming = 0;
    for (const block of held) this.append(block);
    if (last?.partition.rows === 0) await this.#discard(last);
  }

  /** Creates a file. It receives rows only once it is the current one. */
  async #prepare(): Promise<CurrentFile> {
    const now = this.#context.clock.now();
    const name = this.#files.newName(new Date(now).toISOString().slice(0, 13).replaceAll("-", ""));
    const own = [...this.#columns, ...bookedColumns].filter(({ field }) => this.#used.has(field));
    const partition = await this.#files.attach(name, () => readPartition(this.#connection, name, own));
    const appender = await this.#connection.createAppender("flows", "main", name);
    this.#partitions.push(partition);
    return new CurrentFile(partition, Math.floor(now / hourMs), appender, new ChunkWriter(this.#context.duckDb, own));
  }

  #put(appender: DuckDBAppender): void {
    appender.flushSync();
    this.#coming = 0;
    this.#pending = 0;
    this.#putAt = this.#context.clock.monotonic();
  }

  /** Removes a file without rows. */
  async #discard({ appender, partition }: CurrentFile): Promise<void> {
    appender.closeSync();
    this.#partitions.splice(this.#partitions.indexOf(partition), 1);
    await this.#files.remove(partition.name);
  }

  /** Completes a file on a connection of its own, because the appender of the next file must not wait. */
  #finish({ appender, partition }: CurrentFile): void {
    this.#put(appender);
    appender.closeSync();
    this.#completing = this.#complete(partition, this.#completing);
  }

  async #complete(partition: Partition, before: Promise<void>): Promise<void> {
    await before;
    const aside = await this.#context.instance.connect();
    try {
      await aside.run(`CHECKPOINT ${quoted(partition.name)}`);
    } catch (error) {
      this.#fault = error;
    } finally {
      aside.closeSync();
      partition.isComplete = true;
    }
  }
}
