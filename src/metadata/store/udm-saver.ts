import {
  type Gauge,
  type Histogram,
  type Counter,
  type Metrics,
  type Reporting,
  limitLog,
  type Log,
} from "../../base/report/index.ts";
import { createHash } from "node:crypto";
import { basename, dirname, join } from "node:path";
import {
  type KeepReason,
  type SaveStep,
  SaveError,
  errorCode,
  findLeftOvers,
  removeImage,
  replayImage,
  temporaryPath,
  type FileIo,
  type FileStamp,
  type SavePlan,
  type SavedFile,
} from "../../base/file/index.ts";
import type { FileThread } from "./file-thread-client.ts";
import { yieldToEventLoop } from "../model/apply-writes.ts";
import { PageFile, type PageWriter } from "./udm-pages.ts";
import type { UdmIndex } from "../model/udm-store.ts";

/** Counts and reports what a saver does. */
class SaverMetrics {
  readonly #saves: Counter;
  readonly #failures: Counter;
  readonly #alarms: Counter;
  readonly #seconds: Histogram;
  readonly #bytes: Gauge;
  readonly #kept: Counter;

  constructor(metrics: Metrics) {
    this.#saves = metrics.counter("netgloss_udm_saves_total", "Times the metadata file was replaced.");
    this.#failures = metrics.counter(
      "netgloss_udm_save_failures_total",
      "Times the metadata file could not be replaced, by the step that failed and its error.",
      ["step", "code"],
    );
    this.#alarms = metrics.counter(
      "netgloss_udm_save_alarms_total",
      "Steps that failed although the metadata file was replaced (a sync of its folder, its owner, its mode).",
      ["step", "code"],
    );
    this.#seconds = metrics.histogram(
      "netgloss_udm_save_seconds",
      "Time to replace the metadata file.",
      [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    );
    this.#bytes = metrics.gauge("netgloss_udm_file_bytes", "Size of the metadata file as last replaced.");
    this.#kept = metrics.counter(
      "netgloss_udm_files_kept_total",
      "Metadata files written by hand that a save replaced: kept as .orig, or as .edited-<time>.",
      { reason: ["original", "edited"] satisfies KeepReason[] },
    );
  }

  saved(size: number, ms: number): void {
    this.#saves.add();
    this.#seconds.observe(ms / 1000);
    this.#bytes.set(size);
  }

  failed(step: SaveStep, code: string): void {
    this.#failures.add(1, { step, code });
  }

  alarm(step: SaveStep, code: string): void {
    this.#alarms.add(1, { step, code });
  }

  kept(reason: KeepReason): void {
    this.#kept.add(1, { reason });
  }
}

/** Bytes written in one go by this thread. */
const maxWrite = 256 * 1024;
/** Bytes of entries given to a writer at a time; takes about a millisecond. */
const filledAtOnce = 1024 * 1024;

interface SaverOptions extends Omit<Reporting, "health"> {
  /** A file of this many bytes is a big one. */
  readonly threadBytes: number;
  /** The directory for an image of a file that cannot be replaced but overwritten; "" when there is no such directory. */
  readonly stateDirectory: string;
}

/** Writes states of the database to the file. */
export class UdmSaver {
  readonly #io: FileIo;
  readonly #thread: FileThread | undefined;
  readonly #options: SaverOptions;
  readonly #report: SaverMetrics;
  readonly #limited: Log;
  readonly #run: string;
  #number = 0;
  #removeFirst = false;
  #writer: PageWriter;
  /** The content that was read or written last. */
  #expected: FileStamp | undefined;
  #isOurs = true;
  #editedName: string | undefined;
  #isInPlace = false;
  /** Tells whether an image may have stayed, which would undo later saves at the next start. */
  #hasImage = false;

  /** @param thread saves big files; undefined to save all in this thread. */
  constructor(io: FileIo, thread: FileThread | undefined, options: SaverOptions) {
    this.#io = io;
    this.#thread = thread;
    this.#options = options;
    this.#report = new SaverMetrics(options.metrics);
    this.#limited = limitLog(options.log, options.clock);
    this.#run = Math.floor(options.clock.now()).toString(36);
    this.#writer = new PageFile(io, maxWrite);
  }

