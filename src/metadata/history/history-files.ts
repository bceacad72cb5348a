import { dirname, join } from "node:path";
import {
  errorCode,
  type FileIo,
  type OpenFile,
  findLeftOvers,
  isMissing,
  replaceContent,
  temporaryPath,
} from "../../base/file/index.ts";
import { compareKeys, type Key } from "../../base/ip/index.ts";
import { nextTurn } from "../model/apply-writes.ts";
import { readEntries } from "../model/read-entries.ts";
import { emptyFileText } from "../model/render-entry.ts";
import type { UdmEntry } from "../model/entry.ts";
import type { UdmIndex } from "../model/udm-store.ts";

/** One file of a history. */
export interface Segment {
  readonly path: string;
  /** The number of the change that it was made for. */
  readonly first: number;
  /** Bytes of whole lines. */
  size: number;
}

const fileMode = 0o640;

/**
 * The files of a history, oldest first. Lines go to the last one.
 *
 * @param beginning of the paths of all files; a number is added.
 * @param segmentBytes a file as long as this is followed by another one.
 */
export class HistoryFiles {
  readonly #io: FileIo;
  readonly #beginning: string;
  readonly #segmentBytes: number;
  readonly #folder: string;
  #segments: Segment[] = [];
  #file: OpenFile | undefined;
  /** Whether the last file may be longer than its lines. */
  #isTorn = false;

  constructor(io: FileIo, beginning: string, segmentBytes: number) {
    this.#io = io;
    this.#beginning = beginning;
    this.#segmentBytes = segmentBytes;
    this.#folder = dirname(beginning);
  }

  async close(): Promise<void> {
    const closing = this.#file;
    this.#file = undefined;
    await closing?.close();
  }

