import { createHash } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { type Metrics, limitLog, type Clock, type Log } from "../../base/report/index.ts";
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
import { nextTurn } from "../model/apply-writes.ts";
import { createPageWriter, type PageWriter } from "./page-writer.ts";
import type { UdmIndex } from "../model/udm-store.ts";

/** What a saver reports. */
interface SaverMetrics {
  saved(bytes: number, ms: number): void;
  failed(step: SaveStep, code: string): void;
  alarm(step: SaveStep, code: string): void;
  kept(reason: KeepReason): void;
}

function createSaverMetrics(metrics: Metrics): SaverMetrics {
  const saves = metrics.counter("netgloss_udm_saves_total", "Times the metadata file was replaced.");
  const failures = metrics.counter(
    "netgloss_udm_save_failures_total",
    "Times the metadata file could not be replaced, by the step that failed and its error.",
    ["step", "code"],
  );
  const alarms = metrics.counter(
    "netgloss_udm_save_alarms_total",
    "Steps that failed although the metadata file was replaced (a sync of its folder, its owner, its mode).",
    ["step", "code"],
  );
  const seconds = metrics.histogram(
    "netgloss_udm_save_seconds",
    "Time to replace the metadata file.",
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  );
  const bytes = metrics.gauge("netgloss_udm_file_bytes", "Size of the metadata file as last replaced.");
  const kept = metrics.counter(
    "netgloss_udm_files_kept_total",
    "Metadata files written by hand that a save replaced: kept as .orig, or as .edited-<time>.",
    { reason: ["original", "edited"] satisfies KeepReason[] },
  );
  return {
    saved(size, ms) {
      saves.add();
      seconds.observe(ms / 1000);
      bytes.set(size);
    },
    failed: (step, code) => failures.add(1, { step, code }),
    alarm: (step, code) => alarms.add(1, { step, code }),
    kept: (reason) => kept.add(1, { reason }),
  };
}

/** Bytes written in one go by this thread. */
const maxWrite = 256 * 1024;
/** Bytes of entries given to a writer at a time; takes about a millisecond. */
const filledAtOnce = 1024 * 1024;

/** Writes states of the database to the file. */
export interface UdmSaver {
  /**
   * @param changes what was done since the last save that succeeded, as a {@link ChangeLog} has it.
   * @param next the state with the changes; read whole only when the saver does not know the file's bytes.
   * @throws SaveError; the file is as it was.
   */
  save(target: string, changes: Uint8Array, next: UdmIndex): Promise<FileStamp>;
  /** Where the next save keeps what a person has written to the file since it was read or saved. */
  editedPath(target: string): string;
  /**
   * The lines of the file on which entries begin, from 1 on. Undefined for all when the file is not as it was read or saved last.
   *
   * @param size how many entries there are. Not while a save runs. @throws the errors of the system
   */
  linesOf(target: string, size: number, keys: readonly string[]): Promise<readonly (number | undefined)[]>;
  /** The file has been read: the next save is one of the entries that it has, and replaces this content. */
  loaded(file: ReadFile): void;
  /** Makes a file whole whose overwriting was cut off. Under the lock only. @throws the errors of the system. */
  replay(target: string): Promise<void>;
  /** Removes the temporary files of saves that were cut off. Under the lock only. Never throws. */
  removeLeftOvers(target: string): Promise<void>;
}

/** What was found in the file. */
export interface ReadFile {
  /** Undefined when there is no file. */
  readonly stamp: FileStamp | undefined;
  /** Whether it is byte for byte what a save of its entries would write, so that a rewrite loses nothing. */
  readonly isOurs: boolean;
  /** Whether the thread has read it: it holds the bytes then if they are ours. */
  readonly isInThread: boolean;
}

