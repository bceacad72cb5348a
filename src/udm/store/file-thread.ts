import type { MessagePort } from "node:worker_threads";
import {
  SaveError,
  errorCode,
  syncFileIo,
  type FileIo,
  type FileStamp,
  type SavePlan,
  type SaveStep,
  type SavedFile,
} from "../../file/index.ts";
import { YamlFault, type TextPosition } from "../../yaml/index.ts";
import { loadState, type LoadedState } from "./load-state.ts";
import { createPageWriter, type LineQuestion } from "./page-writer.ts";
import type { IndexLoan } from "../index/lent-builder.ts";
import { UdmError, type UdmErrorCode } from "../model/udm-error.ts";

/** What the thread is asked; each request is answered before the next is taken. */
export type ThreadRequest =
  /** Text of whole entries, in list order; `isFirst` replaces what the thread held, `isLast` puts it in force. */
  | { readonly op: "fill"; readonly text: Uint8Array; readonly isFirst: boolean; readonly isLast: boolean }
  /** Builds the state that a whole file says; `keep` is to hold its bytes for saves, if a save would write the same. */
  | { readonly op: "load"; readonly bytes: Uint8Array; readonly loan: IndexLoan; readonly keep: boolean }
  | { readonly op: "save"; readonly plan: SavePlan; readonly changes: Uint8Array }
  | { readonly op: "lines"; readonly question: LineQuestion };

export type ThreadAnswer =
  | { readonly kind: "done" }
  | { readonly kind: "saved"; readonly saved: SavedFile }
  | { readonly kind: "loaded"; readonly loaded: LoadedState }
  | { readonly kind: "lines"; readonly lines: readonly (number | undefined)[] }
  /** Sent before the rename of a save: should the thread die, the stamp shows whether the rename took place. */
  | { readonly kind: "written"; readonly stamp: FileStamp }
  | {
      readonly kind: "failed";
      readonly message: string;
      readonly code: string;
      /** Of a {@link SaveError}. */
      readonly step?: SaveStep;
      readonly remark?: string;
      /** Of a {@link YamlFault}. */
      readonly position?: TextPosition;
      /** Of a {@link UdmError}. */
      readonly udmCode?: UdmErrorCode;
    };

/** Bytes written in one go: this thread may wait. */
const maxWrite = 64 * 1024 * 1024;

/** Serves {@link createFileThread} at the other end of the port. */
export function serveFileThread(port: MessagePort, io: FileIo = syncFileIo): void {
  const writer = createPageWriter(io, maxWrite);
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

  const load = ({ bytes, loan, keep }: Extract<ThreadRequest, { op: "load" }>): ThreadAnswer => {
    const loaded = loadState(loan, bytes);
    if (keep && isKept(loaded)) {
      // After the answer, for which the start waits.
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

/** Whether the bytes of a file are kept for saves. An empty file may have several forms. */
export function isKept({ isOurs, size }: LoadedState): boolean {
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
