import { join } from "node:path";
import { errorCode, syncFolder, type FileIo, type OpenFile } from "../../base/file/index.ts";
import { reasonOf } from "./output-adapter.ts";
import {
  frameHeaderBytes,
  maxOpenFrames,
  positionSlotBytes,
  readFrameHeader,
  readPositionSlots,
  spoolFileMode,
  writePositionSlot,
  type SpoolOffset,
  type SpoolOptions,
  type SpoolPosition,
} from "./spool-format.ts";

const segmentName = /^([0-9]{12})\.spool$/;

function segmentPath(directory: string, number: number): string {
  return join(directory, `${String(number).padStart(12, "0")}.spool`);
}

/** One file of a spool. */
export class Segment {
  readonly number: number;
  readonly path: string;
  /** The file while it is read or written. */
  file: OpenFile | undefined;
  /** The end of its last whole frame. Bytes after it are ignored. */
  end = 0;
  /** Frames before `readAt` that an earlier run has read and not delivered. */
  readonly earlier: { readonly at: number; readonly count: number; readonly payloadBytes: number }[] = [];
  /** The offset of the next frame to be taken, apart from `earlier`. */
  readAt = 0;
  /** Records, bytes of lines and frames that were not taken. */
  records = 0;
  bytes = 0;
  frames = 0;
  /** The arrival of its oldest record that was not taken when it was opened, milliseconds since the epoch. */
  oldestAt = 0;
  /** Offsets of frames that were taken and are not delivered. */
  readonly taken = new Set<number>();
  /** True if nothing more is written to it. */
  isSealed: boolean;
  /** True if it has bytes that are not a frame: it is then set aside, not removed. */
  isDamaged = false;
  /** True if it was removed together with its records. */
  isDropped = false;

  /** @param file absent for a segment of an earlier run. */
  constructor(directory: string, number: number, file?: OpenFile) {
    this.number = number;
    this.path = segmentPath(directory, number);
    this.file = file;
    this.isSealed = file === undefined;
  }

  get isDelivered(): boolean {
    return this.isSealed && this.frames === 0 && this.taken.size === 0;
  }

  /** Counts a frame that follows the others. */
  count(frame: { readonly count: number; readonly oldestAt: number }, payloadBytes: number): void {
    if (this.frames === 0) this.oldestAt = frame.oldestAt;
    this.records += frame.count;
    this.bytes += payloadBytes;
    this.frames++;
  }

  /** Scans a segment of an earlier run. @param position what that run has delivered. */
  async scan(io: FileIo, position: SpoolPosition | undefined): Promise<void> {
    const readUpTo = this.#readEnd(position);
    const open = new Set(position?.open.flatMap((one) => (one.segment === this.number ? one.offset : [])));
    const file = await io.openToUpdate(this.path, spoolFileMode);
    try {
      const { size } = await file.state();
      const header = Buffer.alloc(frameHeaderBytes);
      for (;;) {
        const at = this.end;
        const frame = readFrameHeader(header.subarray(0, await file.readAt(header, at)));
        const next = at + frameHeaderBytes + (frame?.payloadBytes ?? 0);
        if (frame === undefined || next > size) break;
        this.end = next;
        const { count, payloadBytes } = frame;
        if (at < readUpTo) {
          this.readAt = next;
          if (!open.has(at)) continue;
          this.earlier.push({ at, count, payloadBytes });
        }
        this.count(frame, payloadBytes);
      }
      this.isDamaged = this.end < size;
    } finally {
      await file.close().catch(() => {});
    }
  }

  async close(): Promise<void> {
    await this.file?.close().catch(() => {});
    this.file = undefined;
  }

  #readEnd(position: SpoolPosition | undefined): number {
    if (position === undefined || this.number > position.readUpTo.segment) return 0;
    return this.number < position.readUpTo.segment ? Infinity : position.readUpTo.offset;
  }
}