  /** Removes the temporary files of saves that were cut off. Under the lock only. Never throws. */
  async removeLeftOvers(target: string): Promise<void> {
    try {
      for (const path of await findLeftOvers(this.#io, target)) {
        await this.#io.unlink(path);
        this.#options.log.info({ path }, "removed a temporary file of an interrupted save");
      }
    } catch (error) {
      this.#limited.warn({ error }, "cannot remove temporary files in the folder of the metadata file");
    }
  }

  /** Returns the path where the next save keeps what a person has written to the file since it was read or saved. */
  editedPath(target: string): string {
    this.#editedName ??= `${basename(target)}.edited-${new Date(this.#options.clock.now()).toISOString().replaceAll(/[-:]/g, "")}`;
    return join(dirname(target), this.#editedName);
  }

  /**
   * The lines of the file on which entries begin, from 1 on. Undefined for all when the file is not as it was read or saved last.
   *
   * @param size how many entries there are. Not while a save runs. @throws the errors of the system
   */
  async linesOf(target: string, size: number, keys: readonly string[]): Promise<readonly (number | undefined)[]> {
    if (this.#expected === undefined) return keys.map(() => undefined);
    return this.#chooseWriter().linesOf({ path: target, stamp: this.#expected, size, keys });
  }

  /** Makes a file whole whose overwriting was cut off. Under the lock only. @throws the errors of the system. */
  async replay(target: string): Promise<void> {
    if (this.#options.stateDirectory === "") return;
    const state = await replayImage(this.#io, imagePathOf(this.#options.stateDirectory, target), target);
    if (state !== undefined)
      this.#options.log.warn({ target }, "the metadata file was restored: overwriting it had been interrupted");
  }

  /**
   * The file has been read: the next save is one of the entries that it has, and replaces this content.
   *
   * @param stamp undefined when there is no file.
   * @param isOurs whether it is byte for byte what a save of its entries would write, so that a rewrite loses nothing.
   * @param isInThread whether the thread has read it: it holds the bytes then if they are ours.
   */
  loaded(stamp: FileStamp | undefined, isOurs: boolean, isInThread: boolean): void {
    this.#expected = stamp;
    this.#isOurs = isOurs;
    // Bytes that a save would not write, or that are few, are rendered with the first save.
    if (isInThread && this.#thread !== undefined) this.#writer = this.#thread;
    else this.#writer.clear();
  }

  /**
   * @param changes what was done since the last save that succeeded, as a {@link ChangeLog} has it.
   * @param next the state with the changes; read whole only when the saver does not know the file's bytes.
   * @throws SaveError; the file is as it was.
   */
  async save(target: string, changes: Uint8Array, next: UdmIndex): Promise<FileStamp> {
    const start = this.#options.clock.monotonic();
    if (this.#removeFirst) await this.removeLeftOvers(target);
    this.#removeFirst = true;
    try {
      const saved = await this.#write(target, changes, next);
      this.#removeFirst = false;
      this.#noteSaved(saved, target, start);
      return saved.stamp;
    } catch (error) {
      const step = error instanceof SaveError ? error.step : "write";
      if (this.#options.stateDirectory !== "" && ["image", "overwrite", "thread"].includes(step)) this.#hasImage = true;
      this.#report.failed(step, errorCode(error));
      this.#limited.error({ step, error }, "the metadata file cannot be saved");
      throw error;
    }
  }

  /** A file that has once been big stays with the thread, which knows its bytes. */
  #chooseWriter(): PageWriter {
    if (
      this.#thread !== undefined &&
      this.#writer !== this.#thread &&
      (this.#expected?.size ?? 0) >= this.#options.threadBytes
    )
      this.#writer = this.#thread;
    return this.#writer;
  }

  #plan(target: string): SavePlan {
    return {
      target,
      temporary: temporaryPath(target, this.#run, this.#number++),
      asidePath: temporaryPath(target, this.#run, this.#number++),
      expected: this.#expected,
      originalPath: this.#isOurs ? undefined : `${target}.orig`,
      editedPath: this.editedPath(target),
      imagePath: this.#options.stateDirectory === "" ? undefined : imagePathOf(this.#options.stateDirectory, target),
      isInPlace: this.#isInPlace,
    };
  }

  async #write(target: string, changes: Uint8Array, next: UdmIndex): Promise<SavedFile> {
    const chosen = this.#chooseWriter();
    const isFirst = !chosen.isFilled;
    try {
      if (isFirst) await chosen.takeAll(renderAll(next));
      const saved = await chosen.save(this.#plan(target), isFirst ? new Uint8Array(0) : changes);
      return this.#hasImage && !saved.isInPlace ? await this.#withoutImage(target, saved) : saved;
    } catch (error) {
      // The pages were filled with a state that is given up.
      if (isFirst) chosen.clear();
      throw error;
    }
  }

  async #withoutImage(target: string, saved: SavedFile): Promise<SavedFile> {
    try {
      await removeImage(this.#io, imagePathOf(this.#options.stateDirectory, target));
      this.#hasImage = false;
      return saved;
    } catch (error) {
      return { ...saved, alarms: [...saved.alarms, { step: "image", code: errorCode(error), error }] };
    }
  }

  #noteSaved(saved: SavedFile, target: string, start: number): void {
    const { stamp, alarms, kept } = saved;
    if (saved.isInPlace && !this.#isInPlace) {
      this.#options.log.warn(
        { target },
        "the metadata file cannot be replaced, because it is a mount of its own: it is overwritten in place, and an interruption leaves it incomplete until a restart",
      );
    }
    this.#isInPlace = saved.isInPlace;
    if (this.#isInPlace) this.#hasImage = alarms.length > 0;
    this.#report.saved(stamp.size, this.#options.clock.monotonic() - start);
    this.#expected = stamp;
    this.#isOurs = true;
    this.#editedName = undefined;
    for (const { step, code, error } of alarms) {
      this.#report.alarm(step, code);
      this.#limited.error({ step, error }, "the metadata file is saved, but not all of it went well");
    }
    for (const { reason, path } of kept) {
      this.#report.kept(reason);
      if (reason === "original")
        this.#options.log.info({ path }, "kept a copy of the metadata file as it was written by hand");
      else
        this.#options.log.warn(
          { target, path },
          "the metadata file was changed by hand while the API owns it; what it held is kept, but not used",
        );
    }
  }
}

/** One file for each target. */
function imagePathOf(stateDirectory: string, target: string): string {
  return join(stateDirectory, `${fileNameOf(target)}.image`);
}

/** Returns how files in the state directory that belong to a metadata file begin: with a digest of its path. */
export function fileNameOf(target: string): string {
  return `metadata-${createHash("sha256").update(target).digest("hex").slice(0, 32)}`;
}

/** The text of all entries, with a yield to the event loop between its chunks. */
async function* renderAll(index: UdmIndex): AsyncGenerator<Uint8Array> {
  for (const chunk of index.render("all", "yaml", "", filledAtOnce)) {
    yield chunk;
    await yieldToEventLoop();
  }
}
