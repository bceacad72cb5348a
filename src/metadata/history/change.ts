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
  /** The number of the change. The first is 1, and each one adds 1. */
  readonly number: number;
  /** The time in milliseconds since the Unix epoch. */
  readonly time: number;
  /** The authenticated user, `cli`, the name of a source, or `file` for an edit by hand. Empty where the author is unknown. */
  readonly author: string;
  /** The method that was called, such as `UpdateUdm`. */
  readonly method: string;
  /** The number of entries that differ. */
  readonly entries: number;
  /** The layer of the entries; undefined for entries that people write. */
  readonly layer?: string | undefined;
  /** The collector that made the change, where several share the metadata. */
  readonly collector?: string | undefined;
  /** The change of a scope. Such a change has no entries. */
  readonly scope?: ScopeChange | undefined;
}

/** One commit with the entries that it changed. */
export interface UdmChange extends ChangeHead {
  readonly changes: readonly EntryChange[];
  /**
   * True where the change was too big to keep all its entries, so that it cannot be undone. It has no entries, or some if it is of a layer.
   */
  readonly isCut: boolean;
}

export interface HistoryQuery {
  /** Limits the answer to changes of the entry with exactly this key. */
  readonly key?: Key | undefined;
  readonly author?: string | undefined;
  /** True limits the answer to changes of entries that people write. */
  readonly withoutLayers?: boolean | undefined;
  /** Limits the answer to changes with higher numbers. */
  readonly after?: number | undefined;
  /** Limits the answer to changes with lower numbers. */
  readonly before?: number | undefined;
  readonly limit: number;
}

/** The changes of the metadata. Their size is bounded, and the oldest are removed first. */
export interface UdmHistory {
  /** A signal that aborts when the store has stopped and no more changes can come. Left out where that is not known. */
  readonly closed?: AbortSignal | undefined;
  /** Reports whether changes are kept. */
  isOn(): boolean;
  /**
   * Returns the name of the numbering of the changes, in letters and digits. It changes when numbers may be used a second time: the history was
   * lost or damaged, or belongs to another database. It is empty while it is not known.
   */
  epoch(): string;
  /** Returns the number of the last change; 0 before the first one. */
  last(): number;
  /** Returns the number of the oldest kept change; one above the last number where none is kept. */
  first(): number;
  /** Returns changes, the newest first. */
  list(query: HistoryQuery): Promise<readonly UdmChange[]>;
  /** Returns a change; undefined where it is no longer kept or never existed. */
  get(number: number): Promise<UdmChange | undefined>;
  /** Returns changes of a period without their entries, the newest first. A change exactly at the end is left out. */
  headsBetween(from: number, to: number, limit: number): Promise<readonly ChangeHead[]>;
  /** Returns for each key the last change of the entry that people write; undefined where no kept change has it. */
  lastOf(keys: readonly Key[]): Promise<readonly (ChangeHead | undefined)[]>;
  /**
   * Calls the listener with each change, in order, after it is saved.
   *
   * @returns a function that removes the listener.
   */
  watch(listener: (change: UdmChange) => void): () => void;
}

// A change is a line of columns, separated by tabs, which JSON does not contain. The first is a checksum of the rest (8 hexadecimal digits), the
// second the head as JSON. Four columns follow for each entry: its JSON before and its file-only fields as JSON, then the same two after. An
// empty column means that there is none.

const checksumDigits = 8;
const savedMark = '{"saved":true';
const tab = 0x09;
export const lineEnd = 0x0a;
/** The bytes before each key of a line. They occur nowhere else, because quotes in texts are escaped. */
const keyMark = Buffer.from('{"key":"');
const quote = 0x22;

/** The head of a line. */
export interface LineHead extends ChangeHead {
  /** The number of the first change that was saved by the same replacement of the file. */
  readonly group: number;
  readonly isCut: boolean;
}

/** Encodes a change as a line. If the line would be longer than `maxBytes`, it has no entries. */
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

/** A line that is written at a stop. It says that all changes before it are in the file. */
export interface SavedMark {
  /** The stamp of the file. */
  readonly stamp: string;
  /** The number of the last change in the file of the whole state; -1 where there is no usable file. */
  readonly base: number;
}

export function encodeMark({ stamp, base }: SavedMark): Buffer {
  return plainLine(`${savedMark},"stamp":${JSON.stringify(stamp)},"base":${base}}`);
}

/** Returns a line that names the numbering of the changes of its file. */
export function encodeEpoch(epoch: string): Buffer {
  return plainLine(JSON.stringify({ epoch }));
}

/** Reads the numbering from a line of {@link encodeEpoch}; returns undefined for any other line. */
export function readEpoch(line: Buffer): string | undefined {
  const text = line.toString("latin1", checksumDigits + 1, Math.min(line.length, 80));
  const epoch = /^\{"epoch":"([0-9a-z]+)"\}$/.exec(text)?.[1];
  return epoch !== undefined && isWhole(line) ? epoch : undefined;
}

function plainLine(json: string): Buffer {
  const rest = Buffer.from(`\t${json}`);
  return Buffer.concat([Buffer.from(checksum(rest)), rest, Buffer.from("\n")]);
}

/** Reads a line of {@link encodeMark}, also of an older version, which has no stamp. Returns undefined for any other line. */
export function readMark(line: Buffer): SavedMark | undefined {
  const start = checksumDigits + 1;
  if (line.toString("latin1", start, start + savedMark.length) !== savedMark || !isWhole(line)) return undefined;
  const { stamp = "", base = -1 } = JSON.parse(line.toString("utf8", start)) as Partial<SavedMark>;
  return { stamp, base };
}

function isWhole(line: Buffer): boolean {
  return line.toString("latin1", 0, checksumDigits) === checksum(line.subarray(checksumDigits));
}

/** Reads the head of a line. @param line without its end. @returns undefined where the line is damaged. */
export function readHead(line: Buffer): LineHead | undefined {
  if (line.length < checksumDigits + 2 || line[checksumDigits] !== tab) return undefined;
  if (!isWhole(line)) return undefined;
  const end = line.indexOf(tab, checksumDigits + 1);
  return JSON.parse(line.toString("utf8", checksumDigits + 1, end < 0 ? line.length : end)) as LineHead;
}

/** Reads a change. A big one takes several turns of the event loop. @param line a line that {@link readHead} has accepted. */
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

/** Yields the texts of all keys of a line, some more than once. */
export function* keysOf(line: Buffer): Iterable<string> {
  for (let at = line.indexOf(keyMark); at >= 0; at = line.indexOf(keyMark, at)) {
    at += keyMark.length;
    const end = line.indexOf(quote, at);
    yield line.toString("latin1", at, end);
    at = end;
  }
}

/** Returns bytes that a line contains if the entry with this key has changed. */
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

/** Combines the changes into one change for each key. */
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

/** Reports whether changes are in the file. One replacement of the file saved all of them, or none. */
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

/** Finds edits that were made after these changes, which must end with the last change of all. */
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
