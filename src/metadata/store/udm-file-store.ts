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
import type { Clock, Log, Health } from "../../base/report/index.ts";
import { LoadError, contentError, readMetadataFile, type LoadedState } from "./load-state.ts";
import { UdmSaver, fileNameOf } from "./udm-saver.ts";
import { UdmError, type UdmIndex, type UdmCommit } from "../model/udm-store.ts";
import { logWarnings } from "./check-metadata-file.ts";
import { StoreMetrics, logWrite, createFolderTrial, WriteHealth } from "./store-reporting.ts";
import {
  applyBatches,
  createCommitQueue,
  type Outcome,
  createSubmit,
  entriesOf,
  originOf,
  type Batch,
} from "./commit-queue.ts";
import { type CollectorUdmStore, type UdmFileStoreOptions, PublishedState, AddressWatch } from "./store-contract.ts";
import { createFileThread, loadBytes } from "./file-thread-client.ts";
import { createSharedIndex } from "../index/shared-index.ts";
import { UdmLayers } from "./udm-layers.ts";
import type { EntryChange } from "../model/apply-writes.ts";
import { MetadataHistory } from "../history/history.ts";

interface FileHoldParts {
  readonly path: string;
  readonly owned: boolean;
  readonly io: FileIo;
  readonly saver: Pick<UdmSaver, "replay" | "removeLeftOvers">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Which file the metadata is in, behind links, and the lock on it when it is ours. */
class OwnedFile {
  readonly #path: string;
  readonly #owned: boolean;
  readonly #io: FileIo;
  readonly #saver: Pick<UdmSaver, "replay" | "removeLeftOvers">;
  readonly #clock: Clock;
  readonly #log: Log;
  #target: string;
  #lock: FileLock | undefined;

  constructor({ path, owned, io, saver, clock, log }: FileHoldParts) {
    this.#path = path;
    this.#owned = owned;
    this.#io = io;
    this.#saver = saver;
    this.#clock = clock;
    this.#log = log;
    this.#target = path;
  }

  async release(): Promise<void> {
    await this.#lock?.release();
    this.#lock = undefined;
  }

  /** The file itself; the path as it is set until it was found. */
  target(): string {
    return this.#target;
  }

  /**
   * Finds the file and, when it is to be ours, takes it and ends what an interrupted save left.
   *
   * @throws LockedError when another collector holds it, LoadError when it cannot be used.
   */
  async take(): Promise<void> {
    try {
      const found = await resolveTarget(this.#io, this.#path);
      if (found !== this.#target) {
        await this.release();
        this.#target = found;
      }
      if (!this.#owned || this.#lock !== undefined) return;
      this.#lock = await takeFileLock(this.#io, this.#target, {
        subject: `the metadata file ${this.#target}`,
        clock: this.#clock,
        log: this.#log,
      });
      await this.#saver.replay(this.#target);
    } catch (error) {
      if (error instanceof LockedError) throw error;
      const message = error instanceof Error ? error.message : String(error);
      throw new LoadError("io", `${this.#path}: ${message}`, undefined, { cause: error });
    }
    await this.#saver.removeLeftOvers(this.#target);
  }

  /**
   * Goes on with another file when the links lead there now. What it holds is for the saver to keep.
   *
   * @throws LockedError when another collector holds that one; this goes on with the file before then.
   */
  async follow(): Promise<void> {
    // Links that cannot be read now say nothing of another file.
    const found = await resolveTarget(this.#io, this.#path).catch(() => this.#target);
    if (found === this.#target) return;
    const taken = await takeFileLock(this.#io, found, {
      subject: `the metadata file ${found}`,
      clock: this.#clock,
      log: this.#log,
    });
    this.#log.warn(
      { path: this.#path, before: this.#target, now: found },
      "the link of the metadata file leads to another file now",
    );
    await this.release();
    this.#lock = taken;
    this.#target = found;
  }
}

/** Name of the readiness check. */
const checkName = "metadata";
/** How many names a log line lists. */
const maxShown = 10;

/** Reports the result of reading the file to log, metrics and readiness. */
class LoadReport {
  readonly #path: string;
  readonly #log: Log;
  readonly #health: Health;
  readonly #metrics: StoreMetrics;

