import type { FileIo } from "../../file/index.ts";
import { limitLog, type Clock, type Health, type Log, type Metrics } from "../../report/index.ts";
import { isChange, type EntryChange } from "../model/apply-writes.ts";
import { nextTurn } from "../model/next-turn.ts";
import type { UdmIndex } from "../model/udm-index.ts";
import {
  encodeLine,
  encodeMark,
  isMark,
  keyPattern,
  keysOf,
  lineEnd,
  readChange,
  readHead,
  type LineHead,
} from "./change-line.ts";
import { findEdits, isInFile } from "./compare-file.ts";
import type { ChangeHead, HistoryQuery, UdmChange, UdmHistory } from "./history-contract.ts";
import { createHistoryFiles, type Segment } from "./history-files.ts";
import { createHistoryMetrics } from "./history-metrics.ts";
import { createKeyTable } from "./key-table.ts";

/** A commit that is about to be saved. */
export interface NewChange {
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
export interface StoreHistory extends UdmHistory {
  /** Reads what is kept, and brings it into agreement with the file. Never throws: without its files there is no history. */
  open(index: UdmIndex): Promise<void>;
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
  close(): Promise<void>;
}

export interface HistoryOptions {
  readonly io: FileIo;
  /** Of the paths of its files; a number is added. */
  readonly path: string;
  /** Of all files together; 0 for no history. */
  readonly maxBytes: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly health: Health;
}

interface KeptChange extends LineHead {
  readonly segment: Segment;
  readonly start: number;
  readonly end: number;
}

const cannotWrite = "the history of the metadata cannot be written";
const checkName = "metadata history";
/** In so many files the history is. */
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
  /** By ascending numbers, which may have gaps where lines were torn. */
  let kept: KeptChange[] = [];
  let isOpen = false;
  /** Whether the last change is known to be in the file. */
  let isSaved = true;
  let next = 1;
  /** Appended, and not yet kept. */
  let pending: { readonly kept: readonly KeptChange[]; readonly changes: readonly UdmChange[] } | undefined;

  const metrics = createHistoryMetrics(options.metrics, () => ({
    changes: kept.length,
    bytes: files.segments().reduce((sum, { size }) => sum + size, 0),
  }));

