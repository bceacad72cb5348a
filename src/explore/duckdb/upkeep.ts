import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { setTimeout as wait } from "node:timers/promises";
import type { Clock, Log } from "../../base/report/index.ts";
import { type DatabaseFiles, settlingBytes, spareBytes, isSorted } from "./database-files.ts";
import { type Partition, millisecondType, tableOf, describePartition } from "./partition.ts";
import { columnOf } from "../column.ts";
import { quoted } from "./duckdb-table.ts";

interface RetentionOptions {
  readonly files: DatabaseFiles;
  /** Those of the store, the oldest first. Files that go are taken out. */
  readonly partitions: Partition[];
  readonly sorter: Sorter;
  readonly maxBytes: number;
  readonly maxHours: number;
  /** Resolves when the files that get no more rows are complete. */
  readonly settled: () => Promise<void>;
  /** Bytes that are about to be written. */
  readonly coming: () => number;
  readonly keep: Keep;
  readonly clock: Clock;
}

/** Which files stay for now, whatever their age, or even when there are too many bytes. */
export type Keep = (partition: Partition) => "age" | "bytes" | undefined;

/** Removes files that are too old or too many. */
interface Retention {
  /** On disk. */
  bytes(): number;
  /** Whether there is room for all that is under way. */
  hasRoom(): boolean;
  /** Afterwards there is room for what is about to be written, if there can be. */
  tidy(): Promise<void>;
}

const hourMs = 3_600_000;

export function createRetention(options: RetentionOptions): Retention {
  const { files, partitions, sorter, maxBytes, maxHours, settled, coming, keep, clock } = options;

  const bytes = (): number =>
    partitions.reduce((sum, { name }) => sum + files.bytes(name) + files.draftBytes(name), files.damagedBytes());
  /** What is on disk, and what may come while files are compressed and sorted: they take the room of both forms for a while. */
  const wanted = (): number => {
    const open = partitions.filter(({ isComplete }) => !isComplete);
    const settling = open.reduce((sum, { name }) => sum + settlingBytes(files.logBytes(name)), 0);
    return bytes() + settling + sorter.reservedBytes;
  };
  const remove = async (partition: Partition): Promise<void> => {
    partitions.splice(partitions.indexOf(partition), 1);
    await files.remove(partition.name);
  };
  const removeWhile = async (isWrong: (partition: Partition) => boolean): Promise<void> => {
    for (const partition of partitions.filter(({ isComplete }) => isComplete)) {
      // Meanwhile a sorted one may have taken its place.
      const canGo = partition !== sorter.inWork && partitions.includes(partition);
      if (canGo && isWrong(partition)) await remove(partition);
    }
  };

  return {
    bytes,
    hasRoom: () => wanted() <= maxBytes,
    async tidy() {
      const oldest = clock.now() - maxHours * hourMs;
      await removeWhile((each) => (each.to === undefined || each.to < oldest) && keep(each) === undefined);
      // What comes is in the log first, and compressed later.
      const isTooMuch = (): boolean => wanted() + 2 * coming() + spareBytes > maxBytes;
      const removeOldest = (): Promise<void> => removeWhile((each) => keep(each) !== "bytes" && isTooMuch());
      await removeOldest();
      if (!isTooMuch()) return;
      await settled();
      await removeOldest();
      if (!isTooMuch()) return;
      await sorter.giveWay();
      await removeOldest();
    },
  };
}

interface SortPartitionOptions {
  readonly connection: DuckDBConnection;
  readonly partition: Partition;
  /** The schema of the file that gets the rows. */
  readonly target: string;
  /** Called before each slice: waits as long as others need the processor, and throws when the work shall end. */
  readonly pause: () => Promise<void>;
}

/** DuckDB compresses rows in groups of this size. */
const groupRows = 122_880;
/** How many rows are sorted at once. */
const sliceRows = 8 * groupRows;
/** Rows of the same ends side by side have nearly the same names, and take a third of the room. */
const order = ["flow.export.ip.addr", "flow.src.ip.addr", "flow.dst.ip.addr"];

/**
 * Writes the rows of a file into another one, sorted slice by slice. Times that are whole milliseconds are kept as such, because they take
 * 20 bits less.
 *
 * @throws Error when not all rows arrived.
 */
async function sortPartition({ connection, partition, target, pause }: SortPartitionOptions): Promise<void> {
  const from = tableOf(partition.name);
  const to = tableOf(target);
  const countOf = async (table: string): Promise<number> =>
    Number((await connection.runAndReadAll(`SELECT count(*) FROM ${table}`)).getRows()[0]?.[0]);
  const shortened = await wholeMilliseconds(connection, partition);
  const replaced = shortened.map(
    (field) => `CAST(CAST(${quoted(field)} AS TIMESTAMP) AS ${millisecondType}) AS ${quoted(field)}`,
  );
  const cells = replaced.length > 0 ? `* REPLACE (${replaced.join(", ")})` : "*";
  const keys = order.filter((field) => partition.columns.has(field)).map(quoted);

  await connection.run(`CREATE TABLE ${to} AS SELECT ${cells} FROM ${from} LIMIT 0`);
  const rows = await countOf(from);
  for (let first = 0; first < rows; first += sliceRows) {
    await pause();
    const slice = `SELECT ${cells} FROM ${from} WHERE rowid >= ${first} AND rowid < ${first + sliceRows}`;
    await connection.run(`INSERT INTO ${to} ${slice}${keys.length > 0 ? ` ORDER BY ${keys.join(", ")}` : ""}`);
  }
  const written = await countOf(to);
  if (written !== rows) throw new Error(`${written} rows were written of the ${rows} of ${partition.name}`);
}

