import { setTimeout as wait } from "node:timers/promises";
import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import type { Log } from "../../report/index.ts";
import { isSorted, type DatabaseFiles } from "./database-files.ts";
import { describePartition, type Partition } from "./partition.ts";
import { groupRows, sortPartition } from "./sort-partition.ts";

export interface SorterOptions {
  readonly instance: DuckDBInstance;
  readonly files: DatabaseFiles;
  /** Those of the store: a sorted one takes the place of the other. */
  readonly partitions: Partition[];
  /** Whether nothing waits that is more urgent. */
  readonly isCalm: () => boolean;
  readonly log: Log;
}

/** Sorts the rows of complete files, one file after the other: they take less room then, and questions read less. */
export interface Sorter {
  /** The oldest file that is not sorted; undefined while others need the processor, too. */
  next(): Partition | undefined;
  /** Sorts a file, which must stay until then. One at a time. */
  sort(partition: Partition): Promise<void>;
  /** What the file under way, or the next one, may still need on the disk besides the one that it replaces. */
  readonly reservedBytes: number;
  /** Complete files that are still to be sorted. */
  readonly waiting: number;
  readonly sortedRows: number;
  /** Files that stay as they were because they could not be sorted. */
  readonly failures: number;
  /** Breaks off what is under way; its file stays as it was. */
  close(): Promise<void>;
}

/** Rows that are less than a group of DuckDB's are written to its log first, uncompressed. */
const loggedRowBytes = 400;
/** How often it looks whether others still need the processor. */
const pauseMs = 200;

export function createSorter({ instance, files, partitions, isCalm, log }: SorterOptions): Sorter {
  const closing = new AbortController();
  const failed = new Set<string>();
  let inWork: Partition | undefined;
  let connection: DuckDBConnection | undefined;
  let working: Promise<void> | undefined;
  let sortedRows = 0;

  const isWanted = ({ id, name, isComplete, rows }: Partition): boolean =>
    isComplete && rows > 0 && !isSorted(name) && !failed.has(id);
  const pause = async (): Promise<void> => {
    closing.signal.throwIfAborted();
    while (!isCalm()) await wait(pauseMs, undefined, { signal: closing.signal });
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
    next: () => (isCalm() && !closing.signal.aborted ? partitions.find(isWanted) : undefined),
    async sort(partition) {
      inWork = partition;
      working = replace(partition).catch((error: unknown) => {
        if (closing.signal.aborted) return;
        failed.add(partition.id);
        log.error({ file: partition.name, error }, "Explore cannot sort a file of records: it stays as it is");
      });
      await working;
      working = undefined;
      inWork = undefined;
    },
    get reservedBytes() {
      const file = inWork ?? partitions.find(isWanted);
      if (file === undefined) return 0;
      const wanted = files.bytes(file.name) + loggedRowBytes * Math.min(file.rows, groupRows);
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
      closing.abort();
      connection?.interrupt();
      await working;
    },
  };
}
