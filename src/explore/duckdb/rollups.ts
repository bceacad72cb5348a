import type { DuckDBInstance } from "@duckdb/node-api";
import type { Clock, Log } from "../../report/index.ts";
import { columnOf, type Column } from "../columns/column.ts";
import { createDatabaseFiles } from "./database-files.ts";
import type { Partition } from "./partition.ts";
import { rollUp } from "./roll-up.ts";
import { addColumns, readRollupFile, type RolledUp, type RollupFile } from "./rollup-file.ts";

export interface RollupsOptions {
  readonly instance: DuckDBInstance;
  readonly directory: string;
  readonly maxBytes: number;
  /** 0: none are made, and those that are there are removed. */
  readonly maxDays: number;
  /** Those of files of rows, from which rollups take what they keep. */
  readonly columns: () => readonly Column[];
  readonly isKept: (field: string) => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** Sums of records by minute: files of days. Each has the files of rows of which it was made. */
export interface Rollups {
  /** The oldest first. */
  files(): readonly RollupFile[];
  /** Makes rollups of a complete file of rows, which must stay until then. One at a time. */
  add(partition: Partition): Promise<void>;
  /** Whether a complete file of rows has no rollups yet, and gets them. */
  lacks(partition: Partition): boolean;
  /** The first of such files; undefined after a failure for a while, too. */
  next(partitions: readonly Partition[]): Partition | undefined;
  /** Removes files that are too old or too many. */
  tidy(): Promise<void>;
  bytes(): number;
  readonly setAside: number;
  /** Files of rows of which rollups could not be made. */
  readonly failures: number;
  /** Breaks off what is being made. */
  close(): Promise<void>;
}

const minFiles = 12;
const maxFileBytes = 256 * 2 ** 20;
const dayMs = 86_400_000;
/** After a failure. */
const pauseMs = 60_000;

/** @throws Error when another process has the files. */
export async function openRollups(options: RollupsOptions): Promise<Rollups> {
  const { instance, directory, maxBytes, maxDays, columns, isKept, clock, log } = options;
  const connection = await instance.connect();
  const own = createDatabaseFiles({ connection, directory, kind: "minutes", log });
  const wanted = (): readonly Column[] => columns().filter(({ field }) => isKept(field));
  const files: RollupFile[] = [];
  for (const name of own.list()) {
    const file = await own.attachOld(name, () => readRollupFile(connection, name, wanted()));
    if (file === undefined) continue;
    if (file.sources.length > 0) files.push(file);
    else await own.remove(name);
  }
  const done = new Set(files.flatMap(({ sources }) => sources.map(({ name }) => name)));
  let failures = 0;
  let failedAt = Number.NEGATIVE_INFINITY;
  const closing = new AbortController();
  let adding: Promise<void> | undefined;
  const worker = await instance.connect();

  const bytes = (): number => files.reduce((sum, { name }) => sum + own.bytes(name), 0);
  const lacks = ({ id, isComplete, rows, to }: Partition): boolean =>
    isComplete && rows > 0 && maxDays > 0 && (to ?? 0) >= oldest() && !done.has(id);
  const oldest = (): number => clock.now() - maxDays * dayMs;

  /** The file for the rows of a partition: the last one, or a new one. */
  const fileFor = async ({ id }: Partition): Promise<RollupFile> => {
    const day = id.slice("flows-".length, "flows-".length + 8);
    const last = files.at(-1);
    const isLarge = last !== undefined && own.bytes(last.name) > Math.min(maxBytes / minFiles, maxFileBytes);
    if (
      last?.name.startsWith(`minutes-${day}`) === true &&
      !isLarge &&
      (await addColumns(connection, last, wanted()))
    ) {
      return last;
    }
    const made = own.newName(day);
    const file = await own.attach(made, () => readRollupFile(connection, made, wanted()));
    files.push(file);
    files.sort((a, b) => (a.name < b.name ? -1 : 1));
    return file;
  };

  const make = async (partition: Partition): Promise<RolledUp | undefined> => {
    const file = await fileFor(partition);
    const id = file.sources.length === 0 ? 0 : Math.max(...file.sources.map((each) => each.id)) + 1;
    const kept = columns().filter(({ field }) => file.columns.has(field) && isKept(field));
    const rolled = await rollUp({
      connection: worker,
      partition,
      target: file.name,
      id,
      columns: kept,
      columnOf: (field) => columnOf(field) as Column,
      signal: closing.signal,
    });
    if (rolled !== undefined) file.sources.push(rolled);
    return rolled;
  };

  return {
    files: () => files,
    lacks,
    next: (partitions) => (clock.monotonic() - failedAt < pauseMs ? undefined : partitions.find(lacks)),
    async add(partition) {
      adding = make(partition).then(
        () => void done.add(partition.id),
        (error: unknown) => {
          if (closing.signal.aborted) return;
          failures++;
          failedAt = clock.monotonic();
          log.error({ file: partition.name, error }, "Explore cannot make rollups of a file of records, trying again");
        },
      );
      await adding;
      adding = undefined;
    },
    async tidy() {
      // Not under the hands of what writes to them.
      if (adding !== undefined) return;
      const isOld = ({ sources }: RollupFile): boolean => sources.every(({ to }) => to < oldest());
      const isTooMuch = (): boolean => files.length > 1 && bytes() > maxBytes * (1 - 1 / minFiles);
      for (let first = files[0]; first !== undefined && (isOld(first) || isTooMuch()); first = files[0]) {
        files.shift();
        await own.remove(first.name);
      }
    },
    bytes,
    get setAside() {
      return own.setAside;
    },
    get failures() {
      return failures;
    },
    async close() {
      closing.abort();
      worker.interrupt();
      await adding;
      worker.closeSync();
      connection.closeSync();
    },
  };
}
