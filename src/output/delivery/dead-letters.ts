import { open, rename, stat, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { limitLog, type Clock, type Log } from "../../report/index.ts";
import { errorCode, reasonOf } from "../errno.ts";
import { forEachLine, type Batch } from "./batch.ts";
import type { Refusal } from "./output-adapter.ts";
import { makeFolder } from "../../file/index.ts";

/** Where records go that a store will never take. */
export interface DeadLetters {
  /** Never throws: a letter that cannot be written is counted as a failure and logged. */
  write(batch: Batch, refused: readonly Refusal[]): Promise<void>;
  close(): Promise<void>;
}

export interface DeadLetterOptions {
  readonly output: string;
  /** The file; empty: refusals are logged and counted only. */
  readonly path: string;
  /** A file that has reached this size becomes `<path>.1`, in place of an earlier one. */
  readonly maxBytes: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly failed: (operation: string, code: string) => void;
}

/**
 * Appends a line of JSON for each refused record: when, by which output, the server's reason, and the record as it was.
 */
export function createDeadLetters(options: DeadLetterOptions): DeadLetters {
  const { output, path, maxBytes, clock, failed } = options;
  const log = limitLog(options.log, clock);
  let file: FileHandle | undefined;
  let size = 0;
  let last: Promise<void> = Promise.resolve();

  const opened = async (): Promise<FileHandle> => {
    if (file !== undefined && size >= maxBytes) {
      await file.close();
      file = undefined;
      await rename(path, `${path}.1`);
    }
    if (file === undefined) {
      await makeFolder(dirname(path), 0o750);
      file = await open(path, "a", 0o640);
      size = (await stat(path)).size;
    }
    return file;
  };

  const append = async (text: Buffer): Promise<void> => {
    try {
      await (await opened()).appendFile(text);
      size += text.length;
    } catch (error) {
      failed("dead_letter", errorCode(error));
      log.error({ output, path, reason: reasonOf(error) }, "a refused record cannot be written to the dead letters");
    }
  };

  return {
    write(batch, refused) {
      const [first] = refused;
      if (first === undefined) return last;
      log.warn({ output, records: refused.length, reason: first.reason }, "the store refuses records");
      if (path === "") return last;
      const text = letters(batch, refused, output, new Date(clock.now()).toISOString());
      last = last.then(() => append(text));
      return last;
    },
    async close() {
      await last;
      await file?.close().catch(() => {});
      file = undefined;
    },
  };
}

function letters(batch: Batch, refused: readonly Refusal[], output: string, time: string): Buffer {
  const reasons = new Map(refused.map(({ index, reason }) => [index, reason]));
  const parts: Uint8Array[] = [];
  forEachLine(batch, (chunk, from, to, index) => {
    const reason = reasons.get(index);
    if (reason === undefined) return;
    parts.push(
      Buffer.from(
        `{"@timestamp":"${time}","output":${JSON.stringify(output)},"reason":${JSON.stringify(reason)},"record":`,
      ),
      // A record is JSON; a line that is none becomes a text.
      chunk[from] === 0x7b ? chunk.subarray(from, to) : Buffer.from(JSON.stringify(chunk.toString("utf8", from, to))),
      Buffer.from("}\n"),
    );
  });
  return Buffer.concat(parts);
}