  /** The place of the first change with this number or a higher one. */
  const placeOf = (number: number): number => {
    let low = 0;
    let high = kept.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((kept[middle] as KeptChange).number < number) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const find = (number: number): KeptChange | undefined => {
    const found = kept[placeOf(number)];
    return found?.number === number ? found : undefined;
  };

  const readLines = (segment: Segment, bytes: Buffer): void => {
    let good = 0;
    for (let start = 0; start < bytes.length;) {
      const end = bytes.indexOf(lineEnd, start) + 1;
      const line = bytes.subarray(start, end === 0 ? bytes.length : end - 1);
      if (isMark(line)) {
        isSaved = true;
        good = end;
        start = end;
        continue;
      }
      const head = end === 0 ? undefined : readHead(line);
      if (head === undefined || head.number < next) {
        metrics.failed("torn");
        log.warn({ path: segment.path, start }, "a line of the history of the metadata is torn, and left out");
        if (end === 0) break;
      } else {
        kept.push({ ...head, segment, start, end });
        isSaved = false;
        next = head.number + 1;
        if (head.layer === undefined) for (const key of keysOf(line)) keyNumbers.set(key, head.number);
        good = end;
      }
      start = end;
    }
    segment.size = good;
  };

  /** Gives up changes from a place on, which are the last lines of the last file. */
  const cutFrom = async (place: number): Promise<void> => {
    const first = kept[place];
    if (first === undefined) return;
    kept = kept.slice(0, place);
    // A number that no answer named is free.
    next = first.number;
    await files.cut(first.start);
  };

  const changesFrom = async (place: number): Promise<UdmChange[]> => {
    const changes: UdmChange[] = [];
    let read: { readonly segment: Segment; readonly bytes: Buffer } | undefined;
    for (const { segment, start, end } of kept.slice(place)) {
      if (read?.segment !== segment) read = { segment, bytes: await files.read(segment) };
      changes.push(readChange(read.bytes.subarray(start, end - 1)));
    }
    return changes;
  };

  /** The last group may have been appended without being saved. Its lines are in one file. */
  const dropUnsaved = async (index: UdmIndex): Promise<void> => {
    const last = kept.at(-1);
    // What is before a change of a layer was saved before that was noted.
    if (last === undefined || isSaved || last.layer !== undefined) return;
    let place = kept.length - 1;
    while (place > 0 && kept[place - 1]?.group === last.group) place--;
    if (isInFile(await changesFrom(place), index)) return;
    log.info({ change: last.group }, "a change that was cut off before it was saved is no part of the history");
    await cutFrom(place);
  };

  const noteEdits = async (index: UdmIndex): Promise<void> => {
    let place = kept.length;
    for (let size = 0; place > 0 && size < comparedBytes; place--) {
      const { start, end } = kept[place - 1] as KeptChange;
      size += end - start;
    }
    const known = (await changesFrom(place)).filter(({ layer }) => layer === undefined);
    const changes = findEdits(known, index);
    if (changes.length === 0) return;
    metrics.edited();
    log.info({ entries: changes.length }, "the metadata file was edited by hand since the last change");
    await append([{ author: "file", method: "EditFile", changes }]);
    await keep();
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
      const real = all.filter(isChange);
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
    try {
      at = await files.append(lines.length === 1 ? (lines[0] as Buffer) : Buffer.concat(lines), first);
    } catch (error) {
      metrics.failed("append");
      log.error({ error }, cannotWrite);
      throw error;
    }
    let { start } = at;
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
    kept.push(...appended);
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
      kept = kept.slice(placeOf(files.segments()[0]?.first ?? next));
      keyNumbers.forgetBelow(kept[0]?.number ?? next);
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
    last: () => next - 1,
    first: () => kept[0]?.number ?? next,

    async open(index) {
      if (maxBytes === 0 || isOpen) return;
      try {
        for (const segment of await files.find()) {
          readLines(segment, await files.read(segment));
          await nextTurn();
        }
        const last = files.segments().at(-1);
        if (last !== undefined) await files.cut(last.size);
        await dropUnsaved(index);
        isOpen = true;
        await noteEdits(index);
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

    async close() {
      if (isOpen && files.segments().length > 0) {
        await files.append(encodeMark(), next).catch((error: unknown) => log.warn({ error }, cannotWrite));
      }
      isOpen = false;
      await files.close();
    },

    list: listChanges,

    async get(number) {
      const found = find(number);
      if (found === undefined) return undefined;
      return readChange((await files.read(found.segment)).subarray(found.start, found.end - 1));
    },

    lastOf: async (keys) =>
      keys.map((key) => {
        const found = find(keyNumbers.get(key.text));
        return found && headOf(found);
      }),

    watch(listener) {
      watchers.add(listener);
      return () => void watchers.delete(listener);
    },
  };

  async function listChanges(query: HistoryQuery): Promise<UdmChange[]> {
    const { key, author, withoutLayers = false, after = 0, before = next, limit } = query;
    const found: UdmChange[] = [];
    const pattern = key && keyPattern(key.text);
    let read: { readonly segment: Segment; readonly bytes: Buffer } | undefined;
    const all = kept;
    for (let place = placeOf(before) - 1; place >= 0 && found.length < limit; place--) {
      const change = all[place] as KeptChange;
      if (change.number <= after) break;
      if (author !== undefined && change.author !== author) continue;
      if (withoutLayers && change.layer !== undefined) continue;
      if (read?.segment !== change.segment) {
        const bytes = await files.read(change.segment).catch(() => undefined);
        // It was removed meanwhile, and so were all before it.
        if (bytes === undefined) break;
        read = { segment: change.segment, bytes };
      }
      const line = read.bytes.subarray(change.start, change.end - 1);
      if (pattern === undefined || line.includes(pattern)) found.push(readChange(line));
    }
    return found;
  }
}

function headOf({ number, time, author, method, entries }: ChangeHead): ChangeHead {
  return { number, time, author, method, entries };
}
