import { crc32 } from "node:zlib";
import type { Key } from "../../base/ip/index.ts";
import { parseStoredKey } from "../model/name-key.ts";
import { type EntryChange, isChange, itemsPerYield, yieldToEventLoop } from "../model/apply-writes.ts";
import { entryTextPair, readEntryTexts } from "../model/render-entry.ts";
import type { UdmEntry } from "../model/entry.ts";
import type { ScopeChange } from "../model/scope.ts";
import type { UdmIndex } from "../model/udm-store.ts";

/** A change without its entries. */
export interface ChangeHead {
  /** Grows by one with each change; the first one is 1. */
  readonly number: number;
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** The user who was authenticated, `cli`, the name of a source, `file` for an edit by hand; empty when nobody is known. */
  readonly author: string;
  /** The method that was called: `UpdateUdm`. */
  readonly method: string;
  /** The number of entries that differ. */
  readonly entries: number;
  /** The layer whose entries they are; undefined: those that people write. */
  readonly layer?: string | undefined;
  /** The collector that has made the change, where several share the metadata. */
  readonly collector?: string | undefined;
  /** What happened to a scope; such a change has no entries. */
  readonly scope?: ScopeChange | undefined;
}

/** One commit: what happened to which entries. */
export interface UdmChange extends ChangeHead {
  readonly changes: readonly EntryChange[];
  /**
   * True if the change was too big to be kept with its entries, so that it cannot be undone: there are none, or of a layer some.
   */
  readonly isCut: boolean;
}

export interface HistoryQuery {
  /** Changes of the entry with exactly this key. */
  readonly key?: Key | undefined;
  readonly author?: string | undefined;
  /** Changes of entries that people write only. */
  readonly withoutLayers?: boolean | undefined;
  /** Changes with higher numbers only. */
  readonly after?: number | undefined;
  /** Changes with lower numbers only. */
  readonly before?: number | undefined;
  readonly limit: number;
}

/** The changes of the metadata. Bounded: the oldest go first. */
export interface UdmHistory {
  /** Aborted when no more changes come, because the store was stopped. Left out: that is not known. */
  readonly closed?: AbortSignal | undefined;
  /** Tells whether changes are kept. */
  isOn(): boolean;
  /**
   * Names the numbering of the changes: letters and digits. It is another one when numbers may be given a second time, because the history was
   * lost or damaged, or is one of another database. Empty while it is not known.
   */
  epoch(): string;
  /** The number of the last change; 0 before there was one. */
  last(): number;
  /** The number of the oldest change that is kept; one above the last when none is. */
  first(): number;
  /** Changes, the newest first. */
  list(query: HistoryQuery): Promise<readonly UdmChange[]>;
  /** Undefined when it is not kept, or never was. */
  get(number: number): Promise<UdmChange | undefined>;
  /** Changes of a time without their entries, the newest first; those at its end are left out. */
  headsBetween(from: number, to: number, limit: number): Promise<readonly ChangeHead[]>;
  /** For each key the change that made its entry, of those that people write, what it is; undefined when none that is kept has. */
  lastOf(keys: readonly Key[]): Promise<readonly (ChangeHead | undefined)[]>;
  /**
   * Calls the listener with each change, in order, after it is saved.
   *
   * @returns a function that ends it.
   */
  watch(listener: (change: UdmChange) => void): () => void;
}

// A change is a line of columns with tabs between them, which JSON has none of: checksum of what follows it (8 hexadecimal digits), head as JSON,
// then four for each entry: before as JSON, what the file alone knew of it as JSON, and the same two after. Empty: there is none.

const checksumDigits = 8;
const savedMark = '{"saved":true';
const tab = 0x09;
export const lineEnd = 0x0a;
/** Stands before each key of a line, and, for quotes in texts are escaped, nowhere else. */
const keyMark = Buffer.from('{"key":"');
const quote = 0x22;

/** The head of a line. */
export interface LineHead extends ChangeHead {
  /** The number of the first change that was saved by the same replacement of the file. */
  readonly group: number;
  readonly isCut: boolean;
}

/** @returns the line; without its entries when it would be longer than `maxBytes`. */
export async function encodeLine(
  head: LineHead,
  changes: readonly EntryChange[],
  maxBytes: number,
): Promise<{ readonly bytes: Buffer; readonly isCut: boolean }> {
  const parts: Buffer[] = [];
  let size = 0;
  for (let i = 0; i < changes.length && size <= maxBytes; i += itemsPerYield) {
    const part = Buffer.from(
      changes
        .slice(i, i + itemsPerYield)
        .map(changeColumns)
        .join(""),
    );
    parts.push(part);
    size += part.length;
    if (i + itemsPerYield < changes.length) await yieldToEventLoop();
  }
  const isTooLong = size > maxBytes;
  const isCut = isTooLong || head.isCut;
  const start = Buffer.from(`\t${JSON.stringify({ ...head, isCut })}`);
  const rest = isTooLong ? [start] : [start, ...parts];
  return { bytes: Buffer.concat([Buffer.from(checksum(...rest)), ...rest, Buffer.from("\n")]), isCut };
}

/** A line written at a stop: all changes before it are in the file. */
export interface SavedMark {
  /** The stamp of the file. */
  readonly stamp: string;
  /** The last change in the file of the whole state; -1 when there is none that can be used. */
  readonly base: number;
}