  /** Whether the next lines begin another file. */
  isFull(): boolean {
    return (this.#segments.at(-1)?.size ?? this.#segmentBytes) >= this.#segmentBytes;
  }

  /** Cuts the last file to this size, durably. */
  async cut(size: number): Promise<void> {
    (this.#segments.at(-1) as Segment).size = size;
    this.#isTorn = true;
    const opened = await this.#open();
    await opened.truncate(size);
    await opened.sync();
    this.#isTorn = false;
  }

  segments(): readonly Segment[] {
    return this.#segments;
  }

  /** Finds the files that are there. @throws the errors of the system. */
  async find(): Promise<readonly Segment[]> {
    const names = await this.#io.list(this.#folder);
    const found: Segment[] = [];
    for (const name of names.toSorted()) {
      const path = join(this.#folder, name);
      const digits = path.startsWith(this.#beginning) ? path.slice(this.#beginning.length) : "";
      if (!/^[0-9]{10}$/.test(digits)) continue;
      found.push({ path, first: Number(digits), size: (await this.#io.state(path)).size });
    }
    this.#segments = found;
    return found;
  }

  async read({ path, size }: Segment): Promise<Buffer> {
    return Buffer.from(await this.#io.read(path)).subarray(0, size);
  }

  /**
   * Writes lines behind the last one, and syncs. When that fails, what was written is taken back.
   *
   * @param first the number of the first change of the lines.
   * @returns where the lines begin.
   * @throws the errors of the system.
   */
  async append(lines: Uint8Array, first: number): Promise<{ readonly segment: Segment; readonly start: number }> {
    const last = this.#segments.at(-1);
    if (this.#isTorn && last !== undefined) await this.cut(last.size);
    if (this.isFull()) await this.#begin(first);
    const segment = this.#segments.at(-1) as Segment;
    const start = segment.size;
    this.#isTorn = true;
    try {
      const opened = await this.#open();
      for (let at = 0; at < lines.length;) at += await opened.write(lines.subarray(at));
      await opened.sync();
    } catch (error) {
      // What cannot be taken back now is before the next lines, or at the next start: no one was answered it.
      await this.cut(start).catch(() => this.close().catch(() => {}));
      throw error;
    }
    segment.size = start + lines.length;
    this.#isTorn = false;
    return { segment, start };
  }

  /** Removes the oldest files, the last one excepted, while all are longer than this together. @returns those removed. */
  async shrink(maxBytes: number): Promise<readonly Segment[]> {
    const removed: Segment[] = [];
    let size = this.#segments.reduce((sum, segment) => sum + segment.size, 0);
    while (this.#segments.length > 1 && size > maxBytes) {
      const [oldest] = this.#segments as [Segment];
      await this.#io.unlink(oldest.path).catch((error: unknown) => {
        if (errorCode(error) !== "ENOENT") throw error;
      });
      this.#segments = this.#segments.slice(1);
      size -= oldest.size;
      removed.push(oldest);
    }
    return removed;
  }

  async #open(): Promise<OpenFile> {
    this.#file ??= await this.#io.openToAppend((this.#segments.at(-1) as Segment).path);
    return this.#file;
  }

  async #syncFolder(): Promise<void> {
    const opened = await this.#io.openFolder(this.#folder);
    try {
      await opened.sync();
    } finally {
      await opened.close();
    }
  }

  /** A file of that name that is not known was begun before, and nothing in it counts. */
  async #createOrEmpty(path: string): Promise<OpenFile> {
    try {
      return await this.#io.create(path, fileMode);
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error;
      const opened = await this.#io.openToAppend(path);
      await opened.truncate(0);
      return opened;
    }
  }

  async #begin(first: number): Promise<void> {
    await this.close();
    const path = `${this.#beginning}${String(first).padStart(10, "0")}`;
    this.#file = await this.#createOrEmpty(path);
    this.#segments.push({ path, first, size: 0 });
    await this.#syncFolder();
  }
}

const headMark = "# netgloss metadata as of change ";
const pieceBytes = 64 * 1024;
const entriesATurn = 1000;
const lineFeed = 0x0a;
const blank = 0x20;

/** A whole state, from which the changes behind it lead to any later one. */
interface BaseState {
  /** Of the last change in it. */
  readonly number: number;
  /** A metadata file. */
  readonly bytes: Uint8Array;
}

/** Keeps one whole state on disk, so that an edit of the file by hand is recognised. */
export class BaseFile {
  readonly #io: FileIo;
  readonly #path: string;
  readonly #run: string;
  #writes = 0;

  /** @param run letters and digits that no other writer has. */
  constructor(io: FileIo, path: string, run: string) {
    this.#io = io;
    this.#path = path;
    this.#run = run;
  }

  /** @returns undefined when there is none. @throws the errors of the system. */
  async read(): Promise<BaseState | undefined> {
    let bytes: Uint8Array;
    try {
      bytes = await this.#io.read(this.#path);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
    const line = Buffer.from(bytes.subarray(0, 80)).toString("latin1").split("\n", 1)[0] ?? "";
    const number = Number(line.slice(headMark.length));
    return line.startsWith(headMark) && Number.isSafeInteger(number) ? { number, bytes } : undefined;
  }

  isThere(): Promise<boolean> {
    return this.#io.state(this.#path).then(
      ({ kind }) => kind === "file",
      () => false,
    );
  }

  /** Replaces it. One call at a time. @throws the errors of the system. */
  async write(index: UdmIndex, number: number): Promise<void> {
    if (this.#writes === 0) for (const left of await findLeftOvers(this.#io, this.#path)) await this.#io.unlink(left);
    const temporary = temporaryPath(this.#path, this.#run, this.#writes++);
    await replaceContent(this.#io, { target: this.#path, temporary, mode: fileMode }, pieces(index, number));
  }
}

function* pieces(index: UdmIndex, number: number): Generator<Uint8Array> {
  yield Buffer.from(`${headMark}${number}\n`);
  if (index.size === 0) yield Buffer.from(emptyFileText);
  else yield* index.render("all", "yaml", "", pieceBytes);
}

/**
 * Finds the entries that are other ones in a state than in a base. Most are byte for byte the same and are not read. Takes turns of the event loop.
 *
 * @returns of each key, what the base has of it.
 * @throws YamlFault for a base that was damaged.
 */
export async function differencesOf(base: BaseState, index: UdmIndex): Promise<ReadonlyMap<string, BaseEntry>> {
  const bytes = Buffer.from(base.bytes.buffer, base.bytes.byteOffset, base.bytes.length);
  const found = new Map<string, BaseEntry>();
  const note = (key: Key, entry: UdmEntry | undefined): void => void found.set(key.text, { key, entry });
  let at = bytes.indexOf(lineFeed) + 1;
  if (bytes.subarray(at).equals(Buffer.from(emptyFileText))) at = bytes.length;
  const isBoundary = (place: number): boolean => place >= bytes.length || bytes[place] !== blank;
  for (const rendered of index.render("all", "yaml", "", pieceBytes)) {
    const piece = Buffer.from(rendered.buffer, rendered.byteOffset, rendered.length);
    if (isBoundary(at + piece.length) && piece.equals(bytes.subarray(at, at + piece.length))) {
      at += piece.length;
    } else {
      for (let start = 0, end: number; start < piece.length; start = end) {
        end = entryEnd(piece, start);
        const now = piece.subarray(start, end);
        let order = 1;
        while (at < bytes.length && order > 0) {
          const next = entryEnd(bytes, at);
          if (now.equals(bytes.subarray(at, next))) order = 0;
          else {
            const before = entryOf(bytes.subarray(at, next));
            order = compareKeys(entryOf(now).key, before.key);
            if (order >= 0) note(before.key, before);
          }
          if (order >= 0) at = next;
        }
        if (order !== 0) note(entryOf(now).key, undefined);
      }
    }
    await nextTurn();
  }
  for (let read = 1; at < bytes.length; read++) {
    const next = entryEnd(bytes, at);
    const before = entryOf(bytes.subarray(at, next));
    note(before.key, before);
    at = next;
    if (read % entriesATurn === 0) await nextTurn();
  }
  return found;
}

/** An entry of a base; undefined: it has none of that key. */
export interface BaseEntry {
  readonly key: Key;
  readonly entry: UdmEntry | undefined;
}

/** Behind the lines of an entry that begins here, as the collector writes them. */
function entryEnd(bytes: Buffer, at: number): number {
  for (let end = bytes.indexOf(lineFeed, at); end >= 0; end = bytes.indexOf(lineFeed, end + 1)) {
    const next = bytes[end + 1];
    if (next !== blank && next !== lineFeed) return end + 1;
  }
  return bytes.length;
}

function entryOf(bytes: Buffer): UdmEntry {
  const [entry] = readEntries(bytes.toString()).entries;
  if (entry === undefined) throw new Error("there is no entry where one was");
  return entry;
}
