import { join } from "node:path";
import {
  frameHeaderBytes,
  readFrameHeader,
  type SpoolPosition,
  type SpoolFile,
  type SpoolIo,
  positionSlotBytes,
  readPositionSlots,
  writePositionSlot,
  maxOpenFrames,
  type SpoolPlace,
} from "./spool-format.ts";
import { errorCode, reasonOf } from "./output-adapter.ts";
import type { Log } from "../../base/report/index.ts";
import type { SpoolReport } from "./spool.ts";

/** A frame that an earlier run has read and not delivered. */
interface EarlierFrame {
  readonly at: number;
  readonly count: number;
  readonly payloadBytes: number;
}

/** One file of a spool. */
export interface Segment {
  readonly number: number;
  readonly path: string;
  /** Open while it is read or written. */
  file: SpoolFile | undefined;
  /** The end of its last whole frame: what lies behind it is not looked at. */
  end: number;
  /** Frames before `readAt` that an earlier run has read and not delivered. */
  readonly earlier: EarlierFrame[];
  /** Where the next frame that was not taken begins, but for those. */
  readAt: number;
  /** Records, bytes of lines and frames that were not taken. */
  records: number;
  bytes: number;
  frames: number;
  /** The arrival of its oldest record that was not taken when it was opened; milliseconds since the epoch. */
  oldestAt: number;
  /** Offsets of frames that were taken and are not delivered. */
  readonly taken: Set<number>;
  /** Whether no more is written to it. */
  isSealed: boolean;
  /** Whether it has bytes that are no frame: then it is set aside, not removed. */
  isDamaged: boolean;
  /** Whether it was removed with what it held. */
  isDropped: boolean;
}

const segmentName = /^([0-9]{12})\.spool$/;

function segmentPath(directory: string, number: number): string {
  return join(directory, `${String(number).padStart(12, "0")}.spool`);
}

/** The number in a segment's file name; undefined when the name is no segment's. */
function segmentNumber(name: string): number | undefined {
  const digits = segmentName.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function newSegment(directory: string, number: number, file: SpoolFile | undefined): Segment {
  return {
    number,
    path: segmentPath(directory, number),
    file,
    end: 0,
    earlier: [],
    readAt: 0,
    records: 0,
    bytes: 0,
    frames: 0,
    oldestAt: 0,
    taken: new Set(),
    isSealed: file === undefined,
    isDamaged: false,
    isDropped: false,
  };
}

/**
 * Looks through a segment of an earlier run.
 *
 * @param position what that run has delivered.
 */
async function scanSegment(
  directory: string,
  number: number,
  io: SpoolIo,
  position: SpoolPosition | undefined,
): Promise<Segment> {
  const segment = newSegment(directory, number, undefined);
  const readUpTo = readEnd(number, position);
  const open = new Set(position?.open.flatMap((place) => (place.segment === number ? place.offset : [])));
  const file = await io.open(segment.path);
  try {
    const size = await file.size();
    const header = Buffer.alloc(frameHeaderBytes);
    for (;;) {
      const at = segment.end;
      const frame = readFrameHeader(header.subarray(0, await file.read(header, at)));
      const next = at + frameHeaderBytes + (frame?.payloadBytes ?? 0);
      if (frame === undefined || next > size) break;
      segment.end = next;
      if (at < readUpTo) segment.readAt = next;
      if (at < readUpTo && !open.has(at)) continue;
      if (at < readUpTo) segment.earlier.push({ at, count: frame.count, payloadBytes: frame.payloadBytes });
      if (segment.frames === 0) segment.oldestAt = frame.oldestAt;
      segment.records += frame.count;
      segment.bytes += frame.payloadBytes;
      segment.frames++;
    }
    segment.isDamaged = segment.end < size;
    return segment;
  } finally {
    await file.close().catch(() => {});
  }
}

function readEnd(number: number, position: SpoolPosition | undefined): number {
  if (position === undefined || number > position.readUpTo.segment) return 0;
  return number < position.readUpTo.segment ? Infinity : position.readUpTo.offset;
}

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

interface SpoolSegmentsOptions {
  readonly directory: string;
  readonly io: SpoolIo;
  readonly report: Pick<SpoolReport, "setAside" | "failed">;
  readonly log: Log;
}

/** The files of a spool and its read position, which says what of them is delivered. */
interface SpoolSegments {
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
