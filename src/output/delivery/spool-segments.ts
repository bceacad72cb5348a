import { join } from "node:path";
import { errorCode, reasonOf } from "./delivery-error.ts";
import {
  positionSlotBytes,
  readPositionSlots,
  writePositionSlot,
  type SpoolPosition,
  maxOpenFrames,
  type SpoolPlace,
} from "./spool-format.ts";
import type { SpoolFile, SpoolIo } from "./spool-io.ts";
import type { Log } from "../../base/report/index.ts";
import type { SpoolReport } from "./spool.ts";
import { newSegment, scanSegment, segmentNumber, segmentPath, type Segment } from "./spool-segment.ts";

/** The durable read position of a spool. */
interface PositionFile {
  /** The position that an earlier run has left; undefined when there is none that is whole. */
  open(): Promise<SpoolPosition | undefined>;
  /** Keeps a position. One write is under way at a time, and only the last of those asked for meanwhile follows it. */
  keep(position: SpoolPosition): void;
  /** Waits for the last write and has it reach the disk. */
  close(): Promise<void>;
}

/** @param failed is called when a position could not be kept: then batches may be sent once more after a crash. */
function createPositionFile(
  directory: string,
  io: SpoolIo,
  failed: (operation: string, code: string) => void,
): PositionFile {
  let file: SpoolFile | undefined;
  let turn = 0;
  let wanted: SpoolPosition | undefined;
  let writing: Promise<void> | undefined;

  const write = async (): Promise<void> => {
    const to = file;
    if (to === undefined) return;
    while (wanted !== undefined) {
      const position = wanted;
      wanted = undefined;
      turn++;
      try {
        await to.write([writePositionSlot(turn, position)], (turn % 2) * positionSlotBytes);
      } catch (error) {
        failed("position", errorCode(error));
      }
    }
    writing = undefined;
  };

  return {
    async open() {
      file ??= await io.open(join(directory, "position"));
      const bytes = Buffer.alloc(2 * positionSlotBytes);
      const found = readPositionSlots(bytes.subarray(0, await file.read(bytes, 0)));
      turn = found?.turn ?? 0;
      return found;
    },
    keep(position) {
      wanted = position;
      writing ??= write();
    },
    async close() {
      await writing;
      try {
        await file?.sync();
      } catch (error) {
        failed("position", errorCode(error));
      }
      await file?.close().catch(() => {});
      file = undefined;
    },
  };
}

export interface SpoolSegmentsOptions {
  readonly directory: string;
  readonly io: SpoolIo;
  readonly report: Pick<SpoolReport, "setAside" | "failed">;
  readonly log: Log;
}

/** The files of a spool and its read position, which says what of them is delivered. */
export interface SpoolSegments {
  /** Finds what an earlier run has left. @throws what the system says; it can be tried again. */
  open(): Promise<void>;
  /** Oldest first. The last one is written to unless it is sealed. */
  all(): readonly Segment[];
  /** A new one behind the others. @throws what the system says. */
  create(): Promise<Segment>;
  /** Has the names of new segments reach the disk. @throws what the system says. */
  syncNames(): Promise<void>;
  /** Removes a segment, or sets it aside when it is damaged. */
  leave(segment: Segment): Promise<void>;
  /** Whether a segment is to be given up because this was its last try to be read. */
  isUnreadable(path: string, error: unknown): boolean;
  /** Removes those of which all is delivered. */
  tidy(): Promise<void>;
  /** Writes down what is delivered, soon. */
  keepPosition(): void;
  close(): Promise<void>;
}

/** Damaged segments that are kept for a person to look at. */
const maxSetAside = 4;
/** A segment that cannot be read is tried so often before it is given up: the disk may recover. */
const readTries = 3;
/** What a disk says of bytes that it cannot give, and the system of a name that is no file. */
const unreadableCodes: ReadonlySet<string> = new Set(["EIO", "EBADMSG", "EUCLEAN", "EISDIR"]);

