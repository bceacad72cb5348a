import { join } from "node:path";
import {
  findLeftOvers,
  isMissing,
  replaceContent,
  temporaryPath,
  type FileIo,
  resolveTarget,
} from "../../base/file/index.ts";
import { emptyFileText } from "../model/render-entry.ts";
import type { UdmIndex } from "../model/udm-store.ts";
import type { Position } from "./fetch-commits.ts";
import type { Log } from "../../base/report/index.ts";
import type { SharedIndex } from "../index/shared-index.ts";
import { createFileThread, loadBytes } from "../store/file-thread-client.ts";
import type { FailureStep, PostgresqlMetrics } from "./database-reporting.ts";
import type { UdmPostgresqlStoreOptions } from "./schema.ts";

/** What the first line of a copy says. */
interface CopyHead extends Position {
  readonly format: 1;
  readonly entries: number;
  /** When the database was last heard of, in milliseconds since the epoch. */
  readonly heardAt: number;
}

/** A copy of all entries on disk. */
interface StateCopy extends CopyHead {
  /** All of the file, which is a metadata file that begins with a comment. A part of them could not be handed to a thread without a copy. */
  readonly bytes: Uint8Array;
}

const headMark = "# netgloss copy ";
const pieceBytes = 64 * 1024;

/** @returns undefined when there is none. @throws Error when it cannot be read, or is none. */
async function readCopy(io: FileIo, path: string): Promise<StateCopy | undefined> {
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

interface StateFile {
  /** Replaces the file. */
  write(index: UdmIndex, head: (Position & { readonly heardAt: number }) | undefined): Promise<void>;
}

/** Writes a state as a metadata file. One write at a time. @param run letters and digits that no other writer has. */
function createStateFile(io: FileIo, path: string, run: string, mode?: number): StateFile {
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

interface LaterWrite {
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
function createLaterWrite(
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

export interface StateCopiesOptions extends Pick<
  UdmPostgresqlStoreOptions,
  "stateDirectory" | "exportPath" | "startThread" | "clock" | "metrics"
> {
  readonly io: FileIo;
  readonly after: (action: () => void, ms: number) => () => void;
  readonly shared: SharedIndex;
  readonly log: Log;
  readonly report: PostgresqlMetrics;
  readonly state: () => {
    readonly index: UdmIndex | undefined;
    readonly position: Position | undefined;
    readonly heardAt: number;
  };
}

/** What is on disk of a database: the last copy, for starts without it; the export, for other programs. */
export interface StateCopies {
  /** The last copy as a state; undefined when there is none that can be used. */
  read(): Promise<{ readonly index: UdmIndex; readonly position: Position; readonly heardAt: number } | undefined>;
  /** There is something to be written. */
  changed(): void;
  /** Writes what waits. */
  stop(): Promise<void>;
}

/** A copy on disk may be older than the database by so much: a start fetches the rest by number. */
const copyDelayMs = 30_000;
const exportDelayMs = 200;
/** A copy has all the names of a network: others need not read it. */
const copyMode = 0o600;
/** Copies of this many bytes are read in a thread. */
const threadBytes = 256 * 1024;

export function createStateCopies(options: StateCopiesOptions): StateCopies {
  const { stateDirectory, exportPath, startThread, io, after, shared, log, report, clock, metrics } = options;
  const path = stateDirectory === "" ? undefined : join(stateDirectory, "udm-postgresql.copy");
  const run = Math.floor(clock.now()).toString(36);
  const thread = startThread && createFileThread({ start: startThread, io, clock, log, metrics });

  const later = (step: FailureStep, delayMs: number, message: string, write: () => Promise<void>): LaterWrite =>
    createLaterWrite(
      () =>
        write().catch((error: unknown) => {
          report.failed(step);
          log.error({ error }, message);
        }),
      delayMs,
      after,
      () => clock.monotonic(),
    );

  const writes: LaterWrite[] = [];
  if (path !== undefined) {
    const file = createStateFile(io, path, run, copyMode);
    const write = async (): Promise<void> => {
      const { index, position, heardAt } = options.state();
      if (index !== undefined && position !== undefined) await file.write(index, { ...position, heardAt });
    };
    writes.push(later("copy", copyDelayMs, "the copy of the metadata cannot be written to the state directory", write));
  }
  if (exportPath !== "") {
    const write = async (): Promise<void> => {
      const { index } = options.state();
      if (index === undefined) return;
      await createStateFile(io, await resolveTarget(io, exportPath), run).write(index, undefined);
    };
    writes.push(later("export", exportDelayMs, "the metadata cannot be exported to its file", write));
  }

  return {
    async read() {
      if (path === undefined) return undefined;
      try {
        const copy = await readCopy(io, path);
        if (copy === undefined) return undefined;
        const { store, number, save, heardAt, entries } = copy;
        const { index } = await loadBytes({ shared, thread, threadBytes }, copy.bytes, undefined, false);
        if (index.size !== entries) throw new Error(`${path} has ${index.size} entries, not ${entries}`);
        return { index, position: { store, number, save }, heardAt };
      } catch (error) {
        log.warn({ error, path }, "the last copy of the metadata cannot be used");
        return undefined;
      } finally {
        await thread?.stop();
      }
    },
    changed() {
      for (const write of writes) write.changed();
    },
    async stop() {
      for (const write of writes) await write.flush();
      await thread?.stop();
    },
  };
}