/** The durable read position of a spool. */
class PositionFile {
  readonly #path: string;
  readonly #io: FileIo;
  readonly #report: SpoolOptions["report"];
  #file: OpenFile | undefined;
  #writes = 0;
  #wanted: SpoolPosition | undefined;
  #writing: Promise<void> | undefined;

  constructor({ directory, io, report }: SpoolOptions) {
    this.#path = join(directory, "position");
    this.#io = io;
    this.#report = report;
  }

  /** Returns the position of an earlier run; undefined when there is none that is whole. */
  async open(): Promise<SpoolPosition | undefined> {
    this.#file ??= await this.#io.openToUpdate(this.#path, spoolFileMode);
    const bytes = Buffer.alloc(2 * positionSlotBytes);
    const found = readPositionSlots(bytes.subarray(0, await this.#file.readAt(bytes, 0)));
    this.#writes = found?.write ?? 0;
    return found;
  }

  /** Writes a position. One write is under way at a time; of the positions requested meanwhile, only the last one is written after it. */
  keep(position: SpoolPosition): void {
    this.#wanted = position;
    if (this.#file !== undefined) this.#writing ??= this.#write(this.#file);
  }

  /** Waits for the last write and syncs it to disk. */
  async close(): Promise<void> {
    await this.#writing;
    await this.#file?.syncData().catch((error: unknown) => this.#failed(error));
    await this.#file?.close().catch(() => {});
    this.#file = undefined;
  }

  async #write(file: OpenFile): Promise<void> {
    while (this.#wanted !== undefined) {
      const position = this.#wanted;
      this.#wanted = undefined;
      this.#writes++;
      const slot = writePositionSlot(this.#writes, position);
      await file.writeAt([slot], (this.#writes % 2) * positionSlotBytes).catch((error: unknown) => this.#failed(error));
    }
    this.#writing = undefined;
  }

  /** Notes a failure: batches may be sent once more after a crash. */
  #failed(error: unknown): void {
    this.#report.failed("position", errorCode(error));
  }
}

/** The number of damaged segments that are kept for inspection. */
const maxSetAside = 4;
/** The number of tries to read a segment before it is given up: the disk may recover. */
const readTries = 3;
/** Codes for bytes that a disk cannot read, and for a name that is not a file. */
const unreadableCodes: ReadonlySet<string> = new Set(["EIO", "EBADMSG", "EUCLEAN", "EISDIR"]);

/** The files of a spool and its read position, which records what is delivered. */
export class SpoolSegments {
  readonly #options: SpoolOptions;
  readonly #position: PositionFile;
  #segments: Segment[] = [];
  #nextNumber = 1;
  /** True if names in the directory have changed since the last sync. */
  #namesChanged = false;
  /** Failed tries to read a segment, by its path. */
  readonly #failures = new Map<string, number>();

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.#position = new PositionFile(options);
  }

  /** All segments, oldest first. The last one is written to unless it is sealed. */
  get all(): readonly Segment[] {
    return this.#segments;
  }

  /** Finds the segments of an earlier run. @throws the system's error; it can be tried again. */
  async open(): Promise<void> {
    const { directory, io } = this.#options;
    // Discard segments that a failed try has found.
    this.#segments = [];
    await io.makeFolder(directory, 0o750);
    const names = await io.list(directory);
    const numbers = names.flatMap((name) => {
      const digits = segmentName.exec(name)?.[1];
      return digits === undefined ? [] : Number(digits);
    });
    const delivered = await this.#position.open();
    // With a lower number the next run would take new batches for delivered.
    this.#nextNumber = (delivered?.readUpTo.segment ?? 0) + 1;
    for (const number of numbers.toSorted((a, b) => a - b)) {
      this.#nextNumber = Math.max(this.#nextNumber, number + 1);
      const segment = new Segment(directory, number);
      try {
        await segment.scan(io, delivered);
        this.#segments.push(segment);
      } catch (error) {
        if (!this.isUnreadable(segment.path, error)) throw error;
        await this.#setAside(segment.path);
      }
    }
    await this.tidy();
    this.keepPosition();
  }

  /** Creates a segment after the others. @throws the system's error. */
  async create(): Promise<Segment> {
    const { directory, io } = this.#options;
    const file = await io.openToUpdate(segmentPath(directory, this.#nextNumber), spoolFileMode);
    const segment = new Segment(directory, this.#nextNumber++, file);
    this.#segments.push(segment);
    this.#namesChanged = true;
    if (this.#segments.length === 1) this.keepPosition();
    return segment;
  }

  /** Syncs the names of new segments to disk. @throws the system's error. */
  async syncNames(): Promise<void> {
    if (!this.#namesChanged) return;
    await syncFolder(this.#options.io, this.#options.directory);
    this.#namesChanged = false;
  }

  /** Removes a segment, or sets it aside when it is damaged. */
  async leave(segment: Segment): Promise<void> {
    const { report, log } = this.#options;
    const { path } = segment;
    this.#segments = this.#segments.filter((one) => one !== segment);
    this.#namesChanged = true;
    await segment.close();
    if (!segment.isDamaged) {
      await this.#remove(path);
      return;
    }
    try {
      await this.#setAside(path);
    } catch (error) {
      report.failed("set_aside", errorCode(error));
      log.warn({ path, reason: reasonOf(error) }, "a damaged segment of the spool cannot be set aside");
    }
  }

  /** Counts a failed try to read a segment, and reports whether it was the last one. */
  isUnreadable(path: string, error: unknown): boolean {
    if (!unreadableCodes.has(errorCode(error))) return false;
    const tries = (this.#failures.get(path) ?? 0) + 1;
    if (tries < readTries) this.#failures.set(path, tries);
    else this.#failures.delete(path);
    return tries >= readTries;
  }

  /** Removes segments that are delivered completely. */
  async tidy(): Promise<void> {
    for (const segment of this.#segments) if (segment.isDelivered) await this.leave(segment);
  }

  /** Writes the delivered position soon. */
  keepPosition(): void {
    const kept = positionOf(this.#segments);
    if (kept !== undefined) this.#position.keep(kept);
  }

  async close(): Promise<void> {
    await this.tidy();
    await this.#position.close();
    for (const segment of this.#segments) await segment.close();
  }

  async #setAside(path: string): Promise<void> {
    const { directory, io, report, log } = this.#options;
    report.setAside();
    log.warn(
      { path },
      "a segment of the spool is damaged or not ours; what can be read is used, the file is set aside",
    );
    await io.rename(path, `${path}.damaged`);
    const aside = (await io.list(directory)).filter((name) => name.endsWith(".damaged")).toSorted();
    for (const name of aside.slice(0, -maxSetAside)) await this.#remove(`${directory}/${name}`);
  }

  async #remove(path: string): Promise<void> {
    const { io, report, log } = this.#options;
    try {
      await io.unlink(path);
    } catch (error) {
      report.failed("remove", errorCode(error));
      log.warn({ path, reason: reasonOf(error) }, "a file of the spool cannot be removed");
    }
  }
}

/** Returns the delivered position; undefined when there is no segment. */
function positionOf(segments: readonly Segment[]): SpoolPosition | undefined {
  const reading = segments.find((segment) => segment.readAt < segment.end) ?? segments.at(-1);
  if (reading === undefined) return undefined;
  const readUpTo: SpoolOffset = { segment: reading.number, offset: reading.readAt };
  const open = segments.flatMap(({ number, earlier, taken }) =>
    [...earlier.map(({ at }) => at), ...taken].map((offset) => ({ segment: number, offset })),
  );
  if (open.length <= maxOpenFrames) return { readUpTo, open };
  // There is no room for these frames: the next run reads them again, with all that follows.
  return { readUpTo: open.reduce((a, b) => (isBefore(b, a) ? b : a), readUpTo), open: [] };
}

function isBefore(a: SpoolOffset, b: SpoolOffset): boolean {
  return a.segment < b.segment || (a.segment === b.segment && a.offset < b.offset);
}
