import type { DuckDBAppender, DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import type { Clock, Log } from "../../base/report/index.ts";
import { columnOf, isMetadataName, timeField, withoutTwins, type Column } from "../column.ts";
import { copyBlock, type Block, type BlockColumn } from "../block.ts";
import { createChunkWriter, type ChunkWriter } from "./duckdb-table.ts";
import { createDatabaseFiles, firstName, type DatabaseFiles } from "./database-files.ts";
import { logBytesOf } from "./database-files.ts";
import { quoted } from "./duckdb-table.ts";
import type { DuckDb } from "./duckdb-instance.ts";
import { noteBlock, readPartition, type Partition } from "./partition.ts";
import { createRetention, type Keep } from "./upkeep.ts";
import { createSorter, type Sorter } from "./upkeep.ts";

export interface DuckDbStoreOptions {
  readonly duckDb: DuckDb;
  readonly instance: DuckDBInstance;
  readonly directory: string;
  readonly maxBytes: number;
  readonly maxHours: number;
  /** Whether nothing waits that is more urgent than to sort complete files. */
  readonly isCalm: () => boolean;
  readonly keep: Keep;
  readonly clock: Clock;
  readonly log: Log;
}

/** The files of rows. All but questions is done by one caller, one after the other. */
export interface DuckDbStore {
  /** The oldest first. */
  partitions(): readonly Partition[];
  bytes(): number;
  readonly sorter: Sorter;
  /** Files that could not be read and were set aside since the start. */
  readonly setAside: number;
  /** What blocks may have, and questions may ask for. */
  columns(): readonly Column[];
  /** Takes the rows of a block into memory. @throws Error when there is no place for them. */
  append(block: Block): void;
  /**
   * Puts on disk what was appended. First, files that are too old or too many are removed, so that there is room. A new file begins when the
   * hour is over, the file is large, or rows have a value in a column that the file lacks.
   *
   * @throws Error also when an earlier file could not be completed.
   */
  flush(): Promise<void>;
  setColumns(columns: readonly Column[]): void;
  close(): Promise<void>;
}

/** The bound on the bytes is shared by at least this many files, so that removing one does not remove much. */
const minFiles = 12;
/** What a file may have while it is written to: this much is read again after a crash. */
const maxFileBytes = 192 * 2 ** 20;
/** Blocks that may wait for a file with further columns: as many rows as DuckDB takes before it writes by itself. */
const maxWaiting = 100;
const hourMs = 3_600_000;

interface Current {
  readonly partition: Partition;
  readonly hour: number;
  readonly appender: DuckDBAppender;
  readonly writer: ChunkWriter;
}

/** @throws Error when the directory cannot be used, or another process has it. */
export async function openDuckDbStore(columns: readonly Column[], options: DuckDbStoreOptions): Promise<DuckDbStore> {
  const { instance, directory, log } = options;
  const connection = await instance.connect();
  const files = createDatabaseFiles({ connection, directory, kind: "flows", log });
  const partitions: Partition[] = [];
  const superseded: string[] = [];
  for (const name of files.list()) {
    // A sorted file comes before the one whose rows it has.
    if (partitions.at(-1)?.id === firstName(name)) {
      superseded.push(name);
      continue;
    }
    const partition = await files.attachOld(name, () => readPartition(connection, name, columns));
    if (partition === undefined) continue;
    partition.isComplete = true;
    if (partition.rows > 0) partitions.push(partition);
    else await files.remove(name);
  }
  // All files could be opened, so no other process uses them.
  for (const name of superseded) await files.remove(name);
  files.removeDrafts();
  return createStoreWriter({ ...options, connection, files, partitions }, withFound(columns, partitions));
}

/** Names of metadata that runs before this one have found are columns, too. */
function withFound(columns: readonly Column[], partitions: readonly Partition[]): readonly Column[] {
  const known = new Set(columns.map(({ field }) => field));
  const found = new Set(partitions.flatMap((partition) => [...partition.columns]));
  const names = [...found].filter((name) => !known.has(name) && isMetadataName(name));
  return withoutTwins([...columns, ...names.map(columnOf).filter((column) => column !== undefined)]);
}

interface WriterOptions extends DuckDbStoreOptions {
  readonly connection: DuckDBConnection;
  readonly files: DatabaseFiles;
  readonly partitions: Partition[];
}

async function createStoreWriter(options: WriterOptions, columns: readonly Column[]): Promise<DuckDbStore> {
  const { duckDb, instance, connection, files, partitions, maxBytes, clock } = options;
  const sorter = createSorter({ ...options, hasRoom: () => retention.hasRoom() });
  const retention = createRetention({ ...options, sorter, settled: () => settling, coming: () => coming });
  let wanted = columns;
  /** A column without values costs as much as one that has some. So a file has those that any record had a value in. */
  const used = new Set([timeField, ...partitions.flatMap((partition) => [...partition.columns])]);
  /** Rows for which the current file lacks a column, and those after them. */
  let waiting: Block[] = [];
  /** Bytes that the rows will take that are not on disk yet. */
  let coming = 0;
  let current: Current | undefined;
  let settling: Promise<void> = Promise.resolve();
  let fault: unknown;

  /** A new file, which gets rows from the time that it is made the current one. */
  const prepare = async (): Promise<Current> => {
    const now = clock.now();
    const hour = Math.floor(now / hourMs);
    const name = files.newName(new Date(now).toISOString().slice(0, 13).replaceAll("-", ""));
    const own = wanted.filter(({ field }) => used.has(field));
    const partition = await files.attach(name, () => readPartition(connection, name, own));
    const appender = await connection.createAppender("flows", "main", name);
    partitions.push(partition);
    return { partition, hour, appender, writer: createChunkWriter(duckDb, own) };
  };
  const put = (appender: DuckDBAppender): void => {
    appender.flushSync();
    coming = 0;
  };
  /** What was appended goes to the file before: there is room for just that. */
  const begin = async (): Promise<Current> => {
    const next = await prepare();
    try {
      await retention.tidy();
    } catch (error) {
      next.appender.closeSync();
      next.partition.isComplete = true;
      throw error;
    }
    const last = current;
    current = next;
    if (last !== undefined && last.partition.rows > 0) finish(last);
    const held = waiting;
    waiting = [];
    coming = 0;
    for (const block of held) append(block);
    if (last?.partition.rows === 0) await discard(last);
    return next;
  };
  /** A file without rows. */
  const discard = async ({ appender, partition }: Current): Promise<void> => {
    appender.closeSync();
    partitions.splice(partitions.indexOf(partition), 1);
    await files.remove(partition.name);
  };
  /** On a connection of its own, because the appender of the next file must not wait. */
  const finish = ({ appender, partition }: Current): void => {
    put(appender);
    appender.closeSync();
    settling = settle(partition, settling);
  };
  const settle = async (partition: Partition, before: Promise<void>): Promise<void> => {
    await before;
    const aside = await instance.connect();
    try {
      await aside.run(`CHECKPOINT ${quoted(partition.name)}`);
    } catch (error) {
      fault = error;
    } finally {
      aside.closeSync();
      partition.isComplete = true;
    }
  };
  const append = (block: Block): void => {
    if (current === undefined) throw new Error("the store is closed");
    const { partition, writer, appender } = current;
    const isMissing = ({ column, count }: BlockColumn): boolean => count > 0 && !partition.columns.has(column.field);
    const bytes = logBytesOf(block, (each) => each.count > 0 || partition.columns.has(each.column.field));
    const missing = block.columns.filter(isMissing);
    if (waiting.length === 0 && missing.length === 0) {
      appender.appendDataChunk(new duckDb.api.DuckDBDataChunk(writer.write(block)));
      noteBlock(partition, block);
      partition.logBytes += bytes;
    } else {
      if (waiting.length === maxWaiting) throw new Error("no file can be begun for rows that have further fields");
      for (const { column } of missing) used.add(column.field);
      waiting.push(copyBlock(block));
    }
    coming += bytes;
  };

  current = await begin();
  return {
    partitions: () => partitions,
    bytes: () => retention.bytes(),
    sorter,
    columns: () => wanted,
    get setAside() {
      return files.setAside;
    },
    append,
    async flush() {
      if (current === undefined) return;
      const bytes = files.bytes(current.partition.name) + coming;
      const isLarge = bytes > Math.min(maxBytes / minFiles, maxFileBytes);
      const isOver = Math.floor(clock.now() / hourMs) !== current.hour;
      const isWide = waiting.length > 0;
      if (isWide || ((isLarge || isOver) && current.partition.rows > 0)) await begin();
      else await retention.tidy();
      put(current.appender);
      const found = fault;
      fault = undefined;
      if (found !== undefined) throw found as Error;
    },
    setColumns(changed) {
      wanted = changed;
    },
    async close() {
      await sorter.close();
      try {
        if (waiting.length > 0) await begin();
        else await retention.tidy();
      } finally {
        // A file that cannot be removed keeps no rows from the disk.
        const last = current;
        current = undefined;
        if (last !== undefined) finish(last);
        await settling;
        connection.closeSync();
      }
    },
  };
}
