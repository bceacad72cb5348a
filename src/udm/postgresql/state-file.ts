import { findLeftOvers, isMissing, replaceContent, temporaryPath, type FileIo } from "../../file/index.ts";
import { emptyFileText } from "../model/render-entry.ts";
import type { UdmIndex } from "../model/udm-index.ts";
import type { Position } from "./fetch-commits.ts";

/** What the first line of a copy says. */
interface CopyHead extends Position {
  readonly format: 1;
  readonly entries: number;
  /** When the database was last heard of, in milliseconds since the epoch. */
  readonly heardAt: number;
}

/** A copy of all entries on disk. */
export interface StateCopy extends CopyHead {
  /** All of the file, which is a metadata file that begins with a comment. A part of them could not be handed to a thread without a copy. */
  readonly bytes: Uint8Array;
}

const headMark = "# netgloss copy ";
const pieceBytes = 64 * 1024;

/** @returns undefined when there is none. @throws Error when it cannot be read, or is none. */
export async function readCopy(io: FileIo, path: string): Promise<StateCopy | undefined> {
  let bytes: Uint8Array;
  try {
    bytes = await io.read(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const end = buffer.indexOf(0x0a);
  const line = buffer.toString("utf8", 0, Math.max(end, 0));
  if (!line.startsWith(headMark)) throw new Error(`${path} is no copy of the metadata`);
  const head = JSON.parse(line.slice(headMark.length)) as CopyHead;
  if (head.format !== 1) throw new Error(`${path} is a copy of another version`);
  return { ...head, bytes };
}

export interface StateFile {
  /** Replaces the file. */
  write(index: UdmIndex, head: (Position & { readonly heardAt: number }) | undefined): Promise<void>;
}

/** Writes a state as a metadata file. One write at a time. @param run letters and digits that no other writer has. */
export function createStateFile(io: FileIo, path: string, run: string, mode?: number): StateFile {
  let number = 0;
  let isFirst = true;
  return {
    async write(index, head) {
      if (isFirst) for (const left of await findLeftOvers(io, path)) await io.unlink(left).catch(() => {});
      isFirst = false;
      const temporary = temporaryPath(path, run, number++);
      const plan = { target: path, temporary, ...(mode !== undefined && { mode }) };
      await replaceContent(io, plan, piecesOf(index, head));
    },
  };
}

function* piecesOf(
  index: UdmIndex,
  head: (Position & { readonly heardAt: number }) | undefined,
): Generator<Uint8Array> {
  if (head !== undefined) {
    const { store, number, save, heardAt } = head;
    const line: CopyHead = { format: 1, store, number, save, entries: index.size, heardAt };
    yield Buffer.from(`${headMark}${JSON.stringify(line)}\n`);
  }
  if (index.size === 0) yield Buffer.from(emptyFileText);
  else yield* index.render("all", "yaml", "", pieceBytes);
}

export interface LaterWrite {
  /** There is something to be written. */
  readonly changed: () => void;
  /** Writes at once what waits. Resolves when nothing is being written. */
  readonly flush: () => Promise<void>;
}

/** Of all time, writing may take this share. */
const timeShare = 20;

/**
 * Writes some time after a change; changes that follow share one write.
 *
 * @param write never fails.
 * @param delayMs between the first change and the write; more when writing takes long.
 */
export function createLaterWrite(
  write: () => Promise<void>,
  delayMs: number,
  after: (action: () => void, ms: number) => () => void,
  monotonic: () => number,
): LaterWrite {
  let cancel: (() => void) | undefined;
  let running: Promise<void> | undefined;
  let isDue = false;
  let pause = delayMs;

  const run = async (): Promise<void> => {
    cancel?.();
    cancel = undefined;
    isDue = false;
    const start = monotonic();
    await write();
    pause = Math.max(delayMs, (monotonic() - start) * timeShare);
    running = undefined;
    if (isDue) schedule();
  };
  const schedule = (): void => {
    cancel ??= after(() => void (running ??= run()), pause);
  };
  return {
    changed() {
      isDue = true;
      if (running === undefined) schedule();
    },
    async flush() {
      await running;
      if (isDue) await (running = run());
      cancel?.();
      cancel = undefined;
    },
  };
}
