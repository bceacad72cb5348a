import type { DuckDBConnection } from "@duckdb/node-api";
import { setTimeout as wait } from "node:timers/promises";
import type { Clock } from "../../base/report/index.ts";
import { type DatabaseFiles, checkpointBytes, spareBytes, isSorted } from "./database-files.ts";
import { type Partition, millisecondType, tableOf, describePartition } from "./partition.ts";
import { columnOf } from "../column.ts";
import { quoted } from "./duckdb-table.ts";
import type { EmbeddedExploreConfig, StoreContext } from "./duckdb-instance.ts";

/** Returns why a file must stay for now: whatever its age, or even when there are too many bytes. */
export type Keep = (partition: Partition) => "age" | "bytes" | undefined;

const hourMs = 3_600_000;

/** Removes files that are too old or too many. */
export class Retention {
  readonly #files: DatabaseFiles;
  readonly #partitions: Partition[];
  readonly #sorter: Sorter;
  readonly #config: EmbeddedExploreConfig;
  readonly #keep: Keep;
  readonly #clock: Clock;

  /** @param partitions those of the store, oldest first. Removed files are taken out of it. */
  constructor(
    files: DatabaseFiles,
    partitions: Partition[],
    sorter: Sorter,
    keep: Keep,
    { config, clock }: StoreContext,
  ) {
    this.#files = files;
    this.#partitions = partitions;
    this.#sorter = sorter;
    this.#config = config;
    this.#keep = keep;
    this.#clock = clock;
  }

  /** Returns the bytes on disk. */
  bytes(): number {
    const files = this.#files;
    const sizes = this.#partitions.map(({ name }) => files.bytes(name) + files.draftBytes(name));
    return sizes.reduce((sum, size) => sum + size, files.damagedBytes());
  }

  /** Reports whether there is room for all work in progress. */
  hasRoom(): boolean {
    return this.#wanted() <= this.#config.maxBytes;
  }

  /**
   * Removes files until there is room for pending writes, if possible.
   *
   * @param coming returns the bytes about to be written.
   * @param completed resolves when the files that get no more rows are complete.
   */
  async tidy(coming: () => number, completed: () => Promise<void>): Promise<void> {
    const { maxHours, maxBytes } = this.#config;
    const oldest = this.#clock.now() - maxHours * hourMs;
    await this.#removeWhile((each) => (each.to === undefined || each.to < oldest) && this.#keep(each) === undefined);
    // New rows are in the log first, and compressed later.
    const isTooMuch = (): boolean => this.#wanted() + 2 * coming() + spareBytes > maxBytes;
    const removeOldest = (): Promise<void> => this.#removeWhile((each) => this.#keep(each) !== "bytes" && isTooMuch());
    await removeOldest();
    if (!isTooMuch()) return;
    await completed();
    await removeOldest();
    if (!isTooMuch()) return;
    await this.#sorter.giveWay();
    await removeOldest();
  }

  /** Returns the bytes on disk, and those needed while files are compressed and sorted: both forms take space for a while. */
  #wanted(): number {
    const open = this.#partitions.filter(({ isComplete }) => !isComplete);
    const checkpoints = open.reduce((sum, { name }) => sum + checkpointBytes(this.#files.logBytes(name)), 0);
    return this.bytes() + checkpoints + this.#sorter.reservedBytes;
  }

  async #removeWhile(isWrong: (partition: Partition) => boolean): Promise<void> {
    for (const partition of this.#partitions.filter(({ isComplete }) => isComplete)) {
      // A sorted file may have replaced it in the meantime.
      const canGo = partition !== this.#sorter.inWork && this.#partitions.includes(partition);
      if (!canGo || !isWrong(partition)) continue;
      this.#partitions.splice(this.#partitions.indexOf(partition), 1);
      await this.#files.remove(partition.name);
    }
  }
}

/** DuckDB compresses rows in groups of this size. */
const groupRows = 122_880;
/** Number of rows that are sorted at once. */
const sliceRows = 8 * groupRows;
/** Neighbouring rows with the same ends have almost the same names, and take a third of the space. */
const order = ["flow.export.ip.addr", "flow.src.ip.addr", "flow.dst.ip.addr"];

/**
 * Copies the rows of a file to another one, sorted slice by slice. Times in whole milliseconds are kept in milliseconds, which takes 20 bits less.
 *
 * @param target the schema of the file that gets the rows.
 * @param pause called before each slice: it waits while others need the processor, and throws when the work must end.
 * @throws Error when not all rows arrived.
 */
