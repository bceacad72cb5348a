import { join } from "node:path";
import { frameHeaderBytes, readFrameHeader, type SpoolPosition } from "./spool-format.ts";
import type { SpoolFile, SpoolIo } from "./spool-io.ts";

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

export function segmentPath(directory: string, number: number): string {
  return join(directory, `${String(number).padStart(12, "0")}.spool`);
}

/** The number in a segment's file name; undefined when the name is no segment's. */
export function segmentNumber(name: string): number | undefined {
  const digits = segmentName.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

export function newSegment(directory: string, number: number, file: SpoolFile | undefined): Segment {
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
export async function scanSegment(
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