export interface UdmSaverOptions {
  readonly io: FileIo;
  /** Saves big files; undefined to save all in this thread. */
  readonly thread: FileThread | undefined;
  /** A file of this many bytes is a big one. */
  readonly threadBytes: number;
  /** Where an image of a file may lie that cannot be replaced but overwritten; "" when there is no such place. */
  readonly stateDirectory: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

export function createUdmSaver(options: UdmSaverOptions): UdmSaver {
  const { io, thread, threadBytes, stateDirectory, clock, log } = options;
  const report = createSaverMetrics(options.metrics);
  const limited = limitLog(log, clock);
  const run = Math.floor(clock.now()).toString(36);
  let number = 0;
  let removeFirst = false;
  let writer: PageWriter = createPageWriter(io, maxWrite);
  /** The content that was read or written last. */
  let expected: FileStamp | undefined;
  let isOurs = true;
  let editedName: string | undefined;
  let isInPlace = false;
  /** Whether an image may have stayed, which would undo later saves at the next start. */
  let hasImage = false;

  /** A file that has once been big stays with the thread, which knows its bytes. */
  const chooseWriter = (): PageWriter => {
    if (thread !== undefined && writer !== thread && (expected?.size ?? 0) >= threadBytes) writer = thread;
    return writer;
  };

  const removeLeftOvers = async (target: string): Promise<void> => {
    try {
      for (const path of await findLeftOvers(io, target)) {
        await io.unlink(path);
        log.info({ path }, "removed a temporary file of an interrupted save");
      }
    } catch (error) {
      limited.warn({ error }, "cannot remove temporary files in the folder of the metadata file");
    }
  };

  const editedPath = (target: string): string => {
    editedName ??= `${basename(target)}.edited-${new Date(clock.now()).toISOString().replaceAll(/[-:]/g, "")}`;
    return join(dirname(target), editedName);
  };

  const plan = (target: string): SavePlan => {
    return {
      target,
      temporary: temporaryPath(target, run, number++),
      asidePath: temporaryPath(target, run, number++),
      expected,
      originalPath: isOurs ? undefined : `${target}.orig`,
      editedPath: editedPath(target),
      imagePath: stateDirectory === "" ? undefined : imagePathOf(stateDirectory, target),
      isInPlace,
    };
  };

  const write = async (target: string, changes: Uint8Array, next: UdmIndex): Promise<SavedFile> => {
    const chosen = chooseWriter();
    const isFirst = !chosen.isFilled;
    try {
      if (isFirst) await chosen.takeAll(renderAll(next));
      const saved = await chosen.save(plan(target), isFirst ? new Uint8Array(0) : changes);
      return hasImage && !saved.isInPlace ? await withoutImage(target, saved) : saved;
    } catch (error) {
      // What it was filled with is a state that is given up.
      if (isFirst) chosen.clear();
      throw error;
    }
  };

  const withoutImage = async (target: string, saved: SavedFile): Promise<SavedFile> => {
    try {
      await removeImage(io, imagePathOf(stateDirectory, target));
      hasImage = false;
      return saved;
    } catch (error) {
      return { ...saved, alarms: [...saved.alarms, { step: "image", code: errorCode(error), error }] };
    }
  };

  const noteSaved = (saved: SavedFile, target: string, start: number): void => {
    const { stamp, alarms, kept } = saved;
    if (saved.isInPlace && !isInPlace) {
      log.warn(
        { target },
        "the metadata file cannot be replaced, because it is a mount of its own: it is overwritten in place, and an interruption leaves it incomplete until a restart",
      );
    }
    isInPlace = saved.isInPlace;
    if (isInPlace) hasImage = alarms.length > 0;
    report.saved(stamp.size, clock.monotonic() - start);
    expected = stamp;
    isOurs = true;
    editedName = undefined;
    for (const { step, code, error } of alarms) {
      report.alarm(step, code);
      limited.error({ step, error }, "the metadata file is saved, but not all of it went well");
    }
    for (const { reason, path } of kept) {
      report.kept(reason);
      if (reason === "original") log.info({ path }, "kept a copy of the metadata file as it was written by hand");
      else
        log.warn(
          { target, path },
          "the metadata file was changed by hand while the API owns it; what it held is kept, but not used",
        );
    }
  };

  return {
    editedPath,
    removeLeftOvers,
    async linesOf(target, size, keys) {
      if (expected === undefined) return keys.map(() => undefined);
      return chooseWriter().linesOf({ path: target, stamp: expected, size, keys });
    },
    async replay(target) {
      if (stateDirectory === "") return;
      const state = await replayImage(io, imagePathOf(stateDirectory, target), target);
      if (state !== undefined)
        log.warn({ target }, "the metadata file was restored: overwriting it had been interrupted");
    },
    loaded(file) {
      expected = file.stamp;
      isOurs = file.isOurs;
      // Bytes that a save would not write, or that are few, are rendered with the first save.
      if (file.isInThread && thread !== undefined) writer = thread;
      else writer.clear();
    },
    async save(target, changes, next) {
      const start = clock.monotonic();
      if (removeFirst) await removeLeftOvers(target);
      removeFirst = true;
      try {
        const saved = await write(target, changes, next);
        removeFirst = false;
        noteSaved(saved, target, start);
        return saved.stamp;
      } catch (error) {
        const step = error instanceof SaveError ? error.step : "write";
        if (stateDirectory !== "" && ["image", "overwrite", "thread"].includes(step)) hasImage = true;
        report.failed(step, errorCode(error));
        limited.error({ step, error }, "the metadata file cannot be saved");
        throw error;
      }
    },
  };
}

/** One file for each target. */
function imagePathOf(stateDirectory: string, target: string): string {
  return join(stateDirectory, `${fileNameOf(target)}.image`);
}

/** How files in the state directory that belong to a metadata file begin: with a digest of its path. */
export function fileNameOf(target: string): string {
  return `metadata-${createHash("sha256").update(target).digest("hex").slice(0, 32)}`;
}

/** The text of all entries, with a turn of the event loop between its pieces. */
async function* renderAll(index: UdmIndex): AsyncGenerator<Uint8Array> {
  for (const piece of index.render("all", "yaml", "", filledAtOnce)) {
    yield piece;
    await nextTurn();
  }
}
