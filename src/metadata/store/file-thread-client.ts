import type { MessagePort, Worker } from "node:worker_threads";
import type { SharedIndex } from "../index/shared-index.ts";
import { type UdmIndex, UdmError, type UdmErrorCode } from "../model/udm-store.ts";
import { loadState, type LoadedState } from "./load-state.ts";
import {
  SaveError,
  errorCode,
  syncFileIo,
  type FileIo,
  type FileStamp,
  type SavePlan,
  type SaveStep,
  type SavedFile,
  finishRename,
  replayImage,
} from "../../base/file/index.ts";
import type { KeyForm } from "../model/name-key.ts";
import { YamlFault, type TextPosition } from "../../base/yaml/index.ts";
import { PageFile, type LineQuestion, type PageWriter } from "./udm-pages.ts";
import type { IndexLease } from "../index/index-builder.ts";
import { limitLog, type Counter, type Log, type Reporting } from "../../base/report/index.ts";

/** The state of a file. */
interface FileState extends Omit<LoadedState, "built"> {
  readonly index: UdmIndex;
  /** True where the thread keeps the bytes. */
  readonly isInThread: boolean;
}

/** The divisor for the size of files that go to the thread. Until the code is compiled, a load of this size could block for tens of milliseconds. */
const loadShare = 8;

/**
 * Does the same as {@link loadState}, but in the thread if the file is not small.
 *
 * @param threadBytes the size in bytes from which a file counts as big.
 * @param before the current state, which is returned where the file has the same entries.
 * @param keep true where the thread keeps the bytes of a big file for saves.
 * @throws YamlFault; UdmError `resource_exhausted`
 */
export async function loadBytes(
  shared: SharedIndex,
  thread: FileThread | undefined,
  threadBytes: number,
  bytes: Uint8Array,
  before: UdmIndex | undefined,
  keep: boolean,
  keys: KeyForm = "addresses",
): Promise<FileState> {
  const { length } = bytes;
  const loader = length >= Math.max(threadBytes / loadShare, 1) ? thread : undefined;
  const isInThread = loader !== undefined && length >= threadBytes;
  const lease = shared.lease(before);
  let loaded: LoadedState;
  try {
    loaded =
      loader === undefined ? loadState(lease, bytes, keys) : await loader.load(bytes, lease, keep && isInThread, keys);
  } catch (error) {
    shared.cancelLease(lease);
    throw error;
  }
  const { built, ...rest } = loaded;
  if (built === undefined) shared.cancelLease(lease);
  const index = built === undefined ? (before ?? shared.empty()) : shared.completeLease(lease, built);
  if (!isInThread) await loader?.stop();
  return { ...rest, index, isInThread };
}

/** A request to the thread. It answers each before it takes the next. */
type ThreadRequest =
  /** Passes text of whole entries, in list order. `isFirst` starts a new text, `isLast` puts it in force. */
  | { readonly op: "fill"; readonly text: Uint8Array; readonly isFirst: boolean; readonly isLast: boolean }
  /** Builds the state of a whole file. With `keep` the thread keeps its bytes for saves, if a save would write the same bytes. */
  | {
      readonly op: "load";
      readonly bytes: Uint8Array;
      readonly lease: IndexLease;
      readonly keep: boolean;
      readonly keys: KeyForm;
    }
  | { readonly op: "save"; readonly plan: SavePlan; readonly changes: Uint8Array }
  | { readonly op: "lines"; readonly question: LineQuestion };

type ThreadAnswer =
  | { readonly kind: "done" }
  | { readonly kind: "saved"; readonly saved: SavedFile }
  | { readonly kind: "loaded"; readonly loaded: LoadedState }
  | { readonly kind: "lines"; readonly lines: readonly (number | undefined)[] }
  /** Is sent before the rename of a save. If the thread dies, the stamp shows whether the rename took place. */
  | { readonly kind: "written"; readonly stamp: FileStamp }
  | {
      readonly kind: "failed";
      readonly message: string;
      readonly code: string;
      /** The step of a {@link SaveError}. */
      readonly step?: SaveStep;
      readonly remark?: string;
      /** The position of a {@link YamlFault}. */
      readonly position?: TextPosition;
      /** The code of a {@link UdmError}. */
      readonly udmCode?: UdmErrorCode;
    };

/** The most bytes of one write. This thread may block. */
const maxWrite = 64 * 1024 * 1024;

