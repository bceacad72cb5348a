import { compareKeys } from "../../ip/index.ts";
import { findLeftOvers, isMissing, replaceContent, temporaryPath, type FileIo } from "../../file/index.ts";
import { isChange, type EntryChange } from "../model/apply-writes.ts";
import { nextTurn } from "../model/next-turn.ts";
import { emptyFileText } from "../model/render-entry.ts";
import type { UdmEntry } from "../model/udm-entry.ts";
import type { UdmIndex } from "../model/udm-index.ts";

const headMark = "# netgloss metadata as of change ";
const fileMode = 0o640;
const pieceBytes = 64 * 1024;
const entriesATurn = 1000;

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

/** What makes one state of another. Takes turns of the event loop. */
export async function compareStates(before: UdmIndex, after: UdmIndex): Promise<readonly EntryChange[]> {
  if (await areAlike(before, after)) return [];
  const changes: EntryChange[] = [];
  const old = before.entries()[Symbol.iterator]();
  const now = after.entries()[Symbol.iterator]();
  let a = old.next().value as UdmEntry | undefined;
  let b = now.next().value as UdmEntry | undefined;
  for (let read = 1; a !== undefined || b !== undefined; read++) {
    if (read % entriesATurn === 0) await nextTurn();
    const order = a === undefined ? 1 : b === undefined ? -1 : compareKeys(a.key, b.key);
    const change: EntryChange = { before: order <= 0 ? a : undefined, after: order >= 0 ? b : undefined };
    if (isChange(change)) changes.push(change);
    if (order <= 0) a = old.next().value as UdmEntry | undefined;
    if (order >= 0) b = now.next().value as UdmEntry | undefined;
  }
  return changes;
}

/** Whether the bytes of both are the same, which is found many times faster than by their entries. */
async function areAlike(before: UdmIndex, after: UdmIndex): Promise<boolean> {
  if (before.size !== after.size) return false;
  const others = after.render("all", "yaml", "", pieceBytes);
  let rest: Uint8Array = new Uint8Array(0);
  for (let piece of before.render("all", "yaml", "", pieceBytes)) {
    while (piece.length > 0) {
      if (rest.length === 0) rest = others.next().value ?? rest;
      const length = Math.min(piece.length, rest.length);
      if (length === 0 || Buffer.compare(piece.subarray(0, length), rest.subarray(0, length)) !== 0) return false;
      piece = piece.subarray(length);
      rest = rest.subarray(length);
    }
    await nextTurn();
  }
  return true;
}
