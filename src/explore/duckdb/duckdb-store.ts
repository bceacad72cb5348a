import type { DuckDBAppender, DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import type { Clock, Log } from "../../report/index.ts";
import { columnOf, isMetadataName, withoutTwins, type Column } from "../columns/column.ts";
import type { Block } from "../intake/block.ts";
import { createChunkWriter, type ChunkWriter } from "./append-block.ts";
import { createDatabaseFiles, firstName, type DatabaseFiles } from "./database-files.ts";
import { logBytesOf } from "./disk-room.ts";
import { quoted } from "./duckdb-dialect.ts";
import type { DuckDb } from "./load-duckdb.ts";
import { noteBlock, readPartition, type Partition } from "./partition.ts";
import { createRetention, type Keep } from "./retention.ts";
import { createSorter, type Sorter } from "./sorter.ts";

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
  /** Those that blocks must have. */
  columns(): readonly Column[];
  /** Takes the rows of a block into memory. */
  append(block: Block): void;
  /**
   * Puts on disk what was appended. First, files that are too old or too many are removed, so that there is room. A new file begins when the
   * hour is over or the file is large.
   *
   * @throws Error also for what failed beside.
   */
  flush(): Promise<void>;
  /** From here on, blocks have these columns. @param change is called between the last block that has the old ones and the first with the new ones. */
  setColumns(columns: readonly Column[], change: () => void): Promise<void>;
  close(): Promise<void>;
}

/** The bound on the bytes is shared by at least so many files, so that removing one does not remove much. */
const minFiles = 12;
/** What a file may have while it is written to: so much is read again after a crash. */
const maxFileBytes = 192 * 2 ** 20;
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
  const writer = createStoreWriter({ ...options, connection, files, partitions }, withFound(columns, partitions));
  await writer.setColumns(writer.columns(), () => {});
  return writer;
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

function createStoreWriter(options: WriterOptions, columns: readonly Column[]): DuckDbStore {
  const { duckDb, instance, connection, files, partitions, maxBytes, clock } = options;
  const sorter = createSorter({ ...options, hasRoom: () => retention.hasRoom() });
  const retention = createRetention({ ...options, sorter, settled: () => settling, coming: () => coming });
  let wanted = columns;
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
    const partition = await files.attach(name, () => readPartition(connection, name, wanted));
    const appender = await connection.createAppender("flows", "main", name);
    partitions.push(partition);
    return { partition, hour, appender, writer: createChunkWriter(duckDb, wanted) };
  };
  const put = (appender: DuckDBAppender): void => {
    appender.flushSync();
    coming = 0;
  };
  /** What was appended goes to the file before: there is room for just that. */
  const begin = async (change: () => void): Promise<void> => {
    const next = await prepare();
    try {
      await retention.tidy();
      // What is between the reader and the store belongs to the file before, too.
      change();
    } catch (error) {
      next.appender.closeSync();
      next.partition.isComplete = true;
      throw error;
    }
    if (current !== undefined) finish(current);
    current = next;
  };
  /** On a connection of its own, for the appender of the next file must not wait. */
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
  return {
    partitions: () => partitions,
    bytes: () => retention.bytes(),
    sorter,
    columns: () => wanted,
    get setAside() {
      return files.setAside;
    },
    append(block) {
      if (current === undefined) throw new Error("the store is closed");
      const { partition, writer, appender } = current;
      appender.appendDataChunk(new duckDb.api.DuckDBDataChunk(writer.write(block)));
      noteBlock(partition, block);
      const bytes = logBytesOf(block);
      partition.logBytes += bytes;
      coming += bytes;
    },
    async flush() {
      if (current === undefined) return;
      const bytes = files.bytes(current.partition.name) + coming;
      const isLarge = bytes > Math.min(maxBytes / minFiles, maxFileBytes);
      const isOver = Math.floor(clock.now() / hourMs) !== current.hour;
      if ((isLarge || isOver) && current.partition.rows > 0) await begin(() => {});
      else {
        await retention.tidy();
        put(current.appender);
      }
      const found = fault;
      fault = undefined;
      if (found !== undefined) throw found as Error;
    },
    async setColumns(changed, change) {
      wanted = changed;
      await begin(change);
    },
    async close() {
      await sorter.close();
      try {
        await retention.tidy();
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
