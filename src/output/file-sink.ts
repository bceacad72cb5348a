import { resolve } from "node:path";
import type { Sink } from "../record/index.ts";
import type { Component } from "../report/index.ts";
import { errorCode, reasonOf } from "./errno.ts";
import { createFileOutlet, type FileOutlet } from "./file-outlet.ts";
import { OutputError } from "./output-error.ts";
import { nodeOutputIo, type OutputIo } from "./output-io.ts";
import { createQueuedSink, type OutputOptions } from "./queued-sink.ts";

export interface FileSinkOptions extends OutputOptions {
  /** The file; it and its folder are created when they are missing. A named pipe or a device works, too. */
  readonly path: string;
  /**
   * A file that has reached this size is renamed to `<path>.1` between two writes, and a fresh one begun; it is longer
   * by one chunk at most. 0 is never. The file behind a symbolic link is renamed at its own place.
   */
  readonly maxBytes: number;
  /** How many renamed files are kept, 1 or more. */
  readonly maxFiles: number;
  readonly io?: OutputIo;
}

export interface FileSink extends Sink, Component {
  /** Opens the path again, for after logrotate has renamed the file. Every line is whole in the old or in the new file. */
  reopen(): void;
}

/** With these at the start, the configuration is wrong; other errors may pass and are tried again. */
const configurationErrors: ReadonlySet<string> = new Set([
  "EACCES",
  "EPERM",
  "EROFS",
  "EISDIR",
  "ENOTDIR",
  // A folder that was missing could not be made, although the one above it is there.
  "ENOENT",
  "EEXIST",
  "ELOOP",
  "ENAMETOOLONG",
]);

/**
 * Appends records to a file. A disk that is full or fails is tried again until it works; no line is ever left half
 * written, and none is split between two files. Nothing is synced: a power cut may cost what the kernel still held.
 *
 * `start` throws OutputError when the path can never be written to.
 */
export function createFileSink(options: FileSinkOptions): FileSink {
  const { maxBytes, maxFiles, io = nodeOutputIo, retryMs = 1000, log, clock } = options;
  const path = resolve(options.path);
  let outlet: FileOutlet | undefined;

  const sink = createQueuedSink({
    ...options,
    name: "file",
    async open(report) {
      outlet = createFileOutlet({ path, maxBytes, maxFiles, retryMs, io, log, clock, report });
      try {
        await outlet.next();
      } catch (error) {
        if (configurationErrors.has(errorCode(error))) {
          throw new OutputError(`the output file ${path} cannot be written: ${reasonOf(error)}`, { cause: error });
        }
      }
      return outlet;
    },
  });

  return {
    ...sink,
    reopen() {
      outlet?.reopen();
      sink.nudge();
    },
  };
}
