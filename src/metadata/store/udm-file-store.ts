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
import { type UdmSaver, createUdmSaver, fileNameOf } from "./udm-saver.ts";
import { UdmError, type UdmIndex, type UdmCommit } from "../model/udm-store.ts";
import { logWarnings } from "./check-metadata-file.ts";
import { type StoreMetrics, createStoreMetrics, logWrite, createFolderTrial, WriteHealth } from "./store-reporting.ts";
import {
  applyBatches,
  createCommitQueue,
  type Outcome,
  createSubmit,
  entriesOf,
  originOf,
  type Batch,
} from "./commit-queue.ts";
import {
  type CollectorUdmStore,
  type UdmFileStoreOptions,
  createPublishedState,
  createAddressWatch,
} from "./store-contract.ts";
import { createFileThread, loadBytes } from "./file-thread-client.ts";
import { createSharedIndex } from "../index/shared-index.ts";
import { createUdmLayers } from "./udm-layers.ts";
import type { EntryChange } from "../model/apply-writes.ts";
import { createHistory } from "../history/history.ts";

/** Which file the metadata is in, behind links, and the lock on it when it is ours. */
interface FileHold {
  /** The file itself; the path as it is set until it was found. */
  target(): string;
  /**
   * Finds the file and, when it is to be ours, takes it and ends what an interrupted save left.
   *
   * @throws LockedError when another collector holds it, LoadError when it cannot be used.
   */
  take(): Promise<void>;
  /**
   * Goes on with another file when the links lead there now. What it holds is for the saver to keep.
   *
   * @throws LockedError when another collector holds that one; this goes on with the file before then.
   */
  follow(): Promise<void>;
  release(): Promise<void>;
}

interface FileHoldParts {
  readonly path: string;
  readonly owned: boolean;
  readonly io: FileIo;
  readonly saver: Pick<UdmSaver, "replay" | "removeLeftOvers">;
  readonly clock: Clock;
  readonly log: Log;
}

function createFileHold({ path, owned, io, saver, clock, log }: FileHoldParts): FileHold {
  let target = path;
  let lock: FileLock | undefined;

  const release = async (): Promise<void> => {
    await lock?.release();
    lock = undefined;
  };

  return {
    target: () => target,
    async take() {
      try {
        const found = await resolveTarget(io, path);
        if (found !== target) {
          await release();
          target = found;
        }
        if (!owned || lock !== undefined) return;
        lock = await takeFileLock(io, target, { subject: `the metadata file ${target}`, clock, log });
        await saver.replay(target);
      } catch (error) {
        if (error instanceof LockedError) throw error;
        const message = error instanceof Error ? error.message : String(error);
        throw new LoadError("io", `${path}: ${message}`, undefined, { cause: error });
      }
      await saver.removeLeftOvers(target);
    },
    async follow() {
      // Links that cannot be read now say nothing of another file.
      const found = await resolveTarget(io, path).catch(() => target);
      if (found === target) return;
      const taken = await takeFileLock(io, found, { subject: `the metadata file ${found}`, clock, log });
      log.warn({ path, before: target, now: found }, "the link of the metadata file leads to another file now");
      await release();
      lock = taken;
      target = found;
    },
    release,
  };
}

/** Name of the readiness check. */
const checkName = "metadata";
/** How many names a log line lists. */
const maxShown = 10;

/** Reports the result of reading the file to log, metrics and readiness. */
interface LoadReport {
  /** @param isThere whether there is a file. */
  loaded(state: Pick<LoadedState, "size" | "unknownFields" | "warnings">, isThere: boolean): void;
  /** @param isLoaded whether a state from before stays in use. @returns the error for callers. */
  failed(error: unknown, isLoaded: boolean): UdmError;
}

function createLoadReport(path: string, log: Log, health: Health, metrics: StoreMetrics): LoadReport {
  return {
    loaded({ size, unknownFields, warnings }, isThere) {
      logWarnings(warnings, path, log);
      metrics.loaded(warnings.count);
      health.set({ name: checkName, ready: true });
      log.info({ path, entries: size }, isThere ? "metadata file read" : "no metadata file yet");
      if (unknownFields.size > 0) {
        const fields = Object.fromEntries([...unknownFields].slice(0, maxShown));
        log.warn({ path, fields }, "the metadata file has fields that are kept but not used");
      }
    },
    failed(error, isLoaded) {
      const message = error instanceof Error ? error.message : String(error);
      const failure = new UdmError("unavailable", message, [], { cause: error });
      metrics.loadFailed(error instanceof LoadError || error instanceof LockedError ? error.code : "other");
      health.set({ name: checkName, ready: isLoaded, ...(isLoaded && { degraded: true }), detail: failure.message });
      const outcome = isLoaded ? "the previous state stays in use" : "there is no metadata";
      log.error({ path, error: failure }, `the metadata file cannot be used, ${outcome}`);
      return failure;
    },
  };
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
  const report = createStoreMetrics(
    options.metrics,
    () => published.index()?.size ?? 0,
    () => shared.stats(),
  );
  const { startThread, threadBytes = bigFile, stateDirectory = "" } = options;
  const thread = startThread && createFileThread({ start: startThread, io, clock, log, metrics: options.metrics });
  const saver = createUdmSaver({ io, thread, threadBytes, stateDirectory, clock, log, metrics: options.metrics });
  const hold = createFileHold({ path, owned, io, saver, clock, log });
  const loads = createLoadReport(path, log, health, report);
  const history = createHistory({
    io,
    path: join(stateDirectory, `${fileNameOf(path)}.history-`),
    maxBytes: owned && stateDirectory !== "" ? (options.historyBytes ?? defaultHistoryBytes) : 0,
    current: () => published.index(),
    clock,
    log,
    metrics: options.metrics,
    health,
  });
  const addresses = createAddressWatch(shared, log);
  const published = createPublishedState(shared, addresses.changed, log);

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
  const layers = createUdmLayers({
    shared,
    own: () => published.index(),
    alone: (action) => queue.alone(action),
    changed: addresses.changed,
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

    watch: published.watch,
  };
}

function stampText(stamp: FileStamp | undefined): string {
  return stamp === undefined ? "" : [stamp.size, stamp.modified, stamp.inode, stamp.device].join("-");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
