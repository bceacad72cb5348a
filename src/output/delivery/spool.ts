import type { Batch } from "./batch.ts";
import { frameHeaderBytes, isPayloadOf, readFrameHeader, writeFrameHeader, type FrameHeader } from "./spool-format.ts";
import type { SpoolFile, SpoolIo } from "./spool-format.ts";
import type { Log } from "../../base/report/index.ts";
import { errorCode } from "./output-adapter.ts";
import type { Segment } from "./spool-segments.ts";
import { createSpoolSegments } from "./spool-segments.ts";

/** The system takes this many pieces in one call. */
const maxChunks = 512;

/** The bytes that a batch takes in a segment. */
function frameBytes(batch: Pick<Batch, "byteLength">): number {
  return frameHeaderBytes + batch.byteLength;
}

/** Writes a batch at a place of a file. @throws what the system says; some of the frame may be written then. */
async function writeFrame(file: SpoolFile, at: number, batch: Batch): Promise<void> {
  let chunks: readonly Uint8Array[] = [writeFrameHeader(batch), ...batch.chunks];
  for (let to = at; chunks.length > 0;) {
    const taken = await file.write(chunks.slice(0, maxChunks), to);
    if (taken === 0) throw new Error("the file takes no more bytes");
    to += taken;
    chunks = withoutFirst(chunks, taken);
  }
}

/** What lies at a place of a segment. */
interface ReadFrame {
  readonly header: FrameHeader;
  /** Undefined when the bytes are not those that were written. */
  readonly batch: Batch | undefined;
}

/** @returns undefined when no frame begins at this place. @throws what the system says. */
async function readFrame(file: SpoolFile, at: number): Promise<ReadFrame | undefined> {
  const bytes = Buffer.alloc(frameHeaderBytes);
  const header = readFrameHeader(bytes.subarray(0, await file.read(bytes, at)));
  if (header === undefined) return undefined;
  const payload = Buffer.allocUnsafeSlow(header.payloadBytes);
  const length = await file.read(payload, at + frameHeaderBytes);
  if (!isPayloadOf(header, payload.subarray(0, length))) return { header, batch: undefined };
  const { id, count, oldestAt } = header;
  return { header, batch: { id, chunks: [payload], count, byteLength: payload.length, oldestAt } };
}

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

