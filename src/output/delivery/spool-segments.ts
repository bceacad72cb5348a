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
  /** Open while it is read or written. */
  file: OpenFile | undefined;
  /** The end of its last whole frame: what lies behind it is not looked at. */
  end = 0;
  /** Frames before `readAt` that an earlier run has read and not delivered. */
  readonly earlier: { readonly at: number; readonly count: number; readonly payloadBytes: number }[] = [];
  /** The offset where the next frame that was not taken begins, but for those. */
  readAt = 0;
  /** Records, bytes of lines and frames that were not taken. */
  records = 0;
  bytes = 0;
  frames = 0;
  /** The arrival of its oldest record that was not taken when it was opened; milliseconds since the epoch. */
  oldestAt = 0;
  /** Offsets of frames that were taken and are not delivered. */
  readonly taken = new Set<number>();
  /** True if no more is written to it. */
  isSealed: boolean;
  /** True if it has bytes that are no frame: then it is set aside, not removed. */
  isDamaged = false;
  /** True if it was removed with what it held. */
  isDropped = false;

  /** @param file left out for one that an earlier run has written. */
  constructor(directory: string, number: number, file?: OpenFile) {
    this.number = number;
    this.path = segmentPath(directory, number);
    this.file = file;
    this.isSealed = file === undefined;
  }

  get isDelivered(): boolean {
    return this.isSealed && this.frames === 0 && this.taken.size === 0;
  }

  /** Adds a frame behind the others to what it counts. */
  count(frame: { readonly count: number; readonly oldestAt: number }, payloadBytes: number): void {
    if (this.frames === 0) this.oldestAt = frame.oldestAt;
    this.records += frame.count;
    this.bytes += payloadBytes;
    this.frames++;
  }

  /** Looks through what an earlier run has written. @param position what that run has delivered. */
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

  /** Returns the position that an earlier run has left; undefined when there is none that is whole. */
  async open(): Promise<SpoolPosition | undefined> {
    this.#file ??= await this.#io.openToUpdate(this.#path, spoolFileMode);
    const bytes = Buffer.alloc(2 * positionSlotBytes);
    const found = readPositionSlots(bytes.subarray(0, await this.#file.readAt(bytes, 0)));
    this.#writes = found?.write ?? 0;
    return found;
  }

  /** Keeps a position. One write is under way at a time, and only the last of those asked for meanwhile follows it. */
  keep(position: SpoolPosition): void {
    this.#wanted = position;
    if (this.#file !== undefined) this.#writing ??= this.#write(this.#file);
  }

  /** Waits for the last write and has it reach the disk. */
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

  /** Batches may be sent once more after a crash. */
  #failed(error: unknown): void {
    this.#report.failed("position", errorCode(error));
  }
}

/** Damaged segments that are kept for a person to look at. */
const maxSetAside = 4;
/** A segment that cannot be read is tried so often before it is given up: the disk may recover. */
const readTries = 3;
/** Codes of a disk for bytes that it cannot give, and of the system for a name that is no file. */
const unreadableCodes: ReadonlySet<string> = new Set(["EIO", "EBADMSG", "EUCLEAN", "EISDIR"]);

/** The files of a spool and its read position, which says what of them is delivered. */
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

  /** Oldest first. The last one is written to unless it is sealed. */
  get all(): readonly Segment[] {
    return this.#segments;
  }

  /** Finds what an earlier run has left. @throws what the system says; it can be tried again. */
  async open(): Promise<void> {
    const { directory, io } = this.#options;
    // This drops segments that a failed try has found.
    this.#segments = [];
    await io.makeFolder(directory, 0o750);
    const names = await io.list(directory);
    const numbers = names.flatMap((name) => {
      const digits = segmentName.exec(name)?.[1];
      return digits === undefined ? [] : Number(digits);
    });
    const delivered = await this.#position.open();
    // Else what is written next would be taken for delivered by the next run.
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

  /** Makes one behind the others. @throws what the system says. */
  async create(): Promise<Segment> {
    const { directory, io } = this.#options;
    const file = await io.openToUpdate(segmentPath(directory, this.#nextNumber), spoolFileMode);
    const segment = new Segment(directory, this.#nextNumber++, file);
    this.#segments.push(segment);
    this.#namesChanged = true;
    if (this.#segments.length === 1) this.keepPosition();
    return segment;
  }

  /** Has the names of new segments reach the disk. @throws what the system says. */
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

  /** Tells whether a segment is to be given up because this was its last try to be read. */
  isUnreadable(path: string, error: unknown): boolean {
    if (!unreadableCodes.has(errorCode(error))) return false;
    const tries = (this.#failures.get(path) ?? 0) + 1;
    if (tries < readTries) this.#failures.set(path, tries);
    else this.#failures.delete(path);
    return tries >= readTries;
  }

  /** Removes those of which all is delivered. */
  async tidy(): Promise<void> {
    for (const segment of this.#segments) if (segment.isDelivered) await this.leave(segment);
  }

  /** Writes down what is delivered, soon. */
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

/** Returns what is delivered; undefined where there is no segment. */
function positionOf(segments: readonly Segment[]): SpoolPosition | undefined {
  const reading = segments.find((segment) => segment.readAt < segment.end) ?? segments.at(-1);
  if (reading === undefined) return undefined;
  const readUpTo: SpoolOffset = { segment: reading.number, offset: reading.readAt };
  const open = segments.flatMap(({ number, earlier, taken }) =>
    [...earlier.map(({ at }) => at), ...taken].map((offset) => ({ segment: number, offset })),
  );
  if (open.length <= maxOpenFrames) return { readUpTo, open };
  // Frames for which there is no room are read again by the next run, with all that follows them.
  return { readUpTo: open.reduce((a, b) => (isBefore(b, a) ? b : a), readUpTo), open: [] };
}

function isBefore(a: SpoolOffset, b: SpoolOffset): boolean {
  return a.segment < b.segment || (a.segment === b.segment && a.offset < b.offset);
}
