import {
  replaceFile,
  sameStamp,
  type FileIo,
  type FileStamp,
  type SavePlan,
  type SavedFile,
} from "../../base/file/index.ts";
import { findEntryLines, type EntryLines } from "./entry-lines.ts";
import { type Key, compareKeys } from "../../base/ip/index.ts";
import { parseStoredKey } from "../model/name-key.ts";
import { emptyFileText, entryEnd } from "../model/render-entry.ts";

// Each change is stored as the length of the key's text (1 byte), the length of the YAML (4 bytes), and both texts.
const headBytes = 5;
/** The value in place of a length for a deleted entry. */
const isGone = 0xffff_ffff;
const firstBytes = 4096;

/**
 * The changes to the file in their order, stored as bytes. Many separate texts would slow down the garbage collector, and
 * each would be copied on its way to another thread.
 */
export class ChangeLog {
  #bytes = Buffer.from(new ArrayBuffer(firstBytes));
  #at = 0;

  get isEmpty(): boolean {
    return this.#at === 0;
  }

  /** Returns the length in bytes. */
  get length(): number {
    return this.#at;
  }

  /** Discards everything after this length. */
  cut(length: number): void {
    this.#at = length;
  }

  /** Adds a change. @param yaml the text of `renderEntry`; undefined for a deleted entry. */
  add(key: Key, yaml: string | undefined): void {
    // UTF-8 has at most three bytes for each unit of a text.
    const most = headBytes + key.text.length + 3 * (yaml?.length ?? 0);
    if (this.#at + most > this.#bytes.length) {
      const larger = Buffer.from(new ArrayBuffer(2 * (this.#at + most)));
      this.#bytes.copy(larger, 0, 0, this.#at);
      this.#bytes = larger;
    }
    this.#bytes[this.#at] = key.text.length;
    const start = this.#at + headBytes + this.#bytes.write(key.text, this.#at + headBytes, "latin1");
    const length = yaml === undefined ? 0 : this.#bytes.write(yaml, start);
    this.#bytes.writeUInt32LE(yaml === undefined ? isGone : length, this.#at + 1);
    this.#at = start + length;
  }

  /** Returns all changes for {@link readChanges} and gives their memory away. Nothing may be added afterwards. */
  take(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#bytes.buffer, 0, this.#at);
  }
}

/** Reads the changes of a {@link ChangeLog}. The texts are not copied. */
export function readChanges(taken: Uint8Array): UdmChange[] {
  const bytes = Buffer.from(taken.buffer, taken.byteOffset, taken.length);
  const changes: UdmChange[] = [];
  for (let at = 0; at < bytes.length;) {
    const start = at + headBytes + (bytes[at] as number);
    const length = bytes.readUInt32LE(at + 1);
    const key = parseStoredKey(bytes.toString("latin1", at + headBytes, start));
    at = length === isGone ? start : start + length;
    changes.push({ key, yaml: length === isGone ? undefined : bytes.subarray(start, at) });
  }
  return changes;
}

/** The effect of a write on one entry: the text of {@link renderEntry}, or undefined for a deleted entry. */
interface UdmChange {
  readonly key: Key;
  readonly yaml: Uint8Array | undefined;
}

/**
 * Some entries of the file in list order, as the bytes of the file. A page is immutable, so that a failed save leaves the
 * previous pages unchanged.
 */
interface UdmPage {
  readonly bytes: Uint8Array;
  /** The key of the first entry. */
  readonly first: Key;
}

/** The entries of a new page. A page that grows to twice as many is split. */
const pageEntries = 64;

/** Adjacent pages in memory are written as one chunk. Smaller chunks are combined up to this size in bytes. */
const gatheredBytes = 256 * 1024;

/** Splits text of {@link renderEntry}, in list order, into pages. The bytes are shared, not copied. */
function paginate(bytes: Uint8Array): UdmPage[] {
  const starts = entryStarts(bytes);
  const pages: UdmPage[] = [];
  for (let i = 0; i < starts.length; i += pageEntries) {
    const start = starts[i] as number;
    const end = starts[i + pageEntries] ?? bytes.length;
    pages.push({ bytes: bytes.subarray(start, end), first: keyAt(bytes, start) });
  }
  return pages;
}

/** Returns the pages after the changes. Later changes of the same key win. Unchanged pages are shared. */
function changePages(pages: readonly UdmPage[], changes: readonly UdmChange[]): readonly UdmPage[] {
  const byKey = new Map(changes.map((change) => [change.key.text, change]));
  const sorted = [...byKey.values()].sort((a, b) => compareKeys(a.key, b.key));
  const changed: UdmPage[] = [];
  let taken = 0;
  for (let i = 0; i < sorted.length;) {
    // A key before the first page goes into the first page.
    const at = Math.max(
      0,
      lastNotAfter(pages.length, (n) => (pages[n] as UdmPage).first, (sorted[i] as UdmChange).key),
    );
    const next = pages[at + 1]?.first;
    const isInPage = ({ key }: UdmChange): boolean => next === undefined || compareKeys(key, next) < 0;
    let end = i + 1;
    while (end < sorted.length && isInPage(sorted[end] as UdmChange)) end++;
    for (; taken < at; taken++) changed.push(pages[taken] as UdmPage);
    for (const page of changePage(pages[at]?.bytes ?? new Uint8Array(0), sorted.slice(i, end))) changed.push(page);
    taken = at + 1;
    i = end;
  }
  for (; taken < pages.length; taken++) changed.push(pages[taken] as UdmPage);
  return changed;
}

/** Yields the whole file in few chunks of at most `maxBytes`. Adjacent pages in memory are not copied. */
function* pageChunks(pages: readonly UdmPage[], maxBytes: number): Generator<Uint8Array> {
  if (pages.length === 0) yield Buffer.from(emptyFileText);
  let gathered: Uint8Array[] = [];
  let gatheredLength = 0;
  for (const run of runs(pages)) {
    if (gatheredLength + run.length > gatheredBytes && gatheredLength > 0) {
      yield Buffer.concat(gathered);
      gathered = [];
      gatheredLength = 0;
    }
    if (run.length < gatheredBytes) {
      gathered.push(run);
      gatheredLength += run.length;
    } else {
      for (let at = 0; at < run.length; at += maxBytes) yield run.subarray(at, at + maxBytes);
    }
  }
  if (gatheredLength > 0) yield Buffer.concat(gathered);
}

/** Returns the number of lines before each page, and the total. */
function linesUpTo(pages: readonly UdmPage[], known: WeakMap<UdmPage, number>): Uint32Array {
  const sums = new Uint32Array(pages.length + 1);
  for (const [i, page] of pages.entries()) {
    let lines = known.get(page);
    if (lines === undefined) known.set(page, (lines = countLines(page.bytes, page.bytes.length)));
    sums[i + 1] = (sums[i] as number) + lines;
  }
  return sums;
}

/**
 * Returns the line of the file on which the entry begins, from 1 on; undefined where there is none.
 *
 * @param sums the result of {@link linesUpTo}.
 */
function lineOf(pages: readonly UdmPage[], sums: Uint32Array, key: Key): number | undefined {
  const n = lastNotAfter(pages.length, (i) => (pages[i] as UdmPage).first, key);
  const page = pages[n];
  if (page === undefined) return undefined;
  const start = page.first.text === key.text ? 0 : startIn(page.bytes, key);
  return start < 0 ? undefined : (sums[n] as number) + countLines(page.bytes, start) + 1;
}

/** Returns the position at which the entry of a key starts; -1 where there is none. It does not find the first entry. Only keys begin a line. */
function startIn({ buffer, byteOffset, length }: Uint8Array, { family, text }: Key): number {
  const line = family === 6 ? `\n"${text}":` : `\n${text}:`;
  return Buffer.from(buffer, byteOffset, length).indexOf(line, 0, "latin1") + 1 || -1;
}

/** Counts line ends. A plain loop is faster than a search, because lines are short. */
function countLines(bytes: Uint8Array, end: number): number {
  let lines = 0;
  for (let i = 0; i < end; i++) if (bytes[i] === 0x0a) lines++;
  return lines;
}

/** Counts the separate chunks of memory in which the pages are. */
function countRuns(pages: readonly UdmPage[]): number {
  let count = 0;
  for (const _ of runs(pages)) count++;
  return count;
}

/** Copies the pages into one chunk of memory, so that their previous memory can be freed. */
function gatherPages(pages: readonly UdmPage[]): readonly UdmPage[] {
  const all = new Uint8Array(pages.reduce((sum, page) => sum + page.bytes.length, 0));
  let at = 0;
  return pages.map(({ bytes, first }) => {
    all.set(bytes, at);
    at += bytes.length;
    return { bytes: all.subarray(at - bytes.length, at), first };
  });
}

function* runs(pages: readonly UdmPage[]): Generator<Uint8Array> {
  let run: Uint8Array | undefined;
  for (const { bytes } of pages) {
    if (run?.buffer === bytes.buffer && run.byteOffset + run.length === bytes.byteOffset) {
      run = new Uint8Array(run.buffer, run.byteOffset, run.length + bytes.length);
    } else {
      if (run !== undefined) yield run;
      run = bytes;
    }
  }
  if (run !== undefined) yield run;
}

function changePage(bytes: Uint8Array, changes: readonly UdmChange[]): UdmPage[] {
  const starts = entryStarts(bytes);
  const parts: Uint8Array[] = [];
  const part = (n: number): Uint8Array => bytes.subarray(starts[n], starts[n + 1] ?? bytes.length);
  let taken = 0;
  for (const { key, yaml } of changes) {
    const at = lastNotAfter(starts.length, (n) => keyAt(bytes, starts[n] as number), key);
    const isThere = at >= 0 && keyAt(bytes, starts[at] as number).text === key.text;
    for (; taken < (isThere ? at : at + 1); taken++) parts.push(part(taken));
    if (isThere) taken = at + 1;
    if (yaml !== undefined) parts.push(yaml);
  }
  for (; taken < starts.length; taken++) parts.push(part(taken));
  const size = parts.length < 2 * pageEntries ? parts.length : pageEntries;
  const pages: UdmPage[] = [];
  for (let i = 0; i < parts.length; i += size) {
    const made = Buffer.concat(parts.slice(i, i + size));
    pages.push({ bytes: made, first: keyAt(made, 0) });
  }
  return pages;
}

/** Returns the greatest n below `length` whose key does not come after `key`; -1 where there is none. */
function lastNotAfter(length: number, keyOf: (n: number) => Key, key: Key): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(keyOf(middle), key) <= 0) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function entryStarts(bytes: Uint8Array): number[] {
  const starts: number[] = [];
  for (let at = 0; at < bytes.length; at = entryEnd(bytes, at)) starts.push(at);
  return starts;
}

/** Returns the key of the entry that starts here: IPv6 in quotes, IPv4 up to its colon. */
function keyAt(bytes: Uint8Array, start: number): Key {
  const isQuoted = bytes[start] === 0x22;
  const from = isQuoted ? start + 1 : start;
  const end = bytes.indexOf(isQuoted ? 0x22 : 0x3a, from);
  return parseStoredKey(Buffer.from(bytes.buffer, bytes.byteOffset + from, end - from).toString("latin1"));
}

/** A request for the lines of entries in a file. */
export interface LineQuestion {
  readonly path: string;
  /** The stamp of the expected content. */
  readonly stamp: FileStamp;
  /** The number of its entries. */
  readonly size: number;
  readonly keys: readonly string[];
}

/** A writer that keeps the bytes of the file and writes them at each save. */
export interface PageWriter {
  /** True where it has the bytes of the whole file. Otherwise the next save needs all entries. */
  readonly isFilled: boolean;
  /**
   * Replaces its bytes by the text of all entries, in list order.
   *
   * @param texts chunks of whole entries. If the iteration fails, the previous bytes stay in force.
   */
  takeAll(texts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void>;
  /** Discards its bytes, so that the next save needs the whole file. */
  clear(): void;
  /**
   * Writes the file with the changes of a {@link ChangeLog}, and takes over their memory. If it fails, the writer does not change
   * either. @throws SaveError
   */
  save(plan: SavePlan, changes: Uint8Array, onWritten?: (stamp: FileStamp) => void): Promise<SavedFile>;
  /**
   * Returns the lines on which entries begin, from 1 on. It uses its own bytes, or reads the file once for each content. Undefined
   * for entries that are not found, and for all where the file has another stamp. @throws the errors of the system
   */
  linesOf(question: LineQuestion): Promise<readonly (number | undefined)[]>;
}

/** The number of chunks of memory from which a save combines them into one. */
const maxRuns = 4096;

/** @param maxWrite the most bytes of one write call. */
export class PageFile implements PageWriter {
  readonly #io: FileIo;
  readonly #maxWrite: number;
  #pages: readonly UdmPage[] | undefined;
  readonly #linesOfPage = new WeakMap<UdmPage, number>();
  #counted: { readonly pages: readonly UdmPage[]; readonly sums: Uint32Array } | undefined;
  #found: { readonly stamp: FileStamp; readonly lines: EntryLines | undefined } | undefined;

  constructor(io: FileIo, maxWrite: number) {
    this.#io = io;
    this.#maxWrite = maxWrite;
  }

  get isFilled(): boolean {
    return this.#pages !== undefined;
  }

  async takeAll(texts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
    const filled: UdmPage[] = [];
    for await (const text of texts) for (const page of paginate(text)) filled.push(page);
    this.#pages = filled;
    this.#found = undefined;
  }

  clear(): void {
    this.#pages = undefined;
  }

  async save(
    plan: SavePlan,
    changes: Uint8Array,
    onWritten: ((stamp: FileStamp) => void) | undefined,
  ): Promise<SavedFile> {
    if (this.#pages === undefined) throw new Error("the bytes of the file are not known");
    const changed = changePages(this.#pages, readChanges(changes));
    const saved = await replaceFile(this.#io, plan, () => pageChunks(changed, this.#maxWrite), onWritten);
    this.#pages = countRuns(changed) > maxRuns ? gatherPages(changed) : changed;
    return saved;
  }

  async linesOf(question: LineQuestion): Promise<(number | undefined)[]> {
    // The check runs in the thread that has the bytes, so that the main thread does not wait for the system.
    if (!sameStamp(question.stamp, await this.#io.state(question.path))) return question.keys.map(() => undefined);
    const keys = question.keys.map(parseStoredKey);
    if (this.#pages === undefined) {
      const lines = await this.#readLines(question);
      return keys.map((key) => lines?.find(key));
    }
    const held = this.#pages;
    if (this.#counted?.pages !== held) this.#counted = { pages: held, sums: linesUpTo(held, this.#linesOfPage) };
    const { sums } = this.#counted;
    return keys.map((key) => lineOf(held, sums, key));
  }

  async #readLines({ path, stamp, size }: LineQuestion): Promise<EntryLines | undefined> {
    if (this.#found === undefined || !sameStamp(this.#found.stamp, stamp)) {
      const bytes = await this.#io.read(path);
      if (!sameStamp(stamp, await this.#io.state(path))) return undefined;
      this.#found = { stamp, lines: findEntryLines(bytes, size) };
    }
    return this.#found.lines;
  }
}