export interface SpoolOptions {
  readonly directory: string;
  readonly io: SpoolIo;
  /** All its segments have no more bytes than this, but for one batch. */
  readonly maxBytes: number;
  /** A segment that has reached this size is left for another. */
  readonly segmentBytes: number;
  /** What happens to a batch for which there is no room: the oldest segment goes, or the batch. */
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

export function createSpool(options: SpoolOptions): Spool {
  const { io, maxBytes, segmentBytes, whenFull, report } = options;
  const segments = createSpoolSegments(options);
  const returned: { readonly batch: Batch; readonly segment: Segment; readonly at: number }[] = [];

  const byteLength = (): number => segments.all().reduce((sum, segment) => sum + segment.end, 0);

  const dropOldest = async (): Promise<void> => {
    const [oldest] = segments.all();
    if (oldest === undefined) return;
    report.dropped("spool_full", oldest.records, oldest.bytes);
    oldest.isDropped = true;
    for (const one of returned.splice(0)) {
      if (one.segment === oldest) report.dropped("spool_full", one.batch.count, one.batch.byteLength);
      else returned.push(one);
    }
    await segments.leave(oldest);
    segments.keepPosition();
  };

  /** @returns false when there is no room for this many bytes and the newest is to be dropped. */
  const makeRoom = async (size: number): Promise<boolean> => {
    while (byteLength() + size > maxBytes && segments.all().length > 0) {
      // Those that were delivered meanwhile go first.
      const before = segments.all().length;
      await segments.tidy();
      if (segments.all().length < before) continue;
      if (whenFull === "drop_newest") return false;
      await dropOldest();
    }
    return true;
  };

  const segmentToWrite = async (): Promise<Segment> => {
    const last = segments.all().at(-1);
    if (last !== undefined && !last.isSealed && last.end < segmentBytes) return last;
    if (last !== undefined) last.isSealed = true;
    await segments.tidy();
    return segments.create();
  };

  const write = async (segment: Segment, batch: Batch): Promise<void> => {
    const file = (segment.file ??= await io.open(segment.path));
    try {
      await writeFrame(file, segment.end, batch);
    } catch (error) {
      // What is written of the frame would be taken for damage by the next run.
      const isCut = await file.truncate(segment.end).then(
        () => true,
        () => false,
      );
      if (!isCut) segment.isDamaged = true;
      // A full disk may never have room for the rest of it: it goes when what it has is delivered, and makes room.
      segment.isSealed = true;
      throw error;
    }
  };

  const lost = (segment: Segment, records: number, bytes: number): void => {
    segment.isDamaged = true;
    report.dropped("spool_damaged", records, bytes);
  };

  /** The rest of a segment cannot be read. */
  const giveUp = (segment: Segment): void => {
    lost(segment, segment.records, segment.bytes);
    segment.isSealed = true;
    segment.earlier.length = 0;
    segment.readAt = segment.end;
    segment.records = segment.bytes = segment.frames = 0;
  };

  const readNext = async (segment: Segment): Promise<SpooledBatch | undefined> => {
    const [earlier] = segment.earlier;
    const at = earlier?.at ?? segment.readAt;
    let frame: ReadFrame | undefined;
    try {
      segment.file ??= await io.open(segment.path);
      frame = await readFrame(segment.file, at);
    } catch (error) {
      if (!segments.isUnreadable(segment.path, error)) throw error;
      report.failed("read", errorCode(error));
    }
    if (frame === undefined) {
      // It was one when the segment was looked through.
      giveUp(segment);
      return undefined;
    }
    const { header, batch } = frame;
    if (earlier === undefined) segment.readAt = at + frameHeaderBytes + header.payloadBytes;
    else segment.earlier.shift();
    segment.records -= header.count;
    segment.bytes -= header.payloadBytes;
    segment.frames--;
    segment.oldestAt = header.oldestAt;
    if (batch !== undefined) return lend(segment, at, batch);
    lost(segment, header.count, header.payloadBytes);
    return undefined;
  };

  const lend = (segment: Segment, at: number, batch: Batch): SpooledBatch => {
    segment.taken.add(at);
    return {
      batch,
      done() {
        segment.taken.delete(at);
        if (!segment.isDropped) segments.keepPosition();
      },
      giveBack: () => void returned.push({ batch, segment, at }),
    };
  };

  return {
    open: () => segments.open(),

    async append(batch) {
      const size = frameBytes(batch);
      if (!(await makeRoom(size))) {
        report.dropped("spool_full", batch.count, batch.byteLength);
        return false;
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
      await segments.all().at(-1)?.file?.sync();
      await segments.syncNames();
    },

    async take() {
      const again = returned.shift();
      if (again !== undefined) return lend(again.segment, again.at, again.batch);
      for (;;) {
        const segment = segments.all().find((one) => one.frames > 0);
        if (segment === undefined) {
          // What was delivered meanwhile makes room.
          await segments.tidy();
          return undefined;
        }
        const spooled = await readNext(segment);
        await segments.tidy();
        if (spooled !== undefined) return spooled;
      }
    },

    seal() {
      const last = segments.all().at(-1);
      if (last !== undefined) last.isSealed = true;
    },

    async close() {
      for (const { batch, segment } of returned.splice(0)) {
        if (segment.isDropped) report.dropped("spool_full", batch.count, batch.byteLength);
      }
      for (const one of segments.all()) if (one.frames === 0 && one.taken.size === 0) one.isSealed = true;
      await segments.close();
    },

    get isEmpty() {
      return returned.length === 0 && segments.all().every(({ frames }) => frames === 0);
    },
    get byteLength() {
      return byteLength();
    },
    get records() {
      const waiting = segments.all().reduce((sum, { records }) => sum + records, 0);
      return returned.reduce((sum, { batch }) => sum + batch.count, waiting);
    },
    get oldestAt() {
      return returned[0]?.batch.oldestAt ?? segments.all().find(({ frames }) => frames > 0)?.oldestAt;
    },
  };
}
