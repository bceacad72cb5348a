import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { DuckDBAppender, DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import type { Clock, Log } from "../../report/index.ts";
import { columnOf, isMetadataName, timeField, withoutTwins, type Column } from "../columns/column.ts";
import type { Block } from "../intake/block.ts";
import { createChunkWriter, sqlType, type ChunkWriter } from "./append-block.ts";
import { quoted } from "./duckdb-dialect.ts";
import type { DuckDb } from "./load-duckdb.ts";
import {
  listPartitions,
  partitionBytes,
  partitionName,
  partitionPath,
  removePartition,
  setAside,
} from "./partition-file.ts";

/** A file with the rows of an hour, or of a part of it. */
export interface Partition {
  readonly name: string;
  /** What is there of the columns. */
  readonly columns: ReadonlySet<string>;
  rows: number;
  maxWeight: number;
  /** Of the oldest record, milliseconds since the epoch; undefined: there is none. */
  from: number | undefined;
  to: number | undefined;
}

export interface DuckDbStoreOptions {
  readonly duckDb: DuckDb;
  readonly directory: string;
  readonly maxBytes: number;
  readonly maxHours: number;
  readonly memoryBytes: number;
  readonly threads: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** The files of rows. All but queries is done by one caller, one after the other. */
export interface DuckDbStore {
  /** The oldest first. */
  partitions(): readonly Partition[];
  bytes(): number;
  /** Files that could not be read and were set aside since the start. */
  readonly setAside: number;
  /** Those that blocks must have. */
  columns(): readonly Column[];
  connect(): Promise<DuckDBConnection>;
  /** Takes the rows of a block into memory. */
  append(block: Block): void;
  /** Puts on disk what was appended. */
  flush(): void;
  /** From here on, blocks have these columns. @param change is called between the last block that has the old ones and the first with the new ones. */
  setColumns(columns: readonly Column[], change: () => void): Promise<void>;
  /** Begins a new file when the hour is over or the file is large, and removes those that are too old or too many. */
  tidy(): Promise<void>;
  close(): Promise<void>;
}

/** The bound on the bytes is shared by at least so many files, so that removing one does not remove much. */
const minFiles = 12;
/** What a file may have while it is written to: so much is read again after a crash. */
const maxFileBytes = 192 * 2 ** 20;
export const weightColumn = "explore.weight";

interface Current {
  readonly partition: Partition;
  readonly hour: number;
  readonly appender: DuckDBAppender;
  readonly writer: ChunkWriter;
}

/** @throws Error when the directory cannot be used, or another process has it. */
export async function openDuckDbStore(columns: readonly Column[], options: DuckDbStoreOptions): Promise<DuckDbStore> {
  const { duckDb, directory, maxBytes, maxHours, memoryBytes, threads, clock, log } = options;
  mkdirSync(directory, { recursive: true });
  const temporary = join(directory, "tmp");
  rmSync(temporary, { recursive: true, force: true });
  const instance: DuckDBInstance = await duckDb.api.DuckDBInstance.create(":memory:", {
    threads: String(threads),
    memory_limit: `${Math.floor(memoryBytes / 1024)}KiB`,
    temp_directory: temporary,
    max_temp_directory_size: `${Math.floor(maxBytes / 4 / 1024)}KiB`,
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    allow_community_extensions: "false",
    preserve_insertion_order: "false",
    // A file is put in order once, when it is complete, and aside of the thread that takes records.
    checkpoint_threshold: "1TiB",
  });
  const connection = await instance.connect();
  const partitions: Partition[] = [];
  let wanted = columns;
  let current: Current | undefined;
  let setAsideCount = 0;
  let number = 0;

  const attach = async (name: string): Promise<Partition> => {
    const path = partitionPath(directory, name).replaceAll("'", "''");
    await connection.run(`ATTACH '${path}' AS ${quoted(name)} (STORAGE_VERSION 'v1.5.0')`);
    try {
      const table = `${quoted(name)}.main.flows`;
      await connection.run(`CREATE TABLE IF NOT EXISTS ${table} (${definitions(wanted)}, "${weightColumn}" UINTEGER)`);
      const described = await connection.runAndReadAll(`DESCRIBE ${table}`);
      const names = new Set(described.getRows().map(([column]) => String(column)));
      const time = `epoch_ms("${timeField}")`;
      const counted = await connection.runAndReadAll(
        `SELECT count(*), min(${time}), max(${time}), max("${weightColumn}") FROM ${table}`,
      );
      const [rows, from, to, weight] = counted.getRows()[0] ?? [];
      const bound = (value: unknown): number | undefined => (value === null ? undefined : Number(value));
      const partition: Partition = {
        name,
        columns: names,
        rows: Number(rows),
        maxWeight: Math.max(1, Number(weight ?? 1)),
        from: bound(from),
        to: bound(to),
      };
      return partition;
    } catch (error) {
      await detach(name);
      throw error;
    }
  };
  const detach = (name: string): Promise<unknown> => connection.run(`DETACH DATABASE IF EXISTS ${quoted(name)}`);

  const openOld = async (name: string): Promise<void> => {
    try {
      const partition = await attach(name);
      // What a crash left in the log of the file.
      await connection.run(`CHECKPOINT ${quoted(name)}`);
      if (partition.rows > 0) partitions.push(partition);
      else {
        await detach(name);
        removePartition(directory, name);
      }
    } catch (error) {
      if (isLocked(error)) {
        throw new Error(`another process has the files in ${directory} open: ${messageOf(error)}`, { cause: error });
      }
      const file = setAside(directory, name);
      setAsideCount++;
      log.error({ file, error }, "a file of Explore cannot be read: it is set aside, its records are missing");
    }
  };

  /** Files of the same hour count up. */
  const begin = async (change = (): void => {}): Promise<void> => {
    const now = clock.now();
    const hour = Math.floor(now / 3_600_000);
    let name = partitionName(now, number);
    const taken = new Set(listPartitions(directory));
    while (taken.has(name)) name = partitionName(now, ++number);
    const partition = await attach(name);
    const missing = wanted.filter(({ field }) => !partition.columns.has(field));
    if (missing.length > 0) throw new Error("a new table lacks columns");
    const appender = await connection.createAppender("flows", "main", name);
    // What is between the reader and the store belongs to the file before.
    change();
    const last = current;
    partitions.push(partition);
    current = { partition, hour, appender, writer: createChunkWriter(duckDb, wanted) };
    number = 0;
    if (last !== undefined) await finish(last);
  };
  const finish = async ({ appender, partition }: Current): Promise<void> => {
    appender.flushSync();
    appender.closeSync();
    await connection.run(`CHECKPOINT ${quoted(partition.name)}`);
  };

  const remove = async (partition: Partition): Promise<void> => {
    partitions.splice(partitions.indexOf(partition), 1);
    await detach(partition.name);
    removePartition(directory, partition.name);
  };
  const bytes = (): number => partitions.reduce((sum, { name }) => sum + partitionBytes(directory, name), 0);

  for (const name of listPartitions(directory)) await openOld(name);
  // Names of metadata that were found by runs before this one.
  const known = new Set(columns.map(({ field }) => field));
  const found = new Set(partitions.flatMap((partition) => [...partition.columns]));
  wanted = withoutTwins([
    ...columns,
    ...[...found].filter((name) => !known.has(name) && isMetadataName(name)).flatMap(metadataColumn),
  ]);
  await begin();

  return {
    partitions: () => partitions,
    bytes,
    columns: () => wanted,
    get setAside() {
      return setAsideCount;
    },
    connect: () => instance.connect(),
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
    async tidy() {
      if (current === undefined) return;
      const isLarge = partitionBytes(directory, current.partition.name) > Math.min(maxBytes / minFiles, maxFileBytes);
      const isOver = Math.floor(clock.now() / 3_600_000) !== current.hour;
      if ((isLarge || isOver) && current.partition.rows > 0) await begin();
      const oldest = clock.now() - maxHours * 3_600_000;
      for (const partition of partitions.filter((each) => each !== current?.partition)) {
        const isOld = partition.to === undefined || partition.to < oldest;
        if (isOld || bytes() > maxBytes * (1 - 1 / minFiles)) await remove(partition);
      }
    },
    async close() {
      const last = current;
      current = undefined;
      if (last !== undefined) await finish(last);
      connection.closeSync();
      instance.closeSync();
    },
  };
}

function metadataColumn(name: string): Column[] {
  const column = columnOf(name);
  return column === undefined ? [] : [column];
}

function definitions(columns: readonly Column[]): string {
  return columns.map((column) => `${quoted(column.field)} ${sqlType(column)}`).join(", ");
}

function isLocked(error: unknown): boolean {
  return /lock on file|Conflicting lock/i.test(messageOf(error));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Keeps what is known of a partition without asking it. */
function noteBlock(partition: Partition, { rows, weights, columns }: Block): void {
  partition.rows += rows;
  for (let row = 0; row < rows; row++) {
    const weight = weights[row] as number;
    if (weight > partition.maxWeight) partition.maxWeight = weight;
  }
  const times = columns.find(({ column }) => column.field === timeField);
  if (times === undefined) return;
  const view = new BigInt64Array(times.data);
  for (const row of [0, rows - 1]) {
    const time = Number(view[row] ?? 0n) / 1e6;
    partition.from = Math.min(partition.from ?? time, time);
    partition.to = Math.max(partition.to ?? time, time);
  }
}
