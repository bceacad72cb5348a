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

/** The metrics of a saver. */
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

/** The most bytes that this thread writes in one call. */
const maxWrite = 256 * 1024;
/** The bytes of entries that a writer gets at a time, which takes about a millisecond. */
const filledAtOnce = 1024 * 1024;

interface SaverOptions extends Omit<Reporting, "health"> {
  /** The size in bytes from which a file counts as big. */
  readonly threadBytes: number;
  /** The directory for the image of a file that can only be overwritten, not replaced; "" where there is none. */
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
  /** The stamp of the content that was read or written last. */
  #expected: FileStamp | undefined;
  #isOurs = true;
  #editedName: string | undefined;
  #isInPlace = false;
  /** True where an image may be left over. At the next start it would undo later saves. */
  #hasImage = false;

  /** @param thread saves big files. If undefined, this thread saves all files. */
  constructor(io: FileIo, thread: FileThread | undefined, options: SaverOptions) {
    this.#io = io;
    this.#thread = thread;
    this.#options = options;
    this.#report = new SaverMetrics(options.metrics);
    this.#limited = limitLog(options.log, options.clock);
    this.#run = Math.floor(options.clock.now()).toString(36);
    this.#writer = new PageFile(io, maxWrite);
  }

  /** Removes the temporary files of interrupted saves. The caller must hold the lock. It never throws. */
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

  /** Returns the path under which the next save keeps the edits of a person since the file was read or saved. */
  editedPath(target: string): string {
    this.#editedName ??= `${basename(target)}.edited-${new Date(this.#options.clock.now()).toISOString().replaceAll(/[-:]/g, "")}`;
    return join(dirname(target), this.#editedName);
  }

  /**
   * Returns the lines of the file on which entries begin, from 1 on. Undefined for all where the file has changed since it was read or saved.
   *
   * It must not run during a save.
   *
   * @param size the number of entries. @throws the errors of the system
   */
  async linesOf(target: string, size: number, keys: readonly string[]): Promise<readonly (number | undefined)[]> {
    if (this.#expected === undefined) return keys.map(() => undefined);
    return this.#chooseWriter().linesOf({ path: target, stamp: this.#expected, size, keys });
  }

  /** Completes an interrupted overwrite of a file. The caller must hold the lock. @throws the errors of the system. */
  async replay(target: string): Promise<void> {
    if (this.#options.stateDirectory === "") return;
    const state = await replayImage(this.#io, imagePathOf(this.#options.stateDirectory, target), target);
    if (state !== undefined)
      this.#options.log.warn({ target }, "the metadata file was restored: overwriting it had been interrupted");
  }

  /**
   * Records that the file was read. The next save starts from its entries, and replaces this content.
   *
   * @param stamp the stamp of the content; undefined where there is no file.
   * @param isOurs true where a save of its entries would write the same bytes, so that a rewrite loses nothing.
   * @param isInThread true where the thread has read the file. It then has the bytes, if `isOurs`.
   */
  loaded(stamp: FileStamp | undefined, isOurs: boolean, isInThread: boolean): void {
    this.#expected = stamp;
    this.#isOurs = isOurs;
    // Other bytes, and those of small files, are rendered at the first save.
    if (isInThread && this.#thread !== undefined) this.#writer = this.#thread;
    else this.#writer.clear();
  }

  /**
   * Saves the file.
   *
   * @param changes the changes since the last successful save, from a {@link ChangeLog}.
   * @param next the state with the changes. It is read completely only when the saver does not have the file's bytes.
   * @throws SaveError and leaves the file unchanged.
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

  /** Returns the writer. A file that was big once stays with the thread, which has its bytes. */
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
      // The pages contain a state that is discarded.
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

/** Returns the path of the image of a target. Each target has its own. */
function imagePathOf(stateDirectory: string, target: string): string {
  return join(stateDirectory, `${fileNameOf(target)}.image`);
}

/** Returns the beginning of the names of a metadata file's files in the state directory: a digest of its path. */
export function fileNameOf(target: string): string {
  return `metadata-${createHash("sha256").update(target).digest("hex").slice(0, 32)}`;
}

/** Yields the text of all entries in chunks, and lets the event loop run in between. */
async function* renderAll(index: UdmIndex): AsyncGenerator<Uint8Array> {
  for (const chunk of index.render("all", "yaml", "", filledAtOnce)) {
    yield chunk;
    await yieldToEventLoop();
  }
}
