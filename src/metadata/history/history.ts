import { randomUUID } from "node:crypto";
import type { FileIo } from "../../base/file/index.ts";
import { type Clock, type Health, type Log, type Metrics, limitLog } from "../../base/report/index.ts";
import { type EntryChange, isChange, nextTurn } from "../model/apply-writes.ts";
import type { UdmIndex } from "../model/udm-store.ts";
import {
  type UdmHistory,
  type UdmChange,
  type ChangeHead,
  encodeEpoch,
  encodeLine,
  encodeMark,
  keysOf,
  lineEnd,
  readChange,
  readEpoch,
  readHead,
  readMark,
  type LineHead,
  type SavedMark,
} from "./change.ts";
import { parseKey, compareKeys } from "../../base/ip/index.ts";
import type { UdmEntry } from "../model/entry.ts";
import { BaseFile, differencesOf, type BaseEntry, createHistoryFiles, type Segment } from "./history-files.ts";
import { createHistoryMetrics, createKeptChanges, type KeptChange, createKeyTable } from "./kept-changes.ts";

/** A commit that is about to be saved. */
interface NewChange {
  readonly author: string;
  readonly method: string;
  readonly changes: readonly EntryChange[];
}

/** What a source has made of its layer. */
export interface NewLayerChange extends NewChange {
  readonly layer: string;
  /** How many entries differ; `changes` may have fewer. */
  readonly entries: number;
}

/** The history of a store, which writes it. Calls that change it follow one another. */
interface StoreHistory extends UdmHistory {
  /**
   * Reads what is kept, and brings it into agreement with the file. Never throws: without its files there is no history.
   *
   * @param stamp of the file; another one than at the last stop: a person may have edited it.
   */
  open(index: UdmIndex, stamp: string): Promise<void>;
  /**
   * Keeps the commits of a group durably, before the file is saved: what is in the file is in the history, too.
   *
   * @returns the number of each; undefined for those that change nothing, and without a history.
   * @throws the errors of the system; nothing is kept then.
   */
  append(group: readonly NewChange[]): Promise<readonly (number | undefined)[]>;
  /**
   * Keeps a change that is made already, of what is not in the file. Never throws: what a source says counts even when it cannot be noted.
   * Not between {@link append} and what ends it.
   */
  note(change: NewLayerChange): Promise<void>;
  /** The file is saved: what was appended counts. A big change takes several turns of the event loop. */
  keep(): Promise<void>;
  /** The file could not be saved: what was appended is taken back. */
  takeBack(): Promise<void>;
  /** @param stamp of the file, as it was saved last. */
  close(stamp: string): Promise<void>;
}

interface HistoryOptions {
  readonly io: FileIo;
  /** Of the paths of its files; a number is added. */
  readonly path: string;
  /** Of all files together; 0 for no history. */
  readonly maxBytes: number;
  /** The state with all changes that are kept; undefined before there is one. */
  readonly current: () => UdmIndex | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly health: Health;
}

/** What happened to each key in all of the changes. */
function collapse(changes: readonly UdmChange[]): ReadonlyMap<string, EntryChange> {
  const byKey = new Map<string, EntryChange>();
  for (const { changes: entries } of changes) {
    for (const { before, after } of entries) {
      const key = (after ?? before)?.key.text ?? "";
      const earlier = byKey.get(key);
      byKey.set(key, { before: earlier === undefined ? before : earlier.before, after });
    }
  }
  return byKey;
}

/** Whether changes that were saved by one replacement of the file, all or none, are in it. */
function isInFile(changes: readonly UdmChange[], index: UdmIndex): boolean {
  let isBefore = false;
  for (const [key, change] of collapse(changes)) {
    if (!isChange(change)) continue;
    const there = index.get(parseKey(key));
    if (isSame(there, change.after)) return true;
    if (isSame(there, change.before)) isBefore = true;
  }
  return !isBefore;
}

/** What happened to entries since changes, the last of which is the last one at all. */
function findEdits(changes: readonly UdmChange[], index: UdmIndex): readonly EntryChange[] {
  const edits: EntryChange[] = [];
  for (const [key, { after: before }] of collapse(changes)) {
    const after = index.get(parseKey(key));
    if (!isSame(before, after)) edits.push({ before, after });
  }
  return edits;
}

function isSame(a: UdmEntry | undefined, b: UdmEntry | undefined): boolean {
  return !isChange({ before: a, after: b });
}