/** Serves {@link FileThread} at the other end of the port. */
export function serveFileThread(port: MessagePort, io: FileIo = syncFileIo): void {
  const writer = new PageFile(io, maxWrite);
  const answer = (message: ThreadAnswer): void => port.postMessage(message);
  let texts: Uint8Array[] = [];
  let filled: Promise<void> = Promise.resolve();

  const fill = async ({ text, isFirst, isLast }: Extract<ThreadRequest, { op: "fill" }>): Promise<ThreadAnswer> => {
    if (isFirst) texts = [];
    texts.push(text);
    if (isLast) {
      await writer.takeAll(texts);
      texts = [];
    }
    return { kind: "done" };
  };

  const load = ({ bytes, lease, keep, keys }: Extract<ThreadRequest, { op: "load" }>): ThreadAnswer => {
    const loaded = loadState(lease, bytes, keys);
    if (keep && isKept(loaded)) {
      // Run this after the answer, because the start waits for the answer.
      filled = new Promise((resolve) => setImmediate(() => resolve(writer.takeAll([bytes]))));
      filled.catch(() => {});
    }
    return { kind: "loaded", loaded };
  };

  const save = async ({ plan, changes }: Extract<ThreadRequest, { op: "save" }>): Promise<ThreadAnswer> => {
    const saved = await writer.save(plan, changes, (stamp) => answer({ kind: "written", stamp }));
    return { kind: "saved", saved };
  };

  const work = async (request: ThreadRequest): Promise<ThreadAnswer> => {
    await filled;
    if (request.op === "fill") return fill(request);
    if (request.op === "lines") return { kind: "lines", lines: await writer.linesOf(request.question) };
    return request.op === "load" ? load(request) : save(request);
  };

  port.on("message", (request: ThreadRequest) => {
    void work(request).then(answer, (error: unknown) => answer(failure(error)));
  });
}

/** Reports whether the thread keeps the bytes of a file for saves. An empty file may have several forms. */
function isKept({ isOurs, size }: LoadedState): boolean {
  return isOurs && size > 0;
}

function failure(error: unknown): ThreadAnswer {
  const cause = error instanceof SaveError ? error.cause : error;
  const message = cause instanceof Error ? cause.message : String(cause);
  const failed = { kind: "failed", message, code: errorCode(error) } as const;
  if (error instanceof UdmError) return { ...failed, udmCode: error.code };
  if (error instanceof YamlFault) return { ...failed, position: error.position };
  return error instanceof SaveError ? { ...failed, step: error.step, remark: error.remark } : failed;
}

type Call = Readonly<{ resolve: (answer: ThreadAnswer) => void; reject: (error: unknown) => void }>;

/** The error of a call whose thread ended before the answer. */
class ThreadDeath extends Error {
  readonly code = "thread_died";
}

/** A page writer in its own thread. */
export class FileThread implements PageWriter {
  readonly #start: () => Worker;
  readonly #io: FileIo;
  readonly #deaths: Counter;
  readonly #limited: Log;
  #worker: Worker | undefined;
  #call: Call | undefined;
  #isFilled = false;
  /** The stamp that the target has after the rename of the present save. */
  #written: FileStamp | undefined;

