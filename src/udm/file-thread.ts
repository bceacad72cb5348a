import type { MessagePort } from "node:worker_threads";
import { parseKey } from "../ip/index.ts";
import { errorCode, type FileIo, type FileStamp } from "./file-io.ts";
import { FileFault, type FilePosition } from "./file-fault.ts";
import { readLibraryContent, type LibraryContent } from "./library-content.ts";
import { createPageWriter } from "./page-writer.ts";
import { SaveError, type SavedFile, type SavePlan, type SaveStep } from "./save-file.ts";
import { syncFileIo } from "./sync-file-io.ts";
import type { UdmEntry } from "./udm-entry.ts";

/** What the thread is asked; each request is answered before the next is taken. */
export type ThreadRequest =
  /** Text of whole entries, in list order; `isFirst` replaces what the thread held, `isLast` puts it in force. */
  | { readonly op: "fill"; readonly text: Uint8Array; readonly isFirst: boolean; readonly isLast: boolean }
  /** Reads a whole file; its entries are then fetched some at a time, the last ones with `isLast`. */
  | { readonly op: "read"; readonly bytes: Uint8Array }
  | { readonly op: "fetch"; readonly from: number; readonly to: number; readonly isLast: boolean }
  | { readonly op: "save"; readonly plan: SavePlan; readonly changes: readonly ThreadChange[] };

/** A key as its text, and the text of the entry, undefined when it is gone. */
export type ThreadChange = readonly [key: string, yaml: string | undefined];

export type ThreadAnswer =
  | { readonly kind: "done" }
  | { readonly kind: "saved"; readonly saved: SavedFile }
  | { readonly kind: "read"; readonly count: number; readonly content: Omit<LibraryContent, "entries"> }
  | { readonly kind: "entries"; readonly entries: readonly UdmEntry[] }
  /** Told in the course of a save, before the rename: should the thread die, this tells whether the rename took place. */
  | { readonly kind: "written"; readonly stamp: FileStamp }
  | {
      readonly kind: "failed";
      readonly message: string;
      readonly code: string;
      /** Of a {@link SaveError}. */
      readonly step?: SaveStep;
      readonly remark?: string;
      /** Of a {@link FileFault}. */
      readonly position?: FilePosition;
    };

/** Bytes written in one go: this thread may wait. */
const maxWrite = 64 * 1024 * 1024;

/** Serves {@link createFileThread} at the other end of the port. */
export function serveFileThread(port: MessagePort, io: FileIo = syncFileIo): void {
  const writer = createPageWriter(io, maxWrite);
  const answer = (message: ThreadAnswer): void => port.postMessage(message);
  let texts: Uint8Array[] = [];
  let entries: readonly UdmEntry[] = [];

  const fill = async ({ text, isFirst, isLast }: Extract<ThreadRequest, { op: "fill" }>): Promise<ThreadAnswer> => {
    if (isFirst) texts = [];
    texts.push(text);
    if (isLast) {
      await writer.takeAll(texts);
      texts = [];
    }
    return { kind: "done" };
  };

  const save = async ({ plan, changes }: Extract<ThreadRequest, { op: "save" }>): Promise<ThreadAnswer> => {
    const parsed = changes.map(([key, yaml]) => ({ key: parseKey(key), yaml }));
    const saved = await writer.save(plan, parsed, (stamp) => answer({ kind: "written", stamp }));
    return { kind: "saved", saved };
  };

  const read = async ({ bytes }: Extract<ThreadRequest, { op: "read" }>): Promise<ThreadAnswer> => {
    const { entries: found, ...content } = await readLibraryContent(bytes);
    entries = found;
    return { kind: "read", count: entries.length, content };
  };

  const fetch = async ({ from, to, isLast }: Extract<ThreadRequest, { op: "fetch" }>): Promise<ThreadAnswer> => {
    const some = entries.slice(from, to);
    if (isLast) entries = [];
    return { kind: "entries", entries: some };
  };

  const work = async (request: ThreadRequest): Promise<ThreadAnswer> => {
    if (request.op === "fill") return fill(request);
    if (request.op === "read") return read(request);
    return request.op === "fetch" ? fetch(request) : save(request);
  };

  port.on("message", (request: ThreadRequest) => {
    void work(request).then(answer, (error: unknown) => answer(failure(error)));
  });
}

function failure(error: unknown): ThreadAnswer {
  const cause = error instanceof SaveError ? error.cause : error;
  const message = cause instanceof Error ? cause.message : String(cause);
  const told = { kind: "failed", message, code: errorCode(error) } as const;
  if (error instanceof FileFault) return { ...told, position: error.position };
  return error instanceof SaveError ? { ...told, step: error.step, remark: error.remark } : told;
}