export function encodeMark({ stamp, base }: SavedMark): Buffer {
  return plainLine(`${savedMark},"stamp":${JSON.stringify(stamp)},"base":${base}}`);
}

/** A line that names the numbering to which the changes of its file belong. */
export function encodeEpoch(epoch: string): Buffer {
  return plainLine(JSON.stringify({ epoch }));
}

/** The numbering that a line of {@link encodeEpoch} names; undefined for any other line. */
export function readEpoch(line: Buffer): string | undefined {
  const text = line.toString("latin1", checksumDigits + 1, Math.min(line.length, 80));
  const epoch = /^\{"epoch":"([0-9a-z]+)"\}$/.exec(text)?.[1];
  return epoch !== undefined && isWhole(line) ? epoch : undefined;
}

function plainLine(json: string): Buffer {
  const rest = Buffer.from(`\t${json}`);
  return Buffer.concat([Buffer.from(checksum(rest)), rest, Buffer.from("\n")]);
}

/** Reads a line of {@link encodeMark}, also one of an older version, which names no stamp; undefined for any other line. */
export function readMark(line: Buffer): SavedMark | undefined {
  const start = checksumDigits + 1;
  if (line.toString("latin1", start, start + savedMark.length) !== savedMark || !isWhole(line)) return undefined;
  const { stamp = "", base = -1 } = JSON.parse(line.toString("utf8", start)) as Partial<SavedMark>;
  return { stamp, base };
}

function isWhole(line: Buffer): boolean {
  return line.toString("latin1", 0, checksumDigits) === checksum(line.subarray(checksumDigits));
}

/** @param line without its end. @returns undefined when it is not as it was written. */
export function readHead(line: Buffer): LineHead | undefined {
  if (line.length < checksumDigits + 2 || line[checksumDigits] !== tab) return undefined;
  if (!isWhole(line)) return undefined;
  const end = line.indexOf(tab, checksumDigits + 1);
  return JSON.parse(line.toString("utf8", checksumDigits + 1, end < 0 ? line.length : end)) as LineHead;
}

/** Reads a change, a big one in several cycles of the event loop. @param line as {@link readHead} takes it, found good. */
export async function readChange(line: Buffer): Promise<UdmChange> {
  let at = line.indexOf(tab) + 1;
  const column = (): string => {
    const end = line.indexOf(tab, at);
    const text = line.toString("utf8", at, end < 0 ? line.length : end);
    at = end < 0 ? line.length + 1 : end + 1;
    return text;
  };
  const { group: _, ...rest } = JSON.parse(column()) as LineHead;
  const changes: EntryChange[] = [];
  while (at <= line.length) {
    const [before, beforeFileOnly, after, afterFileOnly] = [column(), column(), column(), column()];
    changes.push({ before: readSide(before, beforeFileOnly), after: readSide(after, afterFileOnly) });
    if (changes.length % itemsPerYield === 0) await yieldToEventLoop();
  }
  return { ...rest, changes };
}

/** The texts of all keys of a line, some more than once. */
export function* keysOf(line: Buffer): Iterable<string> {
  for (let at = line.indexOf(keyMark); at >= 0; at = line.indexOf(keyMark, at)) {
    at += keyMark.length;
    const end = line.indexOf(quote, at);
    yield line.toString("latin1", at, end);
    at = end;
  }
}

/** Returns the bytes that a line contains when the entry with this key is among those that changed. */
export function keyPattern(key: string): Buffer {
  return Buffer.from(`{"key":"${key}"`);
}

function changeColumns({ before, after }: EntryChange): string {
  return `${sideColumns(before)}${sideColumns(after)}`;
}

function sideColumns(entry: UdmEntry | undefined): string {
  if (entry === undefined) return "\t\t";
  const { json, fileOnly = "" } = entryTextPair(entry);
  return `\t${json}\t${fileOnly}`;
}

function readSide(json = "", fileOnly = ""): UdmEntry | undefined {
  return json === "" ? undefined : readEntryTexts(json, fileOnly === "" ? undefined : fileOnly);
}

function checksum(...parts: readonly Uint8Array[]): string {
  return parts
    .reduce((sum, part) => crc32(part, sum), 0)
    .toString(16)
    .padStart(checksumDigits, "0");
}

/** Returns what happened to each key in all of the changes. */
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

/** Tells whether changes that were saved by one replacement of the file, all or none, are in it. */
export function isInFile(changes: readonly UdmChange[], index: UdmIndex): boolean {
  let isBefore = false;
  for (const [key, change] of collapse(changes)) {
    if (!isChange(change)) continue;
    const there = index.get(parseStoredKey(key));
    if (isSame(there, change.after)) return true;
    if (isSame(there, change.before)) isBefore = true;
  }
  return !isBefore;
}

/** Finds what happened to entries since changes, the last of which is the last one at all. */
export function findEdits(changes: readonly UdmChange[], index: UdmIndex): readonly EntryChange[] {
  const edits: EntryChange[] = [];
  for (const [key, { after: before }] of collapse(changes)) {
    const after = index.get(parseStoredKey(key));
    if (!isSame(before, after)) edits.push({ before, after });
  }
  return edits;
}

function isSame(a: UdmEntry | undefined, b: UdmEntry | undefined): boolean {
  return !isChange({ before: a, after: b });
}