const cannotWrite = "the history of the metadata cannot be written";
const checkName = "metadata history";
/** How many files the history has. */
const parts = 16;
/** How far back a start compares the history with the file, in bytes. */
const comparedBytes = 4 * 1024 * 1024;
/** Keys noted between two turns of the event loop: a millisecond or two of it. */
const keysATurn = 5000;

export function createHistory(options: HistoryOptions): StoreHistory {
  const { io, maxBytes, clock, health } = options;
  const log = limitLog(options.log, clock);
  const files = createHistoryFiles(io, options.path, Math.ceil(maxBytes / parts));
  const keyNumbers = createKeyTable();
  const watchers = new Set<(change: UdmChange) => void>();
  const kept = createKeptChanges(files);
  let isOpen = false;
  let epoch = "";
  /** Whether the last file names it. */
  let isEpochKept = false;
  /** Whether lines were damaged, or the last ones not written whole. */
  let isTorn = false;
  /** As the collector left it when it was stopped last. */
  let mark: SavedMark | undefined;
  /** Whether the last change is known to be in the file. */
  let isSaved = true;
  let next = 1;
  /** Appended, and not yet kept. */
  let pending: { readonly kept: readonly KeptChange[]; readonly changes: readonly UdmChange[] } | undefined;

  const metrics = createHistoryMetrics(options.metrics, () => ({
    changes: kept.all().length,
    bytes: files.segments().reduce((sum, { size }) => sum + size, 0),
  }));

  const readLines = (segment: Segment, bytes: Buffer): void => {
    let good = 0;
    isEpochKept = false;
    for (let start = 0; start < bytes.length;) {
      const end = bytes.indexOf(lineEnd, start) + 1;
      const line = bytes.subarray(start, end === 0 ? bytes.length : end - 1);
      const saved = end === 0 ? undefined : readMark(line);
      if (saved !== undefined) {
        isSaved = true;
        mark = saved;
        good = end;
        start = end;
        continue;
      }
      const named = end === 0 ? undefined : readEpoch(line);
      if (named !== undefined) {
        epoch = named;
        isEpochKept = true;
        good = end;
        start = end;
        continue;
      }
      const head = end === 0 ? undefined : readHead(line);
      if (head === undefined || head.number < next) {
        metrics.failed("torn");
        isTorn = true;
        log.warn({ path: segment.path, start }, "an incomplete line of the metadata history is skipped");
        if (end === 0) break;
      } else {
        kept.add([{ ...head, segment, start, end }]);
        isSaved = false;
        next = head.number + 1;
        if (head.layer === undefined) for (const key of keysOf(line)) keyNumbers.set(key, head.number);
        good = end;
      }
      start = end;
    }
    segment.size = good;
  };

  const baseFile = new BaseFile(io, `${options.path}base`, Math.floor(clock.now()).toString(36));
  /** Of the last change in the file of the whole state; -1: there is none that can be used. */
  let baseNumber = -1;
  let baseWrite: Promise<void> | undefined;

  /** Keeps the whole state, while others go on. */
  const writeBase = (index: UdmIndex): void => {
    const number = next - 1;
    baseWrite ??= baseFile
      .write(index, number)
      .then(() => void (baseNumber = number))
      .catch((error: unknown) => {
        metrics.failed("base");
        log.warn({ error }, "the state that changes of the metadata begin from cannot be kept");
      })
      .finally(() => (baseWrite = undefined));
  };

  /** What differs between the file and the state that all kept changes lead to; undefined when that is not known. */
  const editsSinceBase = async (index: UdmIndex): Promise<readonly EntryChange[] | undefined> => {
    const base = await baseFile.read().catch(() => undefined);
    if (base === undefined || base.number > next - 1) return undefined;
    const place = kept.all().findIndex(({ number }) => number > base.number);
    const later = place < 0 ? [] : kept.all().slice(place);
    // Without a gap, and each with its entries.
    const firstLater = later[0]?.number ?? next;
    const isWhole = firstLater === base.number + 1 && next - 1 === base.number + later.length;
    if (!isWhole || later.some(({ isCut, layer }) => isCut && layer === undefined)) return undefined;
    try {
      const expected = new Map<string, BaseEntry>(await differencesOf(base, index));
      for (const { layer, changes } of place < 0 ? [] : await kept.readFrom(place)) {
        if (layer !== undefined) continue;
        for (const { before, after } of changes) {
          const key = after?.key ?? before?.key;
          if (key !== undefined) expected.set(key.text, { key, entry: after });
        }
        await nextTurn();
      }
      baseNumber = base.number;
      return [...expected.values()]
        .map(({ key, entry }) => ({ before: entry, after: index.get(key), key }))
        .filter(isChange)
        .toSorted((a, b) => compareKeys(a.key, b.key));
    } catch (error) {
      log.warn({ error }, "the state that changes of the metadata begin from cannot be read");
      return undefined;
    }
  };

  /** Gives up changes from a place on, which are the last lines of the last file. */
  const cutFrom = async (place: number): Promise<void> => {
    const first = kept.all()[place];
    if (first === undefined) return;
    kept.cutFrom(place);
    // A number that no answer named is free.
    next = first.number;
    await files.cut(first.start);
  };

  /** The last group may have been appended without being saved. Its lines are in one file. */
  const dropUnsaved = async (index: UdmIndex): Promise<void> => {
    const all = kept.all();
    const last = all.at(-1);
    // What is before a change of a layer was saved before that was noted.
    if (last === undefined || isSaved || last.layer !== undefined) return;
    let place = all.length - 1;
    while (place > 0 && all[place - 1]?.group === last.group) place--;
    if (isInFile(await kept.readFrom(place), index)) return;
    log.info({ change: last.group }, "an interrupted change that was not saved is left out of the history");
    await cutFrom(place);
  };

  /** @returns whether there were any. */
  const noteEdits = async (index: UdmIndex): Promise<boolean> => {
    const all = kept.all();
    let place = all.length;
    for (let size = 0; place > 0 && size < comparedBytes; place--) {
      const { start, end } = all[place - 1] as KeptChange;
      size += end - start;
    }
    const known = async (): Promise<readonly UdmChange[]> =>
      (await kept.readFrom(place)).filter(({ layer }) => layer === undefined);
    const changes = (await editsSinceBase(index)) ?? findEdits(await known(), index);
    if (changes.length === 0) return false;
    metrics.edited();
    log.info({ entries: changes.length }, "the metadata file was edited by hand since the last change");
    await append([{ author: "file", method: "EditFile", changes }]);
    await keep();
    return true;
  };

  const append = async (group: readonly (NewChange | NewLayerChange)[]): Promise<readonly (number | undefined)[]> => {
    if (!isOpen) return group.map(() => undefined);
    const first = next;
    const time = clock.now();
    const lines: Buffer[] = [];
    const heads: LineHead[] = [];
    const changes: UdmChange[] = [];
    const numbers: (number | undefined)[] = [];
    for (const { author, method, changes: all, ...more } of group) {
      const real: EntryChange[] = [];
      for (const [i, change] of all.entries()) {
        if (i % keysATurn === keysATurn - 1) await nextTurn();
        if (isChange(change)) real.push(change);
      }
      numbers.push(real.length === 0 ? undefined : first + heads.length);
      if (real.length === 0) continue;
      const head = { number: first + heads.length, time, author, method, entries: real.length, ...more, group: first };
      const line = await encodeLine({ ...head, isCut: head.entries > real.length }, real, Math.floor(maxBytes / 4));
      lines.push(line.bytes);
      heads.push({ ...head, isCut: line.isCut });
      const { group: _, ...shown } = head;
      changes.push({ ...shown, isCut: line.isCut, changes: real });
    }
    if (lines.length === 0) return numbers;
    let at: Awaited<ReturnType<typeof files.append>>;
    const name = isEpochKept && !files.isFull() ? [] : [encodeEpoch(epoch)];
    try {
      at = await files.append(
        lines.length === 1 && name.length === 0 ? (lines[0] as Buffer) : Buffer.concat([...name, ...lines]),
        first,
      );
      isEpochKept = true;
    } catch (error) {
      metrics.failed("append");
      log.error({ error }, cannotWrite);
      throw error;
    }
    let start = at.start + (name[0]?.length ?? 0);
    const appended: KeptChange[] = [];
    for (const [i, head] of heads.entries()) {
      const end = start + (lines[i] as Buffer).length;
      appended.push({ ...head, segment: at.segment, start, end });
      start = end;
    }
    pending = { kept: appended, changes };
    return numbers;
  };

  const keep = async (): Promise<void> => {
    if (pending === undefined) return;
    const { kept: appended, changes } = pending;
    pending = undefined;
    kept.add(appended);
    next = (appended.at(-1) as KeptChange).number + 1;
    for (const { number, layer, changes: entries } of changes) {
      if (layer !== undefined) continue;
      for (const [i, { before, after }] of entries.entries()) {
        if (i % keysATurn === keysATurn - 1) await nextTurn();
        keyNumbers.set((after ?? before)?.key.text ?? "", number);
      }
    }
    metrics.kept(
      appended.length,
      appended.reduce((sum, { start, end }) => sum + end - start, 0),
    );
    for (const change of changes) for (const watcher of watchers) notify(watcher, change);
  };

  const notify = (watcher: (change: UdmChange) => void, change: UdmChange): void => {
    try {
      watcher(change);
    } catch (error) {
      log.error({ error }, "a listener to changes of metadata failed");
    }
  };

  const shrink = async (): Promise<void> => {
    try {
      const removed = await files.shrink(maxBytes);
      if (removed.length === 0) return;
      kept.forgetBelow(files.segments()[0]?.first ?? next);
      const index = options.current();
      if (index !== undefined && baseNumber + 1 < (kept.all()[0]?.number ?? next)) writeBase(index);
      keyNumbers.forgetBelow(kept.all()[0]?.number ?? next);
    } catch (error) {
      metrics.failed("shrink");
      log.warn({ error }, "an old file of the history of the metadata cannot be removed");
    }
  };

  return {
    append: async (group) => {
      await shrink();
      return append(group);
    },
    async note(change) {
      try {
        await shrink();
        await append([change]);
        await keep();
      } catch {
        // It is logged and counted.
      }
    },
    keep,
    isOn: () => isOpen,
    epoch: () => epoch,
    last: () => next - 1,
    first: () => kept.all()[0]?.number ?? next,

    async open(index, stamp) {
      if (maxBytes === 0 || isOpen) return;
      try {
        for (const segment of await files.find()) {
          readLines(segment, await files.read(segment));
          await nextTurn();
        }
        const last = files.segments().at(-1);
        if (last !== undefined) await files.cut(last.size);
        // Numbers of changes that were lost will be given again.
        if (epoch === "" || isTorn) {
          epoch = randomUUID().replaceAll("-", "");
          isEpochKept = false;
        }
        // Else the next start would give another name to the same numbers. What fails now is tried again with the next change.
        if (!isEpochKept)
          await files.append(encodeEpoch(epoch), next).then(
            () => (isEpochKept = true),
            () => undefined,
          );
        await dropUnsaved(index);
        isOpen = true;
        const isUntouched = isSaved && stamp !== "" && stamp === mark?.stamp;
        if (isUntouched) baseNumber = (await baseFile.isThere()) ? (mark?.base ?? -1) : -1;
        const isEdited = !isUntouched && (await noteEdits(index));
        if (isEdited || baseNumber + 1 < (kept.all()[0]?.number ?? next)) writeBase(index);
        health.set({ name: checkName, ready: true });
      } catch (error) {
        isOpen = false;
        metrics.failed("open");
        const detail = `there is no history of the metadata: ${error instanceof Error ? error.message : String(error)}`;
        health.set({ name: checkName, ready: true, degraded: true, detail });
        log.error({ error, path: options.path }, "the history of the metadata cannot be opened: changes are not kept");
      }
    },

    async takeBack() {
      const taken = pending?.kept[0];
      pending = undefined;
      // What stays is found at the next start not to be in the file.
      if (taken !== undefined)
        await files
          .cut(taken.start)
          .catch((error: unknown) => log.warn({ error }, "the history of the metadata cannot be shortened"));
    },

    async close(stamp) {
      await baseWrite;
      if (isOpen && files.segments().length > 0) {
        await files
          .append(encodeMark({ stamp, base: baseNumber }), next)
          .catch((error: unknown) => log.warn({ error }, cannotWrite));
      }
      isOpen = false;
      await files.close();
    },

    list: (query) => kept.list({ ...query, before: query.before ?? next }),

    async get(number) {
      const found = kept.find(number);
      return found && readChange((await files.read(found.segment)).subarray(found.start, found.end - 1));
    },

    lastOf: async (keys) =>
      keys.map((key) => {
        const found = kept.find(keyNumbers.get(key.text));
        return found && headOf(found);
      }),

    watch(listener) {
      watchers.add(listener);
      return () => void watchers.delete(listener);
    },
  };
}

function headOf({ number, time, author, method, entries }: ChangeHead): ChangeHead {
  return { number, time, author, method, entries };
}
