import { errorCode, type OpenFile } from "../../base/file/index.ts";
import type { Batch, TakenBatch } from "./batch.ts";
import {
  frameHeaderBytes,
  isPayloadOf,
  readFrameHeader,
  writeFrameHeader,
  type FrameHeader,
  spoolFileMode,
  type SpoolOptions,
} from "./spool-format.ts";
import { SpoolSegments, type Segment } from "./spool-segments.ts";

/** The number of chunks that the system takes in one call. */
const maxChunks = 512;

/** Writes a batch at an offset of a file. @throws the system's error; a part of the frame may be written. */
async function writeFrame(file: OpenFile, at: number, batch: Batch): Promise<void> {
  let chunks: readonly Uint8Array[] = [writeFrameHeader(batch), ...batch.chunks];
  for (let to = at; chunks.length > 0;) {
    const taken = await file.writeAt(chunks.slice(0, maxChunks), to);
    if (taken === 0) throw new Error("the file takes no more bytes");
    to += taken;
    chunks = withoutFirst(chunks, taken);
  }
}

/**
 * Reads a frame.
 *
 * @returns a frame without a batch when the bytes differ from those written; undefined when no frame starts at this offset.
 * @throws the system's error.
 */
async function readFrame(
  file: OpenFile,
  at: number,
): Promise<{ readonly header: FrameHeader; readonly batch: Batch | undefined } | undefined> {
  const bytes = Buffer.alloc(frameHeaderBytes);
  const header = readFrameHeader(bytes.subarray(0, await file.readAt(bytes, at)));
  if (header === undefined) return undefined;
  const payload = Buffer.allocUnsafeSlow(header.payloadBytes);
  const length = await file.readAt(payload, at + frameHeaderBytes);
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

/**
 * Batches on disk, first in, first out. `append`, `sync`, `take` and `close` are called one at a time.
 *
 * A batch that is given back, or that was taken and not delivered when the process ended, is read again. It leaves the spool
 * only by `done`, or when it is dropped.
 */
export class Spool {
  readonly #options: SpoolOptions;
  readonly #segments: SpoolSegments;
  readonly #returned: { readonly batch: Batch; readonly segment: Segment; readonly at: number }[] = [];

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.#segments = new SpoolSegments(options);
  }

  /** True if `take` would find nothing. */
  get isEmpty(): boolean {
    return this.#returned.length === 0 && this.#segments.all.every(({ frames }) => frames === 0);
  }

  /** Bytes on disk. */
  get byteLength(): number {
    return this.#segments.all.reduce((sum, { end }) => sum + end, 0);
  }

  /** Records that were not taken. */
  get records(): number {
    const waiting = this.#segments.all.reduce((sum, { records }) => sum + records, 0);
    return this.#returned.reduce((sum, { batch }) => sum + batch.count, waiting);
  }

  /** The arrival of the oldest record that was not taken, as far as it is known; milliseconds since the epoch. */
  get oldestAt(): number | undefined {
    return this.#returned[0]?.batch.oldestAt ?? this.#segments.all.find(({ frames }) => frames > 0)?.oldestAt;
  }

  /** Reads the batches of an earlier run; to be called before all else. @throws the system's error; it can be tried again. */
  open(): Promise<void> {
    return this.#segments.open();
  }

  /**
   * Appends a batch. @returns false when there is no room and the newest is to be dropped; it is counted.
   *
   * @throws the system's error; nothing of the batch is kept then.
   */
  async append(batch: Batch): Promise<boolean> {
    const size = frameHeaderBytes + batch.byteLength;
    if (!(await this.#makeRoom(size))) {
      this.#options.report.dropped("spool_full", batch.count, batch.byteLength);
      return false;
    }
    const segment = await this.#segmentToWrite();
    await this.#write(segment, batch);
    segment.count(batch, batch.byteLength);
    segment.end += size;
    return true;
  }

  /** Syncs all appended batches to disk. */
  async sync(): Promise<void> {
    await this.#segments.all.at(-1)?.file?.syncData();
    await this.#segments.syncNames();
  }

  /** Starts a new segment with the next batch. */
  seal(): void {
    const last = this.#segments.all.at(-1);
    if (last !== undefined) last.isSealed = true;
  }

  /** Takes the oldest batch that was not taken; undefined when there is none. @throws the system's error; it can be tried again. */
  async take(): Promise<TakenBatch | undefined> {
    const again = this.#returned.shift();
    if (again !== undefined) return this.#taken(again.segment, again.at, again.batch);
    for (;;) {
      const segment = this.#segments.all.find((one) => one.frames > 0);
      const taken = segment && (await this.#readNext(segment));
      // Batches that were delivered meanwhile make room.
      await this.#segments.tidy();
      if (segment === undefined || taken !== undefined) return taken;
    }
  }

  async close(): Promise<void> {
    for (const { batch, segment } of this.#returned.splice(0)) {
      if (segment.isDropped) this.#options.report.dropped("spool_full", batch.count, batch.byteLength);
    }
    for (const one of this.#segments.all) if (one.frames === 0 && one.taken.size === 0) one.isSealed = true;
    await this.#segments.close();
  }

  /** Makes room for `size` bytes. @returns false when there is none and the newest is to be dropped. */
  async #makeRoom(size: number): Promise<boolean> {
    const segments = this.#segments;
    while (this.byteLength + size > this.#options.maxBytes && segments.all.length > 0) {
      // Remove segments that were delivered meanwhile first.
      const before = segments.all.length;
      await segments.tidy();
      if (segments.all.length < before) continue;
      if (this.#options.whenFull === "drop_newest") return false;
      await this.#dropOldest();
    }
    return true;
  }

  async #dropOldest(): Promise<void> {
    const [oldest] = this.#segments.all;
    if (oldest === undefined) return;
    const { report } = this.#options;
    report.dropped("spool_full", oldest.records, oldest.bytes);
    oldest.isDropped = true;
    for (const one of this.#returned.splice(0)) {
      if (one.segment === oldest) report.dropped("spool_full", one.batch.count, one.batch.byteLength);
      else this.#returned.push(one);
    }
    await this.#segments.leave(oldest);
    this.#segments.keepPosition();
  }

  async #segmentToWrite(): Promise<Segment> {
    const last = this.#segments.all.at(-1);
    if (last !== undefined && !last.isSealed && last.end < this.#options.segmentBytes) return last;
    if (last !== undefined) last.isSealed = true;
    await this.#segments.tidy();
    return this.#segments.create();
  }

  async #write(segment: Segment, batch: Batch): Promise<void> {
    const file = (segment.file ??= await this.#options.io.openToUpdate(segment.path, spoolFileMode));
    try {
      await writeFrame(file, segment.end, batch);
    } catch (error) {
      // The next run would take the partial frame for damage.
      await file.truncate(segment.end).catch(() => (segment.isDamaged = true));
      // A full disk may never have room for more in this segment. Sealed, it is removed once delivered, which makes room.
      segment.isSealed = true;
      throw error;
    }
  }

  /** Reads the next frame of a segment; undefined: the frame or the rest of the segment is lost. */
  async #readNext(segment: Segment): Promise<TakenBatch | undefined> {
    const { io, report } = this.#options;
    const [earlier] = segment.earlier;
    const at = earlier?.at ?? segment.readAt;
    let frame: Awaited<ReturnType<typeof readFrame>>;
    try {
      segment.file ??= await io.openToUpdate(segment.path, spoolFileMode);
      frame = await readFrame(segment.file, at);
    } catch (error) {
      if (!this.#segments.isUnreadable(segment.path, error)) throw error;
      report.failed("read", errorCode(error));
    }
    if (frame === undefined) {
      // There was a frame here when the segment was scanned.
      this.#giveUp(segment);
      return undefined;
    }
    const { header, batch } = frame;
    if (earlier === undefined) segment.readAt = at + frameHeaderBytes + header.payloadBytes;
    else segment.earlier.shift();
    segment.records -= header.count;
    segment.bytes -= header.payloadBytes;
    segment.frames--;
    segment.oldestAt = header.oldestAt;
    if (batch !== undefined) return this.#taken(segment, at, batch);
    this.#lost(segment, header.count, header.payloadBytes);
    return undefined;
  }

  /** Gives up the rest of a segment, which cannot be read. */
  #giveUp(segment: Segment): void {
    this.#lost(segment, segment.records, segment.bytes);
    segment.isSealed = true;
    segment.earlier.length = 0;
    segment.readAt = segment.end;
    segment.records = segment.bytes = segment.frames = 0;
  }

  #lost(segment: Segment, records: number, bytes: number): void {
    segment.isDamaged = true;
    this.#options.report.dropped("spool_damaged", records, bytes);
  }

  #taken(segment: Segment, at: number, batch: Batch): TakenBatch {
    segment.taken.add(at);
    return {
      batch,
      done: () => {
        segment.taken.delete(at);
        if (!segment.isDropped) this.#segments.keepPosition();
      },
      giveBack: () => void this.#returned.push({ batch, segment, at }),
    };
  }
}
