import { type Key, compareKeys } from "../../base/ip/index.ts";
import {
  type HistoryQuery,
  type UdmHistory,
  type UdmChange,
  type ChangeHead,
  encodeEpoch,
  encodeLine,
  encodeMark,
  findEdits,
  isInFile,
  keysOf,
  lineEnd,
  readChange,
  readEpoch,
  readHead,
  readMark,
  type LineHead,
  type SavedMark,
} from "./change.ts";
import { randomUUID } from "node:crypto";
import type { FileIo } from "../../base/file/index.ts";
import { type Log, type Reporting, limitLog } from "../../base/report/index.ts";
import { type EntryChange, isChange, yieldToEventLoop, Watchers } from "../model/apply-writes.ts";
import type { ScopeChange } from "../model/scope.ts";
import type { UdmIndex } from "../model/udm-store.ts";
import { differencesOf, fileMode, HistoryFiles, StateFile, type BaseEntry, type Segment } from "./history-files.ts";
import { HistoryMetrics, KeptChanges, type KeptChange, KeyTable } from "./kept-changes.ts";

/** A commit that is about to be saved. */
interface NewChange {
  readonly author: string;
  readonly method: string;
  readonly changes: readonly EntryChange[];
}

/** A change that a source made to its layer. */
export interface NewLayerChange extends NewChange {
  readonly layer: string;
  /** The number of entries that differ. `changes` may have fewer. */
  readonly entries: number;
}

/** A change of a scope, which has no entries. */
export type NewScopeChange = NewChange & { readonly scope: ScopeChange };

interface HistoryOptions extends Reporting {
  readonly io: FileIo;
  /** The beginning of the paths of its files. A number is appended. */
  readonly path: string;
  /** The most bytes of all files together; 0 turns the history off. */
  readonly maxBytes: number;
  /** Returns the state with all kept changes; undefined before there is a state. */
  readonly current: () => UdmIndex | undefined;
}

const cannotWrite = "the history of the metadata cannot be written";
const checkName = "metadata history";
const baseMark = "# netgloss metadata as of change ";
/** The number of files of the history. */
const parts = 16;
/** The bytes at the end of the history that a start compares with the file. */
const comparedBytes = 4 * 1024 * 1024;
/** The number of keys that are recorded in one turn of the event loop, which takes one or two milliseconds. */
const keysPerYield = 5000;

/** The history of a store. The store writes it, one call after the other. */
export class MetadataHistory implements UdmHistory {
  readonly #options: HistoryOptions;
  readonly #log: Log;
  readonly #files: HistoryFiles;
  readonly #keyNumbers = new KeyTable();
  readonly #watchers: Watchers<[UdmChange]>;
  readonly #kept: KeptChanges;
  #isOpen = false;
  #closing = new AbortController();
  #epoch = "";
  /** True where the last file names the epoch. */
  #isEpochKept = false;
  /** True where lines were damaged, or the last lines are incomplete. */
  #isTorn = false;
  /** The mark that the collector wrote at its last stop. */
  #mark: SavedMark | undefined;
  /** True where the last change is known to be in the file. */
  #isSaved = true;
  #next = 1;
  /** The changes that are appended but not yet kept. */
  #pending: { readonly kept: readonly KeptChange[]; readonly changes: readonly UdmChange[] } | undefined;
  readonly #metrics: HistoryMetrics;
  readonly #baseFile: StateFile;
  /** The number of the last change in the file of the whole state; -1 where there is no usable file. */
  #baseNumber = -1;
  #baseWrite: Promise<void> | undefined;

