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
import { yieldToEventLoop } from "../model/apply-writes.ts";
import type { UdmEntry } from "../model/entry.ts";
import { parseStoredKey } from "../model/name-key.ts";
import { readEntries } from "../model/read-entries.ts";
import { emptyFileText, entryEnd } from "../model/render-entry.ts";
import type { UdmIndex } from "../model/udm-store.ts";

/** One file of a history. */
export interface Segment {
  readonly path: string;
  /** The number of the change for which the file was created. */
  readonly first: number;
  /** The bytes of complete lines. */
  size: number;
}

export const fileMode = 0o640;

/**
 * The files of a history, the oldest first. New lines go to the last file.
 *
 * @param beginning of the paths of all files. A number is appended.
 * @param segmentBytes the size at which the next file begins.
 */
export class HistoryFiles {
  readonly #io: FileIo;
  readonly #beginning: string;
  readonly #segmentBytes: number;
  readonly #folder: string;
  #segments: Segment[] = [];
  #file: OpenFile | undefined;
  /** True where the last file may be longer than its complete lines. */
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

  /** Reports whether the next lines begin another file. */
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

  /** Finds the existing files. @throws the errors of the system. */
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
   * Appends lines to the last file and syncs it. If that fails, the written bytes are removed.
   *
   * @param first the number of the first change of the lines.
   * @returns the file and the position at which the lines begin.
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
      // If the lines cannot be removed now, they are before the next append or at the next start. Nobody got an answer for them.
      await this.cut(start).catch(() => this.close().catch(() => {}));
      throw error;
    }
    segment.size = start + lines.length;
    this.#isTorn = false;
    return { segment, start };
  }

  /** Removes the oldest files, but never the last, while their total size exceeds the limit. @returns the removed files. */
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

  /** Creates a file. If an unknown file of this name exists, it is left over from an earlier attempt and is emptied. */
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

const chunkBytes = 64 * 1024;

/**
 * A whole state on disk. It is a metadata file whose first line is a comment with the number of its last change.
 *
 * @param mark the beginning of the first line; undefined where there is no such line.
 */
export class StateFile {
  readonly #io: FileIo;
  readonly #path: string;
  readonly #mark: string | undefined;
  readonly #run: string;
  readonly #mode: number | undefined;
  #writes = 0;

  /** @param run letters and digits that are unique to this writer. */
  constructor(io: FileIo, path: string, mark: string | undefined, run: string, mode?: number) {
    this.#io = io;
    this.#path = path;
    this.#mark = mark;
    this.#run = run;
    this.#mode = mode;
  }

  /**
   * Reads the file. It returns all bytes, because a part of them could not be handed to a thread without a copy.
   *
   * @returns the text after the mark of the first line, and the whole file. Undefined where there is no file.
   * @throws the errors of the system; Error for a file that does not begin with the mark.
   */
  async read(): Promise<{ readonly head: string; readonly bytes: Uint8Array } | undefined> {
    const mark = this.#mark ?? "";
    let bytes: Uint8Array;
    try {
      bytes = await this.#io.read(this.#path);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
    const line = Buffer.from(bytes.buffer, bytes.byteOffset, Math.max(bytes.indexOf(lineFeed), 0)).toString();
    if (!line.startsWith(mark)) throw new Error(`${this.#path} is no copy of the metadata`);
    return { head: line.slice(mark.length), bytes };
  }

  isThere(): Promise<boolean> {
    return this.#io.state(this.#path).then(
      ({ kind }) => kind === "file",
      () => false,
    );
  }

  /**
   * Replaces the file. Only one call may run at a time.
   *
   * @param more further states after the first one, each with the line before it.
   * @throws the errors of the system.
   */
  async write(
    index: UdmIndex,
    head: string,
    more: Iterable<readonly [line: string, index: UdmIndex]> = [],
  ): Promise<void> {
    // A leftover file that cannot be removed does not prevent this write.
    const leftOvers = this.#writes === 0 ? await findLeftOvers(this.#io, this.#path) : [];
    for (const left of leftOvers) await this.#io.unlink(left).catch(() => {});
    const temporary = temporaryPath(this.#path, this.#run, this.#writes++);
    const plan = { target: this.#path, temporary, ...(this.#mode !== undefined && { mode: this.#mode }) };
    await replaceContent(this.#io, plan, this.#chunks(index, head, more));
  }

  *#chunks(
    index: UdmIndex,
    head: string,
    more: Iterable<readonly [line: string, index: UdmIndex]>,
  ): Generator<Uint8Array> {
    if (this.#mark !== undefined) yield Buffer.from(`${this.#mark}${head}\n`);
    if (index.size === 0) yield Buffer.from(emptyFileText);
    else yield* index.render("all", "yaml", "", chunkBytes);
    for (const [line, state] of more) {
      yield Buffer.from(`${line}\n`);
      yield* state.render("all", "yaml", "", chunkBytes);
    }
  }
}

const lineFeed = 0x0a;

const entriesPerYield = 1000;

/**
 * Finds the entries that differ between a state and a base, which is a metadata file after a first line. Most entries are equal byte for byte and are
 * not parsed. It yields to the event loop.
 *
 * @returns the entry of the base for each key that differs.
 * @throws YamlFault for a damaged base.
 */
export async function differencesOf(base: Uint8Array, index: UdmIndex): Promise<ReadonlyMap<string, BaseEntry>> {
  const bytes = Buffer.from(base.buffer, base.byteOffset, base.length);
  const found = new Map<string, BaseEntry>();
  const note = (key: Key, entry: UdmEntry | undefined): void => void found.set(key.text, { key, entry });
  let at = bytes.indexOf(0x0a) + 1;
  if (bytes.subarray(at).equals(Buffer.from(emptyFileText))) at = bytes.length;
  const isBoundary = (offset: number): boolean => offset >= bytes.length || bytes[offset] !== 0x20;
  for (const rendered of index.render("all", "yaml", "", chunkBytes)) {
    const chunk = Buffer.from(rendered.buffer, rendered.byteOffset, rendered.length);
    if (isBoundary(at + chunk.length) && chunk.equals(bytes.subarray(at, at + chunk.length))) {
      at += chunk.length;
    } else {
      for (let start = 0, end: number; start < chunk.length; start = end) {
        end = entryEnd(chunk, start);
        const now = chunk.subarray(start, end);
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
    await yieldToEventLoop();
  }
  for (let read = 1; at < bytes.length; read++) {
    const next = entryEnd(bytes, at);
    const before = entryOf(bytes.subarray(at, next));
    note(before.key, before);
    at = next;
    if (read % entriesPerYield === 0) await yieldToEventLoop();
  }
  return found;
}

/** An entry of a base; undefined where the base has none of that key. */
export interface BaseEntry {
  readonly key: Key;
  readonly entry: UdmEntry | undefined;
}

function entryOf(bytes: Buffer): UdmEntry {
  const [entry] = readEntries(bytes.toString(), parseStoredKey).entries;
  if (entry === undefined) throw new Error("there is no entry where one was");
  return entry;
}
