import type { MessagePort } from "node:worker_threads";
import { parseKey } from "../ip/index.ts";
import { errorCode, type FileIo, type FileStamp } from "./file-io.ts";
import { createPageWriter } from "./page-writer.ts";
import { SaveError, type SavedFile, type SavePlan, type SaveStep } from "./save-file.ts";
import { syncFileIo } from "./sync-file-io.ts";

/** What the thread is asked; each request is answered before the next is taken. */
export type ThreadRequest =
  /** Text of whole entries, in list order; `isFirst` replaces what the thread held, `isLast` puts it in force. */
  | { readonly op: "fill"; readonly text: Uint8Array; readonly isFirst: boolean; readonly isLast: boolean }
  | { readonly op: "save"; readonly plan: SavePlan; readonly changes: readonly ThreadChange[] };

/** A key as its text, and the text of the entry, undefined when it is gone. */
export type ThreadChange = readonly [key: string, yaml: string | undefined];

export type ThreadAnswer =
  | { readonly kind: "done"; readonly saved?: SavedFile }
  /** Told in the course of a save, before the rename: should the thread die, this tells whether the rename took place. */
  | { readonly kind: "written"; readonly stamp: FileStamp }
  | {
      readonly kind: "failed";
      readonly message: string;
      readonly code: string;
      /** Of a {@link SaveError}. */
      readonly step?: SaveStep;
    };

/** Bytes written in one go: this thread may wait. */
const maxWrite = 64 * 1024 * 1024;

/** Serves {@link createFileThread} at the other end of the port. */
export function serveFileThread(port: MessagePort, io: FileIo = syncFileIo): void {
  const writer = createPageWriter(io, maxWrite);
  const answer = (message: ThreadAnswer): void => port.postMessage(message);
  let texts: Uint8Array[] = [];

  const fill = async ({ text, isFirst, isLast }: Extract<ThreadRequest, { op: "fill" }>): Promise<ThreadAnswer> => {
    if (isFirst) texts = [];
    texts.push(text);
    if (isLast) {
      await writer.takeAll([Buffer.concat(texts)]);
      texts = [];
    }
    return { kind: "done" };
  };

  const save = async ({ plan, changes }: Extract<ThreadRequest, { op: "save" }>): Promise<ThreadAnswer> => {
    const parsed = changes.map(([key, yaml]) => ({ key: parseKey(key), yaml }));
    const saved = await writer.save(plan, parsed, (stamp) => answer({ kind: "written", stamp }));
    return { kind: "done", saved };
  };

  port.on("message", (request: ThreadRequest) => {
    void (request.op === "fill" ? fill(request) : save(request)).then(answer, (error: unknown) =>
      answer(failure(error)),
    );
  });
}

function failure(error: unknown): ThreadAnswer {
  const cause = error instanceof SaveError ? error.cause : error;
  const message = cause instanceof Error ? cause.message : String(cause);
  const told = { kind: "failed", message, code: errorCode(error) } as const;
  return error instanceof SaveError ? { ...told, step: error.step } : told;
}
