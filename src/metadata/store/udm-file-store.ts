import { join } from "node:path";
import {
  LockedError,
  resolveTarget,
  takeFileLock,
  type FileIo,
  type FileLock,
  nodeFileIo,
  runAfter,
  sameStamp,
  type FileStamp,
} from "../../base/file/index.ts";
import type { Key } from "../../base/ip/index.ts";
import { LoadError, contentError, readMetadataFile, type LoadedState } from "./load-state.ts";
import { UdmSaver, fileNameOf } from "./udm-saver.ts";
import { UdmError, type UdmIndex, type UdmCommit } from "../model/udm-store.ts";
import { logWarnings } from "./check-metadata-file.ts";
import { logWrite, tryFolders } from "./store-reporting.ts";
import {
  applyBatches,
  committed,
  type Outcome,
  originOf,
  type Batch,
  CollectorUdmStore,
  type UdmFileStoreOptions,
  type UdmPlaces,
} from "./collector-store.ts";
import { FileThread, loadBytes } from "./file-thread-client.ts";
import type { EntryChange } from "../model/apply-writes.ts";
import { MetadataHistory, type NewLayerChange, type NewScopeChange } from "../history/history.ts";

/** The file of the metadata, with links resolved, and the lock on it if the store owns it. */
class OwnedFile {
  readonly #options: UdmFileStoreOptions;
  readonly #io: FileIo;
  readonly #saver: UdmSaver;
  #target: string;
  #lock: FileLock | undefined;

  constructor(options: UdmFileStoreOptions, io: FileIo, saver: UdmSaver) {
    this.#options = options;
    this.#io = io;
    this.#saver = saver;
    this.#target = options.path;
  }

  async release(): Promise<void> {
    await this.#lock?.release();
    this.#lock = undefined;
  }

  /** Returns the path of the file itself; until it is found, the configured path. */
  target(): string {
    return this.#target;
  }

  /**
   * Finds the file. If the store is to own it, locks it and completes an interrupted save.
   *
   * @throws LockedError when another collector holds it, LoadError when it cannot be used.
   */
  async take(): Promise<void> {
    try {
      const found = await resolveTarget(this.#io, this.#options.path);
      if (found !== this.#target) {
        await this.release();
        this.#target = found;
      }
      if (!this.#options.owned || this.#lock !== undefined) return;
      this.#lock = await takeFileLock(this.#io, this.#target, {
        subject: `the metadata file ${this.#target}`,
        clock: this.#options.clock,
        log: this.#options.log,
      });
      await this.#saver.replay(this.#target);
    } catch (error) {
      if (error instanceof LockedError) throw error;
      const message = error instanceof Error ? error.message : String(error);
      throw new LoadError("io", `${this.#options.path}: ${message}`, undefined, { cause: error });
    }
    await this.#saver.removeLeftOvers(this.#target);
  }

  /**
   * Changes to another file if the links now lead there. The saver keeps the content of that file.
   *
   * @throws LockedError when another collector holds that file. The store then keeps the previous file.
   */
  async follow(): Promise<void> {
    // If the links cannot be read now, keep the present file.
    const found = await resolveTarget(this.#io, this.#options.path).catch(() => this.#target);
    if (found === this.#target) return;
    const taken = await takeFileLock(this.#io, found, {
      subject: `the metadata file ${found}`,
      clock: this.#options.clock,
      log: this.#options.log,
    });
    this.#options.log.warn(
      { path: this.#options.path, before: this.#target, now: found },
      "the link of the metadata file leads to another file now",
    );
    await this.release();
    this.#lock = taken;
    this.#target = found;
  }
}

/** The most names that a log line lists. */
const maxShown = 10;

/** The default of {@link UdmFileStoreOptions.historyBytes}. */
const defaultHistoryBytes = 64 * 1024 * 1024;

/** The size in bytes below which this thread is faster than a request to the file thread. */
const bigFile = 256 * 1024;

/**
 * The store that keeps its entries in one YAML file.
 *
 * - An invalid file does not prevent the start: `current` and `commit` throw, the health check has the reason,
 *   the file stays unchanged, and `load` tries again. `start` fails only if another collector holds the file.
 * - `commit` saves all waiting writes by one replacement of the file, then makes them current, then answers.
 * - `load` of an owned store with a state returns that state. The file has the same content, unless a person has edited it.
 *   Such an edit is not used; `load` logs a warning with the name of the file in which the next write keeps it.
 * - A file that is not owned is read again when it changes. If it is broken or missing, the previous state stays.
 */
export class UdmFileStore extends CollectorUdmStore {
  readonly history: MetadataHistory;
  readonly places: UdmPlaces;
  readonly #options: UdmFileStoreOptions;
  readonly #io: FileIo;
  readonly #threadBytes: number;
  readonly #stateDirectory: string;
  readonly #thread: FileThread | undefined;
  readonly #saver: UdmSaver;
  readonly #file: OwnedFile;
  #isRunning = false;
  /** True where the current state equals the file. Only then may the file be rewritten. */
  #isLoaded = false;
  /** The reason why the state does not equal the file. */
  #fault = new UdmError("unavailable", "the metadata store has not been started");
  /** The stamp of the content that was read or written last; undefined where there was none. */
  #seen: FileStamp | undefined;
  #cancelRefresh = (): void => {};