  constructor(path: string, log: Log, health: Health, metrics: StoreMetrics) {
    this.#path = path;
    this.#log = log;
    this.#health = health;
    this.#metrics = metrics;
  }

  /** @param isThere whether there is a file. */
  loaded(
    { size, unknownFields, warnings }: Pick<LoadedState, "size" | "unknownFields" | "warnings">,
    isThere: boolean,
  ): void {
    logWarnings(warnings, this.#path, this.#log);
    this.#metrics.loaded(warnings.count);
    this.#health.set({ name: checkName, ready: true });
    this.#log.info({ path: this.#path, entries: size }, isThere ? "metadata file read" : "no metadata file yet");
    if (unknownFields.size > 0) {
      const fields = Object.fromEntries([...unknownFields].slice(0, maxShown));
      this.#log.warn({ path: this.#path, fields }, "the metadata file has fields that are kept but not used");
    }
  }

  /** @param isLoaded whether a state from before stays in use. @returns the error for callers. */
  failed(error: unknown, isLoaded: boolean): UdmError {
    const message = error instanceof Error ? error.message : String(error);
    const failure = new UdmError("unavailable", message, [], { cause: error });
    this.#metrics.loadFailed(error instanceof LoadError || error instanceof LockedError ? error.code : "other");
    this.#health.set({
      name: checkName,
      ready: isLoaded,
      ...(isLoaded && { degraded: true }),
      detail: failure.message,
    });
    const outcome = isLoaded ? "the previous state stays in use" : "there is no metadata";
    this.#log.error({ path: this.#path, error: failure }, `the metadata file cannot be used, ${outcome}`);
    return failure;
  }
}

/** Without {@link UdmFileStoreOptions.maxEntries}. */
const defaultMaxEntries = 2_000_000;

/** Without {@link UdmFileStoreOptions.historyBytes}. */
const defaultHistoryBytes = 64 * 1024 * 1024;

/** Smaller files are read and written faster than a thread is asked. In bytes. */
const bigFile = 256 * 1024;

/**
 * The store that keeps its entries in one YAML file.
 *
 * - A file that cannot be used at the start does not stop it: `current` and `commit` throw, the health check says why,
 *   the file stays as it is, and `load` tries again. Only a file that another collector holds makes `start` fail.
 * - `commit` saves all writes that wait by one replacement of the file, then makes them current, then answers.
 * - `load` of an owned store that has a state returns that state: the file says the same, unless a person has edited it.
 *   Such an edit is not used; `load` logs a warning that names the file in which the next write keeps it.
 * - Not owned, the file is read again when it changed; one that is broken or gone leaves the state before.
 */
export function createUdmFileStore(options: UdmFileStoreOptions): CollectorUdmStore {
  const { path, owned, refreshMs, io = nodeFileIo, after = runAfter, log, clock, health } = options;
  const shared = createSharedIndex({
    maxEntries: options.maxEntries ?? defaultMaxEntries,
    ...(options.limitName !== undefined && { limitName: options.limitName }),
    onSmallerReserve: (bytes, askedFor) =>
      log.warn({ bytes, askedFor }, "the system reserves less memory for metadata"),
  });
  const report = new StoreMetrics(
    options.metrics,
    () => published.index()?.size ?? 0,
    () => shared.stats(),
  );
  const { startThread, threadBytes = bigFile, stateDirectory = "" } = options;
  const thread = startThread && createFileThread({ start: startThread, io, clock, log, metrics: options.metrics });
  const saver = new UdmSaver({ io, thread, threadBytes, stateDirectory, clock, log, metrics: options.metrics });
  const hold = new OwnedFile({ path, owned, io, saver, clock, log });
  const loads = new LoadReport(path, log, health, report);
  const history = new MetadataHistory({
    io,
    path: join(stateDirectory, `${fileNameOf(path)}.history-`),
    maxBytes: owned && stateDirectory !== "" ? (options.historyBytes ?? defaultHistoryBytes) : 0,
    current: () => published.index(),
    clock,
    log,
    metrics: options.metrics,
    health,
  });
  const addresses = new AddressWatch(shared, log);
  const published = new PublishedState(shared, (changed) => addresses.changed(changed), log);

  let isRunning = false;
  /** Whether the current state says what the file says: only then may the file be rewritten. */
  let isLoaded = false;
  /** Why it does not. */
  let fault = new UdmError("unavailable", "the metadata store has not been started");
  /** Of the content that was read or written last; undefined also when there was none. */
  let seen: FileStamp | undefined;
  let cancelRefresh: () => void = () => {};

  const current = (): UdmIndex => {
    const index = published.index();
    if (index === undefined) throw fault;
    return index;
  };

  const commitGroup = async (batches: readonly Batch[]): Promise<readonly Outcome<UdmCommit>[]> => {
    if (!isLoaded) throw fault;
    const { outcomes, changed } = await applyBatches(current(), batches);
    let numbers: readonly (number | undefined)[] = [];
    if (changed !== undefined) {
      const { next, changes } = changed;
      report.groupSize(batches.length);
      try {
        numbers = await note(batches, outcomes);
        seen = await save(changes, next);
        writes.works();
      } catch (error) {
        writes.failed(error);
        await history.takeBack();
        shared.release(next);
        throw error;
      }
      published.makeCurrent(next);
      await history.keep();
    }
    const { version } = current();
    for (const [i, { writes: written, origin }] of batches.entries()) {
      if ("result" in (outcomes[i] as Outcome<unknown>)) logWrite(log, written, version, origin);
    }
    return outcomes.map((outcome, i) =>
      "result" in outcome ? { result: { entries: entriesOf(outcome.result), change: numbers[i] } } : outcome,
    );
  };

  /** Puts a group into the history. @returns the number of each batch. */
  const note = async (
    batches: readonly Batch[],
    outcomes: readonly Outcome<readonly EntryChange[]>[],
  ): Promise<readonly (number | undefined)[]> => {
    const group = batches.map((batch, i) => {
      const outcome = outcomes[i] as Outcome<readonly EntryChange[]>;
      return { ...originOf(batch), changes: "result" in outcome ? outcome.result : [] };
    });
    try {
      return await history.append(group);
    } catch (error) {
      const message = `the history of the metadata cannot be written, nothing has changed: ${messageOf(error)}`;
      throw new UdmError("unavailable", message, [], { cause: error });
    }
  };

  const save = async (changes: Uint8Array, next: UdmIndex): Promise<FileStamp> => {
    try {
      await hold.follow();
      return await saver.save(hold.target(), changes, next);
    } catch (error) {
      const message = `${path} cannot be saved, nothing has changed: ${messageOf(error)}`;
      throw new UdmError("unavailable", message, [], { cause: error });
    }
  };

  const queue = createCommitQueue(commitGroup);
  const folders = stateDirectory === "" ? [] : [stateDirectory];
  const writes = new WriteHealth({
    trial: createFolderTrial(
      io,
      () => hold.target(),
      () => seen?.size ?? 0,
      folders,
    ),
    alone: (action) => queue.alone(action),
    after,
    health,
    log,
  });
  const layers = new UdmLayers({
    shared,
    own: () => published.index(),
    alone: (action) => queue.alone(action),
    changed: (changed) => addresses.changed(changed),
    note: (change) => history.note(change),
  });

  const read = async (): Promise<UdmIndex> => {
    if (owned && isLoaded) {
      await warnOfEdit();
      return current();
    }
    try {
      await hold.take();
      const { stamp, bytes } = await readMetadataFile(io, hold.target(), path);
      seen = stamp;
      if (stamp === undefined && isLoaded && current().size > 0) {
        throw new LoadError("io", `${path}: the file is gone`);
      }
      const loader = { shared, thread, threadBytes };
      const found = await loadBytes(loader, bytes, published.index(), owned).catch((error: unknown) => {
        throw contentError(error, path, stamp);
      });
      published.makeCurrent(found.index);
      if (owned) await history.open(found.index, stampText(stamp));
      isLoaded = true;
      if (owned) saver.loaded({ stamp, isOurs: found.isOurs, isInThread: found.isInThread });
      loads.loaded(found, stamp !== undefined);
      if (bytes.length > 0) options.fileRead?.(bytes);
      return current();
    } catch (error) {
      if (error instanceof LoadError) seen = error.stamp;
      const failure = loads.failed(error, isLoaded);
      if (!isLoaded) fault = failure;
      throw failure;
    }
  };

  /** A file that is ours is not read again: says so when somebody has changed it. */
  const warnOfEdit = async (): Promise<void> => {
    const there = await io.state(path).catch(() => undefined);
    if (sameStamp(seen, there)) return;
    report.editIgnored();
    const message =
      there === undefined
        ? "the metadata file is gone; the API owns the metadata, the next write makes the file again"
        : "the metadata file was changed by hand; the API owns the metadata, so that the edit is not used: the next write replaces it and keeps it under another name";
    log.warn({ path, ...(there !== undefined && { keptAs: saver.editedPath(hold.target()) }) }, message);
  };

  const refresh = async (): Promise<void> => {
    const state = await io.state(path).catch(() => undefined);
    const isUnchanged = state === undefined ? isLoaded && current().size === 0 : sameStamp(seen, state);
    if (isRunning && !isUnchanged) await queue.alone(read).catch(() => {});
    scheduleRefresh();
  };

  const scheduleRefresh = (): void => {
    if (isRunning && !owned && refreshMs > 0) {
      cancelRefresh = after(() => void refresh(), refreshMs);
    }
  };

  const submits = createSubmit({
    queue,
    report,
    clock,
    check() {
      if (!owned) throw new UdmError("unavailable", `${path} is only read, not written`);
    },
  });

  return {
    name: "metadata",

    async start() {
      isRunning = true;
      try {
        await queue.alone(read);
        if (owned) await queue.alone(() => writes.try());
      } catch (error) {
        if (error instanceof UdmError && error.cause instanceof LockedError) {
          isRunning = false;
          throw error;
        }
      }
      scheduleRefresh();
    },

    async stop() {
      isRunning = false;
      cancelRefresh();
      writes.stop();
      await queue.idle();
      if (owned) {
        isLoaded = false;
        fault = new UdmError("unavailable", "the metadata store was stopped");
      }
      await history.close(stampText(seen));
      await thread?.stop();
      await hold.release();
    },

    load: () => queue.alone(read),

    current,

    history,
    ...submits,

    layers,

    places: {
      file: path,
      async linesOf(keys) {
        // The file belongs to a save as long as that runs.
        const find = (): Promise<readonly (number | undefined)[]> =>
          saver.linesOf(
            hold.target(),
            current().size,
            keys.map(({ text }) => text),
          );
        return queue.alone(find).catch(() => keys.map(() => undefined));
      },
    },

    watchAddresses: (listener) => addresses.add(listener, published.index() !== undefined || layers.list().length > 0),

    readerHandle: () => shared.handle(),
    closeReader: (handle) => shared.closeReader(handle),

    watch: (listener) => published.watch(listener),
  };
}

function stampText(stamp: FileStamp | undefined): string {
  return stamp === undefined ? "" : [stamp.size, stamp.modified, stamp.inode, stamp.device].join("-");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
