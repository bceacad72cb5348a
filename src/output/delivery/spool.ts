import { errorCode, reasonOf } from "../errno.ts";
import type { Log } from "../../report/index.ts";
import type { Batch } from "./batch.ts";
import {
  frameHeaderBytes,
  isPayloadOf,
  maxOpenFrames,
  readFrameHeader,
  writeFrameHeader,
  type SpoolPlace,
} from "./spool-format.ts";
import type { SpoolIo } from "./spool-io.ts";
import { createPositionFile } from "./spool-position.ts";
import { newSegment, scanSegment, segmentNumber, segmentPath, type Segment } from "./spool-segment.ts";

export interface SpoolOptions {
  readonly directory: string;
  readonly io: SpoolIo;
  /** All its segments have no more bytes than this, but for one batch. */
  readonly maxBytes: number;
  /** A segment that has reached this size is left for another. */
  readonly segmentBytes: number;
  /** What becomes of a batch for which there is no room: the oldest segment goes, or the batch. */
  readonly whenFull: "drop_oldest" | "drop_newest";
  readonly report: SpoolReport;
  readonly log: Log;
}

/** What a spool counts. */
export interface SpoolReport {
  /** Records that were lost because there was no room, or because their frame cannot be read any more. */
  dropped(reason: "spool_full" | "spool_damaged", records: number, bytes: number): void;
  /** A segment was set aside. */
  setAside(): void;
  failed(operation: string, code: string): void;
}

/** A batch that was read from a spool. One of the two is to be called, once. */
export interface SpooledBatch {
  readonly batch: Batch;
  /** It is delivered and never read again. */
  done(): void;
  /** It will be taken again. */
  giveBack(): void;
}

/**
 * Batches on disk, first in, first out. `append`, `sync`, `take` and `close` are called one at a time.
 *
 * A batch that is given back, or that was taken and not delivered when the process ended, is read again: it leaves the spool
 * only by `done`, or when it is dropped.
 */
export interface Spool {
  /** Reads what an earlier run has left; comes before all else. @throws what the system says; it can be tried again. */
  open(): Promise<void>;
  /**
   * Writes a batch behind the others. @returns false when there is no room and the newest is to be dropped; it is counted.
   *
   * @throws what the system says; nothing of the batch is kept then.
   */
  append(batch: Batch): Promise<boolean>;
  /** Has everything that was appended reach the disk. */
  sync(): Promise<void>;
  /** Has the next batch begin a segment of its own. */
  seal(): void;
  /** The oldest batch that was not taken; undefined when there is none. @throws what the system says; it can be tried again. */
  take(): Promise<SpooledBatch | undefined>;
  close(): Promise<void>;
  /** Whether `take` would find nothing. */
  readonly isEmpty: boolean;
  /** Bytes on disk. */
  readonly byteLength: number;
  /** Records that were not taken. */
  readonly records: number;
  /** The arrival of the oldest record that was not taken, as far as it is known; milliseconds since the epoch. */
  readonly oldestAt: number | undefined;
}

/** Damaged segments that are kept for a person to look at. */
const maxSetAside = 4;