export function createSpoolSegments({ directory, io, report, log }: SpoolSegmentsOptions): SpoolSegments {
  const position = createPositionFile(directory, io, (operation, code) => report.failed(operation, code));
  let segments: Segment[] = [];
  let nextNumber = 1;
  /** Whether names in the directory have changed since the last sync. */
  let namesChanged = false;
  /** Failed tries to read a segment, by its path. */
  const failures = new Map<string, number>();

  const setAside = async (path: string): Promise<void> => {
    report.setAside();
    log.warn(
      { path },
      "a segment of the spool is damaged or not ours; what can be read is used, the file is set aside",
    );
    await io.rename(path, `${path}.damaged`);
    const aside = (await io.list(directory)).filter((name) => name.endsWith(".damaged")).toSorted();
    for (const name of aside.slice(0, -maxSetAside)) await remove(`${directory}/${name}`);
  };

  const remove = async (path: string): Promise<void> => {
    try {
      await io.remove(path);
    } catch (error) {
      report.failed("remove", errorCode(error));
      log.warn({ path, reason: reasonOf(error) }, "a file of the spool cannot be removed");
    }
  };

  const isUnreadable = (path: string, error: unknown): boolean => {
    if (!unreadableCodes.has(errorCode(error))) return false;
    const tries = (failures.get(path) ?? 0) + 1;
    if (tries < readTries) failures.set(path, tries);
    else failures.delete(path);
    return tries >= readTries;
  };

  const leave = async (segment: Segment): Promise<void> => {
    segments = segments.filter((one) => one !== segment);
    namesChanged = true;
    await segment.file?.close().catch(() => {});
    segment.file = undefined;
    if (!segment.isDamaged) {
      await remove(segment.path);
      return;
    }
    try {
      await setAside(segment.path);
    } catch (error) {
      report.failed("set_aside", errorCode(error));
      log.warn({ path: segment.path, reason: reasonOf(error) }, "a damaged segment of the spool cannot be set aside");
    }
  };

  const keepPosition = (): void => {
    const kept = positionOf(segments);
    if (kept !== undefined) position.keep(kept);
  };

  const tidy = async (): Promise<void> => {
    for (const segment of segments) {
      const isDelivered = segment.isSealed && segment.frames === 0 && segment.taken.size === 0;
      if (isDelivered) await leave(segment);
    }
  };

  return {
    async open() {
      // What a try that failed has found.
      segments = [];
      await io.makeDirectory(directory);
      const numbers = (await io.list(directory)).flatMap((name) => segmentNumber(name) ?? []).toSorted((a, b) => a - b);
      const delivered = await position.open();
      // Else what is written next would be taken for delivered by the next run.
      nextNumber = (delivered?.readUpTo.segment ?? 0) + 1;
      for (const number of numbers) {
        nextNumber = Math.max(nextNumber, number + 1);
        try {
          segments.push(await scanSegment(directory, number, io, delivered));
        } catch (error) {
          const path = segmentPath(directory, number);
          if (!isUnreadable(path, error)) throw error;
          await setAside(path);
        }
      }
      await tidy();
      keepPosition();
    },
    all: () => segments,
    async create() {
      const file = await io.open(segmentPath(directory, nextNumber));
      const segment = newSegment(directory, nextNumber, file);
      nextNumber++;
      segments.push(segment);
      namesChanged = true;
      if (segments.length === 1) keepPosition();
      return segment;
    },
    async syncNames() {
      if (!namesChanged) return;
      await io.syncDirectory(directory);
      namesChanged = false;
    },
    leave,
    isUnreadable,
    tidy,
    keepPosition,
    async close() {
      await tidy();
      await position.close();
      for (const segment of segments) {
        await segment.file?.close().catch(() => {});
        segment.file = undefined;
      }
    },
  };
}

/** What is delivered; undefined where there is no segment. */
function positionOf(segments: readonly Segment[]): SpoolPosition | undefined {
  const reading = segments.find((segment) => segment.readAt < segment.end) ?? segments.at(-1);
  if (reading === undefined) return undefined;
  const readUpTo: SpoolPlace = { segment: reading.number, offset: reading.readAt };
  const open = segments.flatMap(({ number, earlier, taken }) =>
    [...earlier.map(({ at }) => at), ...taken].map((offset) => ({ segment: number, offset })),
  );
  if (open.length <= maxOpenFrames) return { readUpTo, open };
  // Those for which there is no room are read again by the next run, with all that follows them.
  return { readUpTo: open.reduce((a, b) => (isBefore(b, a) ? b : a), readUpTo), open: [] };
}

function isBefore(a: SpoolPlace, b: SpoolPlace): boolean {
  return a.segment < b.segment || (a.segment === b.segment && a.offset < b.offset);
}
