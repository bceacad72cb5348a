import { join } from "node:path";
import { resolveTarget, type FileIo } from "../../file/index.ts";
import type { Log } from "../../report/index.ts";
import type { SharedIndex } from "../index/index-contract.ts";
import type { UdmIndex } from "../model/udm-index.ts";
import { createFileThread } from "../store/file-thread-client.ts";
import { loadBytes } from "../store/load-bytes.ts";
import type { Position } from "./fetch-commits.ts";
import type { FailureStep, PostgresqlMetrics } from "./postgresql-metrics.ts";
import type { UdmPostgresqlStoreOptions } from "./postgresql-store-contract.ts";
import { createLaterWrite, createStateFile, readCopy, type LaterWrite } from "./state-file.ts";

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