async function sortPartition(
  connection: DuckDBConnection,
  partition: Partition,
  target: string,
  pause: () => Promise<void>,
): Promise<void> {
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

/** Returns the time columns without fractions of a millisecond. */
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

/** Interval between checks whether others still need the processor, in milliseconds. */
const pauseMs = 200;

/** Sorts the rows of complete files, one file after another. Sorted rows take less space, and queries read less. */
export class Sorter {
  readonly #context: StoreContext;
  readonly #files: DatabaseFiles;
  readonly #partitions: Partition[];
  readonly #hasRoom: () => boolean;
  /** Files that stay unsorted because sorting failed. */
  readonly #failed = new Set<string>();
  #isClosed = false;
  #breaking = new AbortController();
  #inWork: Partition | undefined;
  #connection: DuckDBConnection | undefined;
  #working: Promise<void> | undefined;
  #sortedRows = 0;

  /**
   * @param partitions those of the store: a sorted file replaces its original.
   * @param hasRoom reports whether the disk has room for what the next file needs.
   */
  constructor(context: StoreContext, files: DatabaseFiles, partitions: Partition[], hasRoom: () => boolean) {
    this.#context = context;
    this.#files = files;
    this.#partitions = partitions;
    this.#hasRoom = hasRoom;
  }

  /** The file in progress. */
  get inWork(): Partition | undefined {
    return this.#inWork;
  }

  /** Bytes that the file in progress, or the next one, may still need on disk in addition to the file that it replaces. */
  get reservedBytes(): number {
    const file = this.#inWork ?? this.#partitions.find(this.#isWanted);
    if (file === undefined) return 0;
    // Fewer rows than a DuckDB group go to its log first, uncompressed.
    const logged = Math.min(1, groupRows / file.rows) * file.logBytes;
    const wanted = checkpointBytes(this.#files.bytes(file.name)) + logged;
    return Math.max(0, wanted - this.#files.draftBytes(file.name));
  }

  /** Number of complete files that are still to be sorted. */
  get waiting(): number {
    return this.#partitions.filter(this.#isWanted).length;
  }

  get sortedRows(): number {
    return this.#sortedRows;
  }

  get failures(): number {
    return this.#failed.size;
  }

  /** Returns the oldest unsorted file; undefined also while others need the processor or the disk. */
  next(): Partition | undefined {
    const mayBegin = this.#context.isCalm() && !this.#isClosed && this.#hasRoom();
    return mayBegin ? this.#partitions.find(this.#isWanted) : undefined;
  }

  /** Sorts a file, which must stay until that is done. One call at a time. */
  async sort(partition: Partition): Promise<void> {
    this.#breaking = new AbortController();
    this.#inWork = partition;
    this.#working = this.#replace(partition)
      .catch((error: unknown) => {
        if (this.#breaking.signal.aborted) return;
        this.#failed.add(partition.id);
        const message = "Explore cannot sort a file of records: it stays as it is";
        this.#context.log.error({ file: partition.name, error }, message);
      })
      .finally(() => {
        this.#working = undefined;
        this.#inWork = undefined;
      });
    await this.#working;
  }

  /** Aborts the work in progress. The file stays unchanged, and is sorted later. */
  async giveWay(): Promise<void> {
    this.#breaking.abort();
    this.#connection?.interrupt();
    await this.#working;
  }

  /** Aborts the work in progress for good. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.giveWay();
  }

  readonly #isWanted = ({ id, name, isComplete, rows }: Partition): boolean =>
    isComplete && rows > 0 && !isSorted(name) && !this.#failed.has(id);

  readonly #pause = async (): Promise<void> => {
    const { signal } = this.#breaking;
    signal.throwIfAborted();
    while (!this.#context.isCalm()) await wait(pauseMs, undefined, { signal });
  };

  async #replace(partition: Partition): Promise<void> {
    const connection = await this.#context.instance.connect();
    this.#connection = connection;
    try {
      const { name } = partition;
      const made = await this.#files.writeSorted(connection, name, (target) =>
        sortPartition(connection, partition, target, this.#pause),
      );
      const sorted = await describePartition(connection, made).catch(async (error: unknown) => {
        await this.#files.remove(made);
        throw error;
      });
      sorted.isComplete = true;
      this.#partitions[this.#partitions.indexOf(partition)] = sorted;
      await this.#files.remove(name);
      this.#sortedRows += sorted.rows;
    } finally {
      this.#connection = undefined;
      connection.closeSync();
    }
  }
}