  constructor(options: HistoryOptions) {
    this.#options = options;
    const { io, maxBytes, clock } = options;
    this.#log = limitLog(options.log, clock);
    this.#watchers = new Watchers(this.#log, "a listener to changes of metadata failed");
    this.#files = new HistoryFiles(io, options.path, Math.ceil(maxBytes / parts));
    this.#kept = new KeptChanges(this.#files);
    this.#metrics = new HistoryMetrics(options.metrics, () => ({
      changes: this.#kept.all().length,
      bytes: this.#files.segments().reduce((sum, { size }) => sum + size, 0),
    }));
    this.#baseFile = new StateFile(io, `${options.path}base`, baseMark, Math.floor(clock.now()).toString(36), fileMode);
  }

  /** Accepts the appended changes after the file is saved. A big change takes several turns of the event loop. */
  async keep(): Promise<void> {
    if (this.#pending === undefined) return;
    const { kept: appended, changes } = this.#pending;
    this.#pending = undefined;
    this.#kept.add(appended);
    this.#next = (appended.at(-1) as KeptChange).number + 1;
    for (const { number, layer, changes: entries } of changes) {
      if (layer !== undefined) continue;
      for (const [i, { before, after }] of entries.entries()) {
        if (i % keysPerYield === keysPerYield - 1) await yieldToEventLoop();
        this.#keyNumbers.set((after ?? before)?.key.text ?? "", number);
      }
    }
    this.#metrics.kept(
      appended.length,
      appended.reduce((sum, { start, end }) => sum + end - start, 0),
    );
    for (const change of changes) this.#watchers.notify(change);
  }

  /**
   * Writes the commits of a group durably before the file is saved, so that the history has every change of the file.
   *
   * @returns the number of each commit; undefined for a commit that changes nothing, and without a history.
   * @throws the errors of the system. Nothing is kept in that case.
   */
  async append(group: readonly NewChange[]): Promise<readonly (number | undefined)[]> {
    await this.#shrink();
    return this.#append(group);
  }

  /**
   * Records a change that is already in force and is not in the file. It never throws: the entries of a source apply even if they cannot be recorded.
   * It must not be called between {@link append} and the call that completes it.
   *
   * @returns the number of the change; undefined where it is not kept.
   */
  async note(change: NewLayerChange | NewScopeChange): Promise<number | undefined> {
    try {
      await this.#shrink();
      const [number] = await this.#append([change]);
      await this.keep();
      return number;
    } catch {
      // The failure is already logged and counted.
      return undefined;
    }
  }

  isOn(): boolean {
    return this.#isOpen;
  }

  epoch(): string {
    return this.#epoch;
  }

  last(): number {
    return this.#next - 1;
  }

  first(): number {
    return this.#kept.all()[0]?.number ?? this.#next;
  }

  /**
   * Reads the kept changes and reconciles them with the file. It never throws: if its files cannot be used, there is no history.
   *
   * @param stamp the stamp of the file. If it differs from the stamp at the last stop, a person may have edited the file.
   */
  async open(index: UdmIndex, stamp: string): Promise<void> {
    if (this.#closing.signal.aborted) this.#closing = new AbortController();
    if (this.#options.maxBytes === 0 || this.#isOpen) return;
    try {
      for (const segment of await this.#files.find()) {
        this.#readLines(segment, await this.#files.read(segment));
        await yieldToEventLoop();
      }
      const last = this.#files.segments().at(-1);
      if (last !== undefined) await this.#files.cut(last.size);
      // The numbers of lost changes will be used again.
      if (this.#epoch === "" || this.#isTorn) {
        this.#epoch = randomUUID().replaceAll("-", "");
        this.#isEpochKept = false;
      }
      // Otherwise the next start would give the same numbers another epoch. A failed write is tried again with the next change.
      if (!this.#isEpochKept)
        await this.#files.append(encodeEpoch(this.#epoch), this.#next).then(
          () => (this.#isEpochKept = true),
          () => undefined,
        );
      await this.#dropUnsaved(index);
      this.#isOpen = true;
      const isUntouched = this.#isSaved && stamp !== "" && stamp === this.#mark?.stamp;
      if (isUntouched) this.#baseNumber = (await this.#baseFile.isThere()) ? (this.#mark?.base ?? -1) : -1;
      const isEdited = !isUntouched && (await this.#noteEdits(index));
      if (isEdited || this.#baseNumber + 1 < (this.#kept.all()[0]?.number ?? this.#next)) this.#writeBase(index);
      this.#options.health.set({ name: checkName, ready: true });
    } catch (error) {
      this.#isOpen = false;
      this.#metrics.failed("open");
      const detail = `there is no history of the metadata: ${error instanceof Error ? error.message : String(error)}`;
      this.#options.health.set({ name: checkName, ready: true, degraded: true, detail });
      this.#log.error(
        { error, path: this.#options.path },
        "the history of the metadata cannot be opened: changes are not kept",
      );
    }
  }

  /** Removes the appended changes after the file could not be saved. */
  async takeBack(): Promise<void> {
    const taken = this.#pending?.kept[0];
    this.#pending = undefined;
    // If lines remain, the next start finds that their changes are not in the file.
    if (taken !== undefined)
      await this.#files
        .cut(taken.start)
        .catch((error: unknown) => this.#log.warn({ error }, "the history of the metadata cannot be shortened"));
  }

  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  /** Closes the history. @param stamp the stamp of the file at its last save. */
  async close(stamp: string): Promise<void> {
    this.#closing.abort();
    await this.#baseWrite;
    if (this.#isOpen && this.#files.segments().length > 0) {
      await this.#files
        .append(encodeMark({ stamp, base: this.#baseNumber }), this.#next)
        .catch((error: unknown) => this.#log.warn({ error }, cannotWrite));
    }
    this.#isOpen = false;
    await this.#files.close();
  }

  list(query: HistoryQuery): Promise<readonly UdmChange[]> {
    return this.#kept.list({ ...query, before: query.before ?? this.#next });
  }

  async get(number: number): Promise<UdmChange | undefined> {
    const found = this.#kept.find(number);
    return found && readChange((await this.#files.read(found.segment)).subarray(found.start, found.end - 1));
  }

  async headsBetween(from: number, to: number, limit: number): Promise<readonly ChangeHead[]> {
    return this.#kept
      .between(from, to, limit)
      .map(({ number, time, author, method, entries, layer }) => ({ number, time, author, method, entries, layer }));
  }

  async lastOf(keys: readonly Key[]): Promise<readonly (ChangeHead | undefined)[]> {
    return keys.map((key) => {
      const found = this.#kept.find(this.#keyNumbers.get(key.text));
      return found && headOf(found);
    });
  }

  watch(listener: (change: UdmChange) => void): () => void {
    return this.#watchers.add(listener);
  }

  #readLines(segment: Segment, bytes: Buffer): void {
    let good = 0;
    this.#isEpochKept = false;
    for (let start = 0; start < bytes.length;) {
      const end = bytes.indexOf(lineEnd, start) + 1;
      const line = bytes.subarray(start, end === 0 ? bytes.length : end - 1);
      const saved = end === 0 ? undefined : readMark(line);
      if (saved !== undefined) {
        this.#isSaved = true;
        this.#mark = saved;
        good = end;
        start = end;
        continue;
      }
      const named = end === 0 ? undefined : readEpoch(line);
      if (named !== undefined) {
        this.#epoch = named;
        this.#isEpochKept = true;
        good = end;
        start = end;
        continue;
      }
      const head = end === 0 ? undefined : readHead(line);
      if (head === undefined || head.number < this.#next) {
        this.#metrics.failed("torn");
        this.#isTorn = true;
        this.#log.warn({ path: segment.path, start }, "an incomplete line of the metadata history is skipped");
        if (end === 0) break;
      } else {
        this.#kept.add([{ ...head, segment, start, end }]);
        this.#isSaved = false;
        this.#next = head.number + 1;
        if (head.layer === undefined) for (const key of keysOf(line)) this.#keyNumbers.set(key, head.number);
        good = end;
      }
      start = end;
    }
    segment.size = good;
  }

  /** Writes the whole state in the background. */
  #writeBase(index: UdmIndex): void {
    const number = this.#next - 1;
    this.#baseWrite ??= this.#baseFile
      .write(index, String(number))
      .then(() => void (this.#baseNumber = number))
      .catch((error: unknown) => {
        this.#metrics.failed("base");
        this.#log.warn({ error }, "the state that changes of the metadata begin from cannot be kept");
      })
      .finally(() => (this.#baseWrite = undefined));
  }

  /** Finds the differences between the file and the state after all kept changes; undefined where they cannot be determined. */
  async #editsSinceBase(index: UdmIndex): Promise<readonly EntryChange[] | undefined> {
    const base = await this.#baseFile.read().catch(() => undefined);
    const baseNumber = Number(base?.head);
    if (base === undefined || !Number.isSafeInteger(baseNumber) || baseNumber > this.#next - 1) return undefined;
    const position = this.#kept.all().findIndex(({ number }) => number > baseNumber);
    const later = position < 0 ? [] : this.#kept.all().slice(position);
    // The changes must have no gap, and each must have its entries.
    const firstLater = later[0]?.number ?? this.#next;
    const isWhole = firstLater === baseNumber + 1 && this.#next - 1 === baseNumber + later.length;
    if (!isWhole || later.some(({ isCut, layer }) => isCut && layer === undefined)) return undefined;
    try {
      const expected = new Map<string, BaseEntry>(await differencesOf(base.bytes, index));
      for (const { layer, changes } of position < 0 ? [] : await this.#kept.readFrom(position)) {
        if (layer !== undefined) continue;
        for (const { before, after } of changes) {
          const key = after?.key ?? before?.key;
          if (key !== undefined) expected.set(key.text, { key, entry: after });
        }
        await yieldToEventLoop();
      }
      this.#baseNumber = baseNumber;
      return [...expected.values()]
        .map(({ key, entry }) => ({ before: entry, after: index.get(key), key }))
        .filter(isChange)
        .toSorted((a, b) => compareKeys(a.key, b.key));
    } catch (error) {
      this.#log.warn({ error }, "the state that changes of the metadata begin from cannot be read");
      return undefined;
    }
  }

  /** Removes the changes from a position to the end. They are the last lines of the last file. */
  async #cutFrom(position: number): Promise<void> {
    const first = this.#kept.all()[position];
    if (first === undefined) return;
    this.#kept.cutFrom(position);
    // No answer has named this number, so it can be used again.
    this.#next = first.number;
    await this.#files.cut(first.start);
  }

  /** Removes the last group of changes if it was appended but never saved. Its lines are in one file. */
  async #dropUnsaved(index: UdmIndex): Promise<void> {
    const all = this.#kept.all();
    const last = all.at(-1);
    // All changes before a change of a layer were saved before it was recorded.
    if (last === undefined || this.#isSaved || last.layer !== undefined) return;
    let position = all.length - 1;
    while (position > 0 && all[position - 1]?.group === last.group) position--;
    if (isInFile(await this.#kept.readFrom(position), index)) return;
    this.#log.info({ change: last.group }, "an interrupted change that was not saved is left out of the history");
    await this.#cutFrom(position);
  }

  /** Records edits by hand. @returns true where there were any. */
  async #noteEdits(index: UdmIndex): Promise<boolean> {
    const all = this.#kept.all();
    let position = all.length;
    for (let size = 0; position > 0 && size < comparedBytes; position--) {
      const { start, end } = all[position - 1] as KeptChange;
      size += end - start;
    }
    const known = async (): Promise<readonly UdmChange[]> =>
      (await this.#kept.readFrom(position)).filter(({ layer }) => layer === undefined);
    const changes = (await this.#editsSinceBase(index)) ?? findEdits(await known(), index);
    if (changes.length === 0) return false;
    this.#metrics.edited();
    this.#log.info({ entries: changes.length }, "the metadata file was edited by hand since the last change");
    await this.#append([{ author: "file", method: "EditFile", changes }]);
    await this.keep();
    return true;
  }

  async #append(
    group: readonly (NewChange | NewLayerChange | NewScopeChange)[],
  ): Promise<readonly (number | undefined)[]> {
    if (!this.#isOpen) return group.map(() => undefined);
    const first = this.#next;
    const time = this.#options.clock.now();
    const lines: Buffer[] = [];
    const heads: LineHead[] = [];
    const changes: UdmChange[] = [];
    const numbers: (number | undefined)[] = [];
    for (const { author, method, changes: all, ...more } of group) {
      const real: EntryChange[] = [];
      for (const [i, change] of all.entries()) {
        if (i % keysPerYield === keysPerYield - 1) await yieldToEventLoop();
        if (isChange(change)) real.push(change);
      }
      const isNothing = real.length === 0 && !("scope" in more);
      numbers.push(isNothing ? undefined : first + heads.length);
      if (isNothing) continue;
      const head = { number: first + heads.length, time, author, method, entries: real.length, ...more, group: first };
      const line = await encodeLine(
        { ...head, isCut: head.entries > real.length },
        real,
        Math.floor(this.#options.maxBytes / 4),
      );
      lines.push(line.bytes);
      heads.push({ ...head, isCut: line.isCut });
      const { group: _, ...shown } = head;
      changes.push({ ...shown, isCut: line.isCut, changes: real });
    }
    if (lines.length === 0) return numbers;
    let at: { readonly segment: Segment; readonly start: number };
    const name = this.#isEpochKept && !this.#files.isFull() ? [] : [encodeEpoch(this.#epoch)];
    try {
      at = await this.#files.append(
        lines.length === 1 && name.length === 0 ? (lines[0] as Buffer) : Buffer.concat([...name, ...lines]),
        first,
      );
      this.#isEpochKept = true;
    } catch (error) {
      this.#metrics.failed("append");
      this.#log.error({ error }, cannotWrite);
      throw error;
    }
    let start = at.start + (name[0]?.length ?? 0);
    const appended: KeptChange[] = [];
    for (const [i, head] of heads.entries()) {
      const end = start + (lines[i] as Buffer).length;
      appended.push({ ...head, segment: at.segment, start, end });
      start = end;
    }
    this.#pending = { kept: appended, changes };
    return numbers;
  }

  async #shrink(): Promise<void> {
    try {
      const removed = await this.#files.shrink(this.#options.maxBytes);
      if (removed.length === 0) return;
      this.#kept.forgetBelow(this.#files.segments()[0]?.first ?? this.#next);
      const index = this.#options.current();
      if (index !== undefined && this.#baseNumber + 1 < (this.#kept.all()[0]?.number ?? this.#next))
        this.#writeBase(index);
      this.#keyNumbers.forgetBelow(this.#kept.all()[0]?.number ?? this.#next);
    } catch (error) {
      this.#metrics.failed("shrink");
      this.#log.warn({ error }, "an old file of the history of the metadata cannot be removed");
    }
  }
}

function headOf({ number, time, author, method, entries }: ChangeHead): ChangeHead {
  return { number, time, author, method, entries };
}