  /**
   * Creates a writer whose thread starts with the first fill. If the thread dies (out of memory, for example), the present call fails and its bytes
   * are lost, so that the next save fills a new thread. Only one call may run at a time.
   */
  constructor(start: () => Worker, io: FileIo, { clock, log, metrics }: Omit<Reporting, "health">) {
    this.#start = start;
    this.#io = io;
    this.#deaths = metrics.counter(
      "netgloss_udm_file_thread_deaths_total",
      "Times the thread that writes big metadata files has died. It is started again when it is needed.",
    );
    this.#limited = limitLog(log, clock);
  }

  get isFilled(): boolean {
    return this.#isFilled;
  }

  async takeAll(texts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
    this.#isFilled = false;
    let isFirst = true;
    for await (const text of texts) {
      await this.#ask({ op: "fill", text, isFirst, isLast: false }, "done", wholeOf(text));
      isFirst = false;
    }
    await this.#ask({ op: "fill", text: new Uint8Array(0), isFirst, isLast: true }, "done");
    this.#isFilled = true;
  }

  clear(): void {
    // The next fill, or the end of the thread, frees its memory.
    this.#isFilled = false;
  }

  async save(plan: SavePlan, changes: Uint8Array): Promise<SavedFile> {
    this.#written = undefined;
    try {
      return (await this.#ask({ op: "save", plan, changes }, "saved", changes.buffer)).saved;
    } catch (error) {
      if (!(error instanceof ThreadDeath)) throw error;
      const saved =
        (this.#written && (await finishRename(this.#io, plan, this.#written, error))) ??
        (await finishImage(this.#io, plan, error));
      if (saved !== undefined) return saved;
      throw new SaveError("thread", error);
    }
  }

  async linesOf(question: LineQuestion): Promise<readonly (number | undefined)[]> {
    return (await this.#ask({ op: "lines", question }, "lines")).lines;
  }

  /**
   * Runs {@link loadState} in the thread. The bytes move to the thread. If it fails, the thread no longer uses the lease.
   *
   * @param keep true where the thread keeps the bytes, if a save would write the same. @throws YamlFault
   */
  async load(bytes: Uint8Array, lease: IndexLease, keep: boolean, keys: KeyForm): Promise<LoadedState> {
    this.#isFilled = false;
    const { loaded } = await this.#ask({ op: "load", bytes, lease, keep, keys }, "loaded", wholeOf(bytes));
    this.#isFilled = keep && isKept(loaded);
    return loaded;
  }

  /** Ends the thread. It starts again when needed. */
  async stop(): Promise<void> {
    const ended = this.#worker;
    this.#worker = undefined;
    this.#isFilled = false;
    await ended?.terminate();
  }

  #end(): Call | undefined {
    const ended = this.#call;
    this.#call = undefined;
    this.#worker?.unref();
    return ended;
  }

  #take(answer: ThreadAnswer): void {
    if (answer.kind === "written") this.#written = answer.stamp;
    else if (answer.kind === "failed") this.#end()?.reject(failureOf(answer));
    else this.#end()?.resolve(answer);
  }

  #begin(): Worker {
    const made = this.#start();
    let why: unknown = "it ended";
    made.on("message", (answer) => this.#take(answer));
    made.on("error", (error) => (why = error));
    made.on("exit", () => {
      if (this.#worker !== made) return;
      this.#worker = undefined;
      this.#isFilled = false;
      this.#deaths.add();
      this.#limited.error({ error: why }, "the thread that writes the metadata file has died");
      this.#end()?.reject(new ThreadDeath(`the thread that writes the file has died: ${messageOf(why)}`));
    });
    made.unref();
    return made;
  }

  async #ask<K extends ThreadAnswer["kind"]>(
    request: ThreadRequest,
    kind: K,
    moved?: ArrayBufferLike,
  ): Promise<Extract<ThreadAnswer, { kind: K }>> {
    if (this.#call !== undefined) throw new Error("the file thread takes one call at a time");
    const asked = (this.#worker ??= this.#begin());
    const answer = await new Promise<ThreadAnswer>((resolve, reject) => {
      this.#call = { resolve, reject };
      // A call keeps the process alive; an idle thread does not.
      asked.ref();
      asked.postMessage(request, moved instanceof ArrayBuffer ? [moved] : []);
    });
    if (answer.kind !== kind) throw new Error(`the file thread answered ${answer.kind}`);
    return answer as Extract<ThreadAnswer, { kind: K }>;
  }
}

/** Completes an interrupted overwrite, if it had begun. */
async function finishImage(io: FileIo, { imagePath, target }: SavePlan, error: Error): Promise<SavedFile | undefined> {
  const stamp = imagePath && (await replayImage(io, imagePath, target));
  if (!stamp) return undefined;
  return { stamp, kept: [], alarms: [{ step: "thread", code: errorCode(error), error }], isInPlace: true };
}

/** Returns the memory of the bytes, if they are all of it and it can be transferred. */
function wholeOf(bytes: Uint8Array): ArrayBufferLike | undefined {
  return bytes.length === bytes.buffer.byteLength ? bytes.buffer : undefined;
}

function failureOf(answer: Extract<ThreadAnswer, { kind: "failed" }>): Error {
  const { message, code, step, remark, position, udmCode } = answer;
  if (udmCode !== undefined) return new UdmError(udmCode, message);
  if (position !== undefined) return new YamlFault(message, position);
  const error = Object.assign(new Error(message), { code });
  return step === undefined ? error : new SaveError(step, error, remark);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${errorCode(error)}: ${error.message}` : String(error);
}