export function createSpool(options: SpoolOptions): Spool {
  const { directory, io, maxBytes, segmentBytes, whenFull, report, log } = options;
  const position = createPositionFile(directory, io, (operation, code) => report.failed(operation, code));
  /** Oldest first. The last one is written to unless it is sealed. */
  let segments: Segment[] = [];
  const returned: { readonly batch: Batch; readonly segment: Segment; readonly at: number }[] = [];
  let nextNumber = 1;
  /** Whether names in the directory have changed since the last sync. */
  let namesChanged = false;

  const byteLength = (): number => segments.reduce((sum, segment) => sum + segment.end, 0);

  const setAside = async (path: string): Promise<void> => {
    report.setAside();
    log.warn(
      { path },
      "a segment of the spool is damaged or not ours; what can be read is used, the file is set aside",
    );
    await io.rename(path, `${path}.damaged`);
    const aside = (await io.list(directory)).filter((name) => name.endsWith(".damaged")).toSorted();
    for (const name of aside.slice(0, -maxSetAside)) await io.remove(`${directory}/${name}`);
  };

  const leave = async (segment: Segment): Promise<void> => {
    segments = segments.filter((one) => one !== segment);
    namesChanged = true;
    await segment.file?.close().catch(() => {});
    segment.file = undefined;
    try {
      if (segment.isDamaged) await setAside(segment.path);
      else await io.remove(segment.path);
    } catch (error) {
      report.failed("remove", errorCode(error));
      log.warn({ path: segment.path, reason: reasonOf(error) }, "a delivered segment of the spool cannot be removed");
    }
  };

  const keepPosition = (): void => {
    const reading = segments.find((segment) => segment.readAt < segment.end) ?? segments.at(-1);
    if (reading === undefined) return;
    const open = segments.flatMap(({ number, earlier, taken }) =>
      [...earlier.map(({ at }) => at), ...taken].map((offset) => ({ segment: number, offset })),
    );
    // Those for which there is no room are read again by the next run, with all that follows them.
    const isWhole = open.length <= maxOpenFrames;
    const first = open.reduce((a, b) => (isBefore(b, a) ? b : a), { segment: reading.number, offset: reading.readAt });
    position.keep(
      isWhole ? { readUpTo: { segment: reading.number, offset: reading.readAt }, open } : { readUpTo: first, open: [] },
    );
  };

  /** Removes what is delivered. */
  const tidy = async (): Promise<void> => {
    for (const segment of segments) {
      const isDelivered = segment.isSealed && segment.frames === 0 && segment.taken.size === 0;
      if (isDelivered) await leave(segment);
    }
  };

  const dropOldest = async (): Promise<void> => {
    const [oldest] = segments;
    if (oldest === undefined) return;
    report.dropped("spool_full", oldest.records, oldest.bytes);
    oldest.isDropped = true;
    for (const one of returned.splice(0)) {
      if (one.segment === oldest) report.dropped("spool_full", one.batch.count, one.batch.byteLength);
      else returned.push(one);
    }
    await leave(oldest);
    keepPosition();
  };

  const segmentToWrite = async (): Promise<Segment> => {
    const last = segments.at(-1);
    if (last !== undefined && !last.isSealed && last.end < segmentBytes) return last;
    if (last !== undefined) last.isSealed = true;
    await tidy();
    const number = nextNumber;
    const file = await io.open(segmentPath(directory, number));
    nextNumber++;
    const segment = newSegment(directory, number, file);
    segments.push(segment);
    namesChanged = true;
    if (segments.length === 1) keepPosition();
    return segment;
  };

  const write = async (segment: Segment, batch: Batch): Promise<void> => {
    let chunks: readonly Uint8Array[] = [writeFrameHeader(batch), ...batch.chunks];
    let at = segment.end;
    try {
      while (chunks.length > 0) {
        const taken = (await segment.file?.write(chunks.slice(0, maxChunks), at)) ?? 0;
        if (taken === 0) throw new Error("the file takes no more bytes");
        at += taken;
        chunks = withoutFirst(chunks, taken);
      }
    } catch (error) {
      // What is written of the frame would be taken for damage by the next run.
      const isCut = await segment.file?.truncate(segment.end).then(
        () => true,
        () => false,
      );
      if (isCut !== true) {
        segment.isSealed = true;
        segment.isDamaged = true;
      }
      throw error;
    }
  };

  const readFrame = async (segment: Segment): Promise<SpooledBatch | undefined> => {
    segment.file ??= await io.open(segment.path);
    const { file } = segment;
    const earlier = segment.earlier[0];
    const at = earlier?.at ?? segment.readAt;
    const header = Buffer.alloc(frameHeaderBytes);
    const frame = readFrameHeader(header.subarray(0, await file.read(header, at)));
    if (frame === undefined) {
      // It was one when the segment was looked through: the rest of the file is lost.
      damaged(segment, segment.records, segment.bytes);
      segment.earlier.length = 0;
      segment.readAt = segment.end;
      segment.records = segment.bytes = segment.frames = 0;
      return undefined;
    }
    const payload = Buffer.allocUnsafeSlow(frame.payloadBytes);
    const length = await file.read(payload, at + frameHeaderBytes);
    if (earlier === undefined) segment.readAt = at + frameHeaderBytes + frame.payloadBytes;
    else segment.earlier.shift();
    segment.records -= frame.count;
    segment.bytes -= frame.payloadBytes;
    segment.frames--;
    segment.oldestAt = frame.oldestAt;
    if (!isPayloadOf(frame, payload.subarray(0, length))) {
      damaged(segment, frame.count, frame.payloadBytes);
      return undefined;
    }
    const { id, count, oldestAt } = frame;
    return lend(segment, at, { id, chunks: [payload], count, byteLength: payload.length, oldestAt });
  };

  const damaged = (segment: Segment, records: number, bytes: number): void => {
    segment.isDamaged = true;
    report.dropped("spool_damaged", records, bytes);
  };

  const lend = (segment: Segment, at: number, batch: Batch): SpooledBatch => {
    segment.taken.add(at);
    return {
      batch,
      done() {
        segment.taken.delete(at);
        if (!segment.isDropped) keepPosition();
      },
      giveBack: () => void returned.push({ batch, segment, at }),
    };
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
        segments.push(await scanSegment(directory, number, io, delivered));
      }
      await tidy();
      keepPosition();
    },

    async append(batch) {
      const size = frameHeaderBytes + batch.byteLength;
      while (byteLength() + size > maxBytes && segments.length > 0) {
        // Those that were delivered meanwhile go first.
        const before = segments.length;
        await tidy();
        if (segments.length < before) continue;
        if (whenFull === "drop_newest") {
          report.dropped("spool_full", batch.count, batch.byteLength);
          return false;
        }
        await dropOldest();
      }
      const segment = await segmentToWrite();
      await write(segment, batch);
      if (segment.frames === 0) segment.oldestAt = batch.oldestAt;
      segment.end += size;
      segment.records += batch.count;
      segment.bytes += batch.byteLength;
      segment.frames++;
      return true;
    },

    async sync() {
      const last = segments.at(-1);
      if (last?.file !== undefined) await last.file.sync();
      if (!namesChanged) return;
      await io.syncDirectory(directory);
      namesChanged = false;
    },

    async take() {
      const again = returned.shift();
      if (again !== undefined) return lend(again.segment, again.at, again.batch);
      for (;;) {
        const segment = segments.find((one) => one.frames > 0);
        if (segment === undefined) return undefined;
        const spooled = await readFrame(segment);
        await tidy();
        if (spooled !== undefined) return spooled;
      }
    },

    seal() {
      const last = segments.at(-1);
      if (last !== undefined) last.isSealed = true;
    },

    async close() {
      for (const { batch, segment } of returned.splice(0)) {
        if (segment.isDropped) report.dropped("spool_full", batch.count, batch.byteLength);
      }
      for (const segment of segments) if (segment.frames === 0 && segment.taken.size === 0) segment.isSealed = true;
      await tidy();
      await position.close();
      for (const segment of segments) {
        await segment.file?.close().catch(() => {});
        segment.file = undefined;
      }
    },

    get isEmpty() {
      return returned.length === 0 && segments.every(({ frames }) => frames === 0);
    },
    get byteLength() {
      return byteLength();
    },
    get records() {
      return [...segments, ...returned.map(({ batch }) => ({ records: batch.count }))].reduce(
        (sum, { records }) => sum + records,
        0,
      );
    },
    get oldestAt() {
      return returned[0]?.batch.oldestAt ?? segments.find(({ frames }) => frames > 0)?.oldestAt;
    },
  };
}

/** The system takes so many pieces in one call. */
const maxChunks = 512;

function withoutFirst(chunks: readonly Uint8Array[], bytes: number): readonly Uint8Array[] {
  let left = bytes;
  let index = 0;
  for (; index < chunks.length; index++) {
    const { length } = chunks[index] as Uint8Array;
    if (length > left) break;
    left -= length;
  }
  const rest = chunks.slice(index);
  return left === 0 ? rest : [(rest[0] as Uint8Array).subarray(left), ...rest.slice(1)];
}

function isBefore(a: SpoolPlace, b: SpoolPlace): boolean {
  return a.segment < b.segment || (a.segment === b.segment && a.offset < b.offset);
}
