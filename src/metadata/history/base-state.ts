import { compareKeys, type Key } from "../../base/ip/index.ts";
import { findLeftOvers, isMissing, replaceContent, temporaryPath, type FileIo } from "../../base/file/index.ts";
import { nextTurn } from "../model/next-turn.ts";
import { readEntries } from "../model/read-entries.ts";
import { emptyFileText } from "../model/render-entry.ts";
import type { UdmEntry } from "../model/udm-entry.ts";
import type { UdmIndex } from "../model/udm-index.ts";

const headMark = "# netgloss metadata as of change ";
const fileMode = 0o640;
const pieceBytes = 64 * 1024;
const entriesATurn = 1000;
const lineFeed = 0x0a;
const blank = 0x20;

/** A whole state, from which the changes behind it lead to any later one. */
export interface BaseState {
  /** Of the last change in it. */
  readonly number: number;
  /** A metadata file. */
  readonly bytes: Uint8Array;
}

/** Keeps one whole state on disk, so that an edit of the file by hand can be told from what the collector wrote. */
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
