import type { Clock } from "../../base/report/index.ts";
import type { DatabaseFiles } from "./database-files.ts";
import { settlingBytes, spareBytes } from "./disk-room.ts";
import type { Partition } from "./partition.ts";
import type { Sorter } from "./sorter.ts";

export interface RetentionOptions {
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
export interface Retention {
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
