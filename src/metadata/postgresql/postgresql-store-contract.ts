import type { Worker } from "node:worker_threads";
import type { FileIo } from "../../base/file/index.ts";
import type { ServerAddress, TlsFiles } from "../../base/postgresql/index.ts";
import type { Clock, Health, Log, Metrics } from "../../base/report/index.ts";

export interface UdmPostgresqlStoreOptions {
  readonly address: ServerAddress;
  readonly tls: TlsFiles;
  /** The longest that connecting, or an answer, may take, in milliseconds. */
  readonly timeoutMs: number;
  /** Whether writes are taken. */
  readonly owned: boolean;
  /** What the history calls this collector. */
  readonly collector: string;
  /** Where the last copy of all entries is kept; "" for nowhere. */
  readonly stateDirectory: string;
  /** A metadata file that is written after each change; "" for none. Nothing reads it. */
  readonly exportPath: string;
  /** Most bytes of the history of changes, about. */
  readonly historyBytes: number;
  /** Most entries; memory is reserved for this many, which costs address space until it is used. */
  readonly maxEntries: number;
  /** What a message about a limit says of how to raise it. */
  readonly limitName?: string;
  readonly io?: FileIo;
  /** Starts a thread that runs {@link serveFileThread}, for a big copy; without it all is done in this thread. */
  readonly startThread?: (() => Worker) | undefined;
  /** Runs an action once after a time, without keeping the process alive. @returns a function that calls it off. */
  readonly after?: (action: () => void, ms: number) => () => void;
  /** From 0 to 1. */
  readonly random?: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly health: Health;
}