/** Of the columns of times, those without anything below a millisecond. */
async function wholeMilliseconds(connection: DuckDBConnection, partition: Partition): Promise<readonly string[]> {
  const times = [...partition.columns].filter(
    (field) =>
      columnOf(field)?.type === "time" && columnOf(field)?.isArray === false && !partition.milliseconds.has(field),
  );
  if (times.length === 0) return [];
  const tests = times.map((field) => `count(*) FILTER (epoch_ns(${quoted(field)}) % 1000000 <> 0)`);
  const counted = await connection.runAndReadAll(`SELECT ${tests.join(", ")} FROM ${tableOf(partition.name)}`);
  return times.filter((_, i) => Number(counted.getRows()[0]?.[i]) === 0);
}

interface SorterOptions {
  readonly instance: DuckDBInstance;
  readonly files: DatabaseFiles;
  /** Those of the store: a sorted one takes the place of the other. */
  readonly partitions: Partition[];
  /** Whether nothing waits that is more urgent. */
  readonly isCalm: () => boolean;
  /** Whether the disk has room for what the next file needs. */
  readonly hasRoom: () => boolean;
  readonly log: Log;
}

/** Sorts the rows of complete files, one file after the other: they take less room then, and questions read less. */
export interface Sorter {
  /** The oldest file that is not sorted; undefined while others need the processor or the disk, too. */
  next(): Partition | undefined;
  /** Sorts a file, which must stay until then. One at a time. */
  sort(partition: Partition): Promise<void>;
  /** The file under way. */
  readonly inWork: Partition | undefined;
  /** Breaks off what is under way; its file stays as it was, and is sorted later. */
  giveWay(): Promise<void>;
  /** What the file under way, or the next one, may still need on the disk besides the one that it replaces. */
  readonly reservedBytes: number;
  /** Complete files that are still to be sorted. */
  readonly waiting: number;
  readonly sortedRows: number;
  /** Files that stay as they were because they could not be sorted. */
  readonly failures: number;
  /** The same for good. */
  close(): Promise<void>;
}

/** How often it looks whether others still need the processor. */
const pauseMs = 200;

export function createSorter({ instance, files, partitions, isCalm, hasRoom, log }: SorterOptions): Sorter {
  const failed = new Set<string>();
  let isClosed = false;
  let breaking = new AbortController();
  let inWork: Partition | undefined;
  let connection: DuckDBConnection | undefined;
  let working: Promise<void> | undefined;
  let sortedRows = 0;

  const isWanted = ({ id, name, isComplete, rows }: Partition): boolean =>
    isComplete && rows > 0 && !isSorted(name) && !failed.has(id);
  const pause = async (): Promise<void> => {
    const { signal } = breaking;
    signal.throwIfAborted();
    while (!isCalm()) await wait(pauseMs, undefined, { signal });
  };
  const giveWay = async (): Promise<void> => {
    breaking.abort();
    connection?.interrupt();
    await working;
  };
  const replace = async (partition: Partition): Promise<void> => {
    const own = await instance.connect();
    connection = own;
    try {
      const { name } = partition;
      const made = await files.writeSorted(own, name, (target) =>
        sortPartition({ connection: own, partition, target, pause }),
      );
      const sorted = await describePartition(own, made).catch(async (error: unknown) => {
        await files.remove(made);
        throw error;
      });
      sorted.isComplete = true;
      partitions[partitions.indexOf(partition)] = sorted;
      await files.remove(name);
      sortedRows += sorted.rows;
    } finally {
      connection = undefined;
      own.closeSync();
    }
  };

  return {
    next: () => (isCalm() && !isClosed && hasRoom() ? partitions.find(isWanted) : undefined),
    async sort(partition) {
      breaking = new AbortController();
      inWork = partition;
      working = replace(partition)
        .catch((error: unknown) => {
          if (breaking.signal.aborted) return;
          failed.add(partition.id);
          log.error({ file: partition.name, error }, "Explore cannot sort a file of records: it stays as it is");
        })
        .finally(() => {
          working = undefined;
          inWork = undefined;
        });
      await working;
    },
    get inWork() {
      return inWork;
    },
    giveWay,
    get reservedBytes() {
      const file = inWork ?? partitions.find(isWanted);
      if (file === undefined) return 0;
      // Rows that are less than a group of DuckDB's are written to its log first, uncompressed.
      const logged = Math.min(1, groupRows / file.rows) * file.logBytes;
      const wanted = settlingBytes(files.bytes(file.name)) + logged;
      return Math.max(0, wanted - files.draftBytes(file.name));
    },
    get waiting() {
      return partitions.filter(isWanted).length;
    },
    get sortedRows() {
      return sortedRows;
    },
    get failures() {
      return failed.size;
    },
    async close() {
      isClosed = true;
      await giveWay();
    },
  };
}
