import type { DuckDBAppender, DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import type { Clock, Log } from "../../report/index.ts";
import { columnOf, isMetadataName, withoutTwins, type Column } from "../columns/column.ts";
import type { Block } from "../intake/block.ts";
import { createChunkWriter, type ChunkWriter } from "./append-block.ts";
import { createDatabaseFiles, firstName, type DatabaseFiles } from "./database-files.ts";
import { quoted } from "./duckdb-dialect.ts";
import type { DuckDb } from "./load-duckdb.ts";
import { noteBlock, readPartition, type Partition } from "./partition.ts";
import { createSorter, type Sorter } from "./sorter.ts";

export interface DuckDbStoreOptions {
  readonly duckDb: DuckDb;
  readonly instance: DuckDBInstance;
  readonly directory: string;
  readonly maxBytes: number;
  readonly maxHours: number;
  /** Whether nothing waits that is more urgent than to sort complete files. */
  readonly isCalm: () => boolean;
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
  /** Puts on disk what was appended. */
  flush(): void;
  /** From here on, blocks have these columns. @param change is called between the last block that has the old ones and the first with the new ones. */
  setColumns(columns: readonly Column[], change: () => void): Promise<void>;
  /**
   * Begins a new file when the hour is over or the file is large, and removes those that are too old or too many.
   *
   * @param keep which files stay for now, whatever their age, or even when there are too many bytes.
   */
  tidy(keep: (partition: Partition) => "age" | "bytes" | undefined): Promise<void>;
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
  const { duckDb, instance, connection, files, partitions, maxBytes, maxHours, clock } = options;
  const sorter = createSorter(options);
  let wanted = columns;
  let current: Current | undefined;
  let settling: Promise<void> = Promise.resolve();
  let fault: unknown;

  const begin = async (change: () => void): Promise<void> => {
    const now = clock.now();
    const hour = Math.floor(now / hourMs);
    const name = files.newName(new Date(now).toISOString().slice(0, 13).replaceAll("-", ""));
    const partition = await files.attach(name, () => readPartition(connection, name, wanted));
    const appender = await connection.createAppender("flows", "main", name);
    // What is between the reader and the store belongs to the file before.
    change();
    const last = current;
    partitions.push(partition);
    current = { partition, hour, appender, writer: createChunkWriter(duckDb, wanted) };
    if (last !== undefined) finish(last);
  };
  /** On a connection of its own, for the appender of the next file must not wait. */
  const finish = ({ appender, partition }: Current): void => {
    appender.flushSync();
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
  const bytes = (): number => partitions.reduce((sum, { name }) => sum + files.bytes(name) + files.draftBytes(name), 0);

  return {
    partitions: () => partitions,
    bytes,
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
    },
    flush: () => current?.appender.flushSync(),
    async setColumns(changed, change) {
      wanted = changed;
      await begin(change);
    },
    async tidy(keep) {
      if (current === undefined) return;
      const found = fault;
      fault = undefined;
      if (found !== undefined) throw found as Error;
      const isLarge = files.bytes(current.partition.name) > Math.min(maxBytes / minFiles, maxFileBytes);
      const isOver = Math.floor(clock.now() / hourMs) !== current.hour;
      if ((isLarge || isOver) && current.partition.rows > 0) await begin(() => {});
      const limit = maxBytes * (1 - 1 / minFiles);
      const oldest = clock.now() - maxHours * hourMs;
      for (const partition of partitions.filter((each) => each.isComplete && keep(each) !== "bytes")) {
        const isOld = (partition.to === undefined || partition.to < oldest) && keep(partition) === undefined;
        if (!isOld && bytes() <= limit - sorter.reservedBytes) continue;
        partitions.splice(partitions.indexOf(partition), 1);
        await files.remove(partition.name);
      }
    },
    async close() {
      await sorter.close();
      const last = current;
      current = undefined;
      if (last !== undefined) finish(last);
      await settling;
      connection.closeSync();
    },
  };
}