  constructor(options: UdmFileStoreOptions) {
    super(options);
    const { path, owned, io = nodeFileIo, startThread, threadBytes = bigFile, stateDirectory = "" } = options;
    this.#options = options;
    this.#io = io;
    this.#threadBytes = threadBytes;
    this.#stateDirectory = stateDirectory;
    this.#thread = startThread && new FileThread(startThread, io, options);
    this.#saver = new UdmSaver(io, this.#thread, { ...options, threadBytes, stateDirectory });
    this.#file = new OwnedFile(options, io, this.#saver);
    this.history = new MetadataHistory({
      ...options,
      io,
      path: join(stateDirectory, `${fileNameOf(path)}.history-`),
      maxBytes: owned && stateDirectory !== "" ? (options.historyBytes ?? defaultHistoryBytes) : 0,
      current: () => this.published.index(),
    });
    // A save has exclusive use of the file.
    const linesOf = (keys: readonly Key[]): Promise<readonly (number | undefined)[]> =>
      this.queue.alone(() => this.#linesOf(keys)).catch(() => keys.map(() => undefined));
    this.places = { file: path, linesOf };
  }

  async start(): Promise<void> {
    this.#isRunning = true;
    try {
      await this.load();
      if (this.#options.owned) await this.queue.alone(() => this.writes.try());
    } catch (error) {
      if (error instanceof UdmError && error.cause instanceof LockedError) {
        this.#isRunning = false;
        throw error;
      }
    }
    this.#scheduleRefresh();
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#cancelRefresh();
    this.writes.stop();
    await this.queue.idle();
    if (this.#options.owned) {
      this.#isLoaded = false;
      this.#fault = new UdmError("unavailable", "the metadata store was stopped");
    }
    await this.history.close(stampText(this.#seen));
    await this.#thread?.stop();
    await this.#file.release();
  }

  load(): Promise<UdmIndex> {
    return this.queue.alone(() => this.exclusive(() => this.#read()));
  }

  current(): UdmIndex {
    const index = this.published.index();
    if (index === undefined) throw this.#fault;
    return index;
  }

  protected checkWritable(): void {
    const { owned, path } = this.#options;
    if (!owned) throw new UdmError("unavailable", `${path} is only read, not written`);
  }

  protected async commitGroup(batches: readonly Batch[]): Promise<readonly Outcome<UdmCommit>[]> {
    if (!this.#isLoaded) throw this.#fault;
    const { outcomes, changed } = await applyBatches(this.current(), batches);
    let numbers: readonly (number | undefined)[] = [];
    if (changed !== undefined) {
      const { next, changes } = changed;
      this.report.groupSize(batches.length);
      try {
        numbers = await this.#note(batches, outcomes);
        this.#seen = await this.#save(changes, next);
        this.writes.works();
      } catch (error) {
        this.writes.failed(error);
        await this.history.takeBack();
        this.shared.release(next);
        throw error;
      }
      this.published.makeCurrent(next);
      await this.history.keep();
    }
    const { version } = this.current();
    for (const [i, { writes, origin }] of batches.entries()) {
      if ("result" in (outcomes[i] as Outcome<unknown>)) logWrite(this.#options.log, writes, version, origin);
    }
    return committed(outcomes, numbers);
  }

  protected tryWrite(): Promise<void> {
    const folders = this.#stateDirectory === "" ? [] : [this.#stateDirectory];
    return tryFolders(this.#io, this.#file.target(), this.#seen?.size ?? 0, folders);
  }

  protected async noteLayer(change: NewLayerChange): Promise<void> {
    await this.history.note(change);
  }

  protected noteScope(change: NewScopeChange): Promise<number | undefined> {
    return this.history.note(change);
  }

  #linesOf(keys: readonly Key[]): Promise<readonly (number | undefined)[]> {
    const texts = keys.map(({ text }) => text);
    return this.#saver.linesOf(this.#file.target(), this.current().size, texts);
  }

  /** Records a group in the history. @returns the number of each batch. */
  async #note(
    batches: readonly Batch[],
    outcomes: readonly Outcome<readonly EntryChange[]>[],
  ): Promise<readonly (number | undefined)[]> {
    const group = batches.map((batch, i) => {
      const outcome = outcomes[i] as Outcome<readonly EntryChange[]>;
      return { ...originOf(batch), changes: "result" in outcome ? outcome.result : [] };
    });
    try {
      return await this.history.append(group);
    } catch (error) {
      const message = `the history of the metadata cannot be written, nothing has changed: ${messageOf(error)}`;
      throw new UdmError("unavailable", message, [], { cause: error });
    }
  }

  async #save(changes: Uint8Array, next: UdmIndex): Promise<FileStamp> {
    try {
      await this.#file.follow();
      return await this.#saver.save(this.#file.target(), changes, next);
    } catch (error) {
      const message = `${this.#options.path} cannot be saved, nothing has changed: ${messageOf(error)}`;
      throw new UdmError("unavailable", message, [], { cause: error });
    }
  }

  async #read(): Promise<UdmIndex> {
    if (this.#options.owned && this.#isLoaded) {
      await this.#warnOfEdit();
      return this.current();
    }
    try {
      await this.#file.take();
      await this.#readFile();
      return this.current();
    } catch (error) {
      if (error instanceof LoadError) this.#seen = error.stamp;
      const failure = this.#loadFailed(error);
      if (!this.#isLoaded) this.#fault = failure;
      throw failure;
    }
  }

  async #readFile(): Promise<void> {
    const { path, owned } = this.#options;
    const { stamp, bytes } = await readMetadataFile(this.#io, this.#file.target(), path);
    this.#seen = stamp;
    if (stamp === undefined && this.#isLoaded && this.current().size > 0) {
      throw new LoadError("io", `${path}: the file is gone`);
    }
    const before = this.published.index();
    const found = await loadBytes(
      this.shared,
      this.#thread,
      this.#threadBytes,
      bytes,
      before,
      owned,
      this.#options.keys,
    ).catch((error: unknown) => {
      throw contentError(error, path, stamp);
    });
    this.published.makeCurrent(found.index);
    if (owned) await this.history.open(found.index, stampText(stamp));
    this.#isLoaded = true;
    if (owned) this.#saver.loaded(stamp, found.isOurs, found.isInThread);
    this.#reportLoaded(found, stamp !== undefined);
    if (bytes.length > 0) this.#options.fileRead?.(bytes);
  }

  /** Reports a load. @param isThere true where there is a file. */
  #reportLoaded({ size, unknownFields, warnings }: Omit<LoadedState, "built">, isThere: boolean): void {
    const { path, log, health } = this.#options;
    logWarnings(warnings, path, log);
    this.report.loaded(warnings.count);
    health.set({ name: this.name, ready: true });
    log.info({ path, entries: size }, isThere ? "metadata file read" : "no metadata file yet");
    if (unknownFields.size > 0) {
      const fields = Object.fromEntries([...unknownFields].slice(0, maxShown));
      log.warn({ path, fields }, "the metadata file has fields that are kept but not used");
    }
  }

  /** Reports a failed load. @returns the error for callers. */
  #loadFailed(error: unknown): UdmError {
    const { path, log, health } = this.#options;
    const failure = new UdmError("unavailable", messageOf(error), [], { cause: error });
    this.report.loadFailed(error instanceof LoadError || error instanceof LockedError ? error.code : "other");
    const isLoaded = this.#isLoaded;
    const detail = failure.message;
    health.set({ name: this.name, ready: isLoaded, ...(isLoaded && { degraded: true }), detail });
    const outcome = isLoaded ? "the previous state stays in use" : "there is no metadata";
    log.error({ path, error: failure }, `the metadata file cannot be used, ${outcome}`);
    return failure;
  }

  /** Logs a warning where somebody has edited an owned file, which is not read again. */
  async #warnOfEdit(): Promise<void> {
    const { path, log } = this.#options;
    const there = await this.#io.state(path).catch(() => undefined);
    if (sameStamp(this.#seen, there)) return;
    this.report.editIgnored();
    if (there === undefined) {
      log.warn({ path }, "the metadata file is gone; the API owns the metadata, the next write makes the file again");
    } else {
      log.warn(
        { path, keptAs: this.#saver.editedPath(this.#file.target()) },
        "the metadata file was changed by hand; the API owns the metadata, so that the edit is not used: the next write replaces it and keeps it under another name",
      );
    }
  }

  async #refresh(): Promise<void> {
    const state = await this.#io.state(this.#options.path).catch(() => undefined);
    const isUnchanged =
      state === undefined ? this.#isLoaded && this.current().size === 0 : sameStamp(this.#seen, state);
    if (this.#isRunning && !isUnchanged) await this.load().catch(() => {});
    this.#scheduleRefresh();
  }

  #scheduleRefresh(): void {
    const { owned, refreshMs, after = runAfter } = this.#options;
    if (this.#isRunning && !owned && refreshMs > 0) {
      this.#cancelRefresh = after(() => void this.#refresh(), refreshMs);
    }
  }
}

function stampText(stamp: FileStamp | undefined): string {
  return stamp === undefined ? "" : [stamp.size, stamp.modified, stamp.inode, stamp.device].join("-");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
