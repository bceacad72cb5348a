import type { Batch } from "./batch.ts";
import type { SpoolMode } from "./settings.ts";
import { limitLog, type Clock, type Log } from "../../base/report/index.ts";
import { errorCode, reasonOf } from "./output-adapter.ts";
import type { Spool } from "./spool.ts";

/** A batch in memory that is lent. */
export interface HeldBatch {
  readonly batch: Batch;
  /** Gives the memory back; the batch must not be looked at again. To be called once. */
  readonly release: () => void;
}

interface DeliveryQueueOptions {
  readonly mode: SpoolMode;
  /** Absent with the mode `off`. */
  readonly spool: Spool | undefined;
  /** Mode `overflow`: batches go to the spool when more bytes than this wait in memory or are being sent from there. */
  readonly memoryBytes: number;
  /** How long a spool that failed is left alone, in milliseconds. */
  readonly retryMs: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when `take` may find something that it did not find before. */
  readonly onWork: () => void;
  /** Called with each change: undefined when the disk works, else what is wrong with it. */
  readonly onSpoolFault: (fault: string | undefined) => void;
  readonly report: DeliveryQueueReport;
}

/** What a queue counts. */
interface DeliveryQueueReport {
  /** Records that were not delivered before the end and could not be kept. */
  dropped(reason: "stopped", records: number, bytes: number): void;
  failed(operation: string, code: string): void;
}

/** A batch that is being sent. One of the two is to be called, once. */
export interface TakenBatch {
  readonly batch: Batch;
  /** All its records are dealt with. */
  done(): void;
  /** It was not delivered, or these of its records were not: it will be taken again, or kept for the next run. */
  giveBack(left: Pick<Batch, "count" | "byteLength">): void;
}

/**
 * Batches that wait for their store, first in, first out: in memory, on disk, or both.
 *
 * - `off`: in memory.
 * - `overflow`: in memory; on disk once much waits or the store is away, and until the disk is empty again.
 * - `always`: on disk, and synced there before the memory of a batch is given back.
 *
 * When the disk fails, batches stay in memory and are sent from there, and the disk is tried again later.
 */
export interface DeliveryQueue {
  /** Finds what an earlier run left on disk. A disk that fails is tried again later. */
  open(): Promise<void>;
  add(held: HeldBatch): void;
  /** The oldest batch; undefined when there is none at present. */
  take(): Promise<TakenBatch | undefined>;
  /** Whether the store is away: then what waits in memory goes to the disk. */
  setAway(isAway: boolean): void;
  /** Waits until nothing is on its way to the disk. */
  settle(): Promise<void>;
  /** Keeps on disk what is in memory, drops the rest, and closes the spool. All batches that were taken are given back by then. */
  close(): Promise<void>;
  /** Whether what an earlier run left on disk is known, and counted. */
  readonly isOpen: boolean;
  /** Bytes in memory, those that are being sent included. */
  readonly memoryBytes: number;
  /** Records that are not delivered: in memory, on disk and being sent. */
  readonly records: number;
  /** The arrival of the oldest record that waits; milliseconds since the epoch. */
  readonly oldestAt: number | undefined;
}

interface Waiting {
  readonly held: HeldBatch;
  /** What of it is not delivered. */
  readonly left: Pick<Batch, "count" | "byteLength">;
}

export function createDeliveryQueue(options: DeliveryQueueOptions): DeliveryQueue {
  const { mode, spool, clock, retryMs, onWork, report } = options;
  const log = limitLog(options.log, clock);
  let memory: Waiting[] = [];
  /** Those that are to go to the disk; the first of them may be on their way. */
  let spilling: Waiting[] = [];
  let spillEnd: Promise<void> | undefined;
  let memoryBytes = 0;
  /** Records of batches that were taken and not given back. */
  let takenRecords = 0;
  let isAway = false;
  const faults: Partial<Record<"write" | "read" | "sync", string>> = {};
  let notBefore = -Infinity;

  let isOpen = false;
  let last: Promise<unknown> = Promise.resolve();

  const setFault = (of: keyof typeof faults, fault?: string): void => {
    const current = (): string | undefined => faults.write ?? faults.read ?? faults.sync;
    const before = current();
    if (fault === undefined) delete faults[of];
    else faults[of] = fault;
    if (current() !== before) options.onSpoolFault(current());
  };

  /** Makes a call of the spool when those before it have ended, and opens it first. */
  const alone = <T>(to: Spool, kind: keyof typeof faults, action: () => Promise<T>): Promise<T> => {
    const run = async (): Promise<T> => {
      if (!isOpen) await to.open();
      isOpen = true;
      const result = await action();
      setFault(kind);
      return result;
    };
    const next = last.then(run);
    last = next.catch(() => {});
    return next;
  };

  const release = ({ held }: Waiting): void => {
    memoryBytes -= held.batch.byteLength;
    held.release();
    // Nothing waits for the disk any more, so nothing will be written that would show that it works again.
    if (mode === "overflow" && memoryBytes === 0) setFault("write");
  };

  const spoolFailed = (kind: "write" | "read", error: unknown): void => {
    report.failed(kind === "write" ? "spool" : kind, errorCode(error));
    setFault(kind, `the spool cannot be used (${reasonOf(error)})`);
    notBefore = clock.monotonic() + retryMs;
    log.error({ reason: reasonOf(error) }, "the spool cannot be used, records stay in memory");
    setTimeout(onWork, retryMs + 1).unref();
  };

  /** Has what was written reach the disk. When that fails it is still sent, and a power cut meanwhile would cost it. */
  const sync = async (to: Spool): Promise<void> => {
    try {
      await alone(to, "sync", () => to.sync());
    } catch (error) {
      setFault("sync", `the spool cannot be synced (${reasonOf(error)})`);
      report.failed("sync", errorCode(error));
      log.error(
        { reason: reasonOf(error) },
        "the spool cannot be synced: a power failure would lose its newest records",
      );
      // The system may have forgotten what it did not write: a later sync of the same file would prove nothing.
      to.seal();
    }
  };

  /** Writes what is to go to the disk. @throws what the system says; what was not written stays in the list. */
  const writeSpilling = async (to: Spool): Promise<void> => {
    while (spilling.length > 0) {
      const written: Waiting[] = [];
      try {
        for (const one of spilling.slice()) {
          await alone(to, "write", () => to.append(one.held.batch));
          spilling.shift();
          written.push(one);
        }
      } finally {
        if (mode === "always" && written.length > 0) await sync(to);
        for (const one of written) release(one);
        onWork();
      }
    }
  };

  const spill = (): void => {
    if (spool === undefined || spillEnd !== undefined) return;
    spillEnd = writeSpilling(spool)
      .catch((error: unknown) => {
        spoolFailed("write", error);
        memory = [...spilling, ...memory];
        spilling = [];
        onWork();
      })
      .finally(() => (spillEnd = undefined));
  };

  const isForDisk = (): boolean => {
    if (spool === undefined || clock.monotonic() < notBefore) return false;
    if (mode === "always") return true;
    return isAway || spilling.length > 0 || (isOpen && !spool.isEmpty) || memoryBytes > options.memoryBytes;
  };

  const wait = (waiting: Waiting): void => {
    if (isForDisk()) {
      spilling.push(waiting);
      spill();
    } else {
      memory.push(waiting);
      onWork();
    }
  };

  return {
    async open() {
      if (spool === undefined) return;
      await alone(spool, "read", async () => {}).catch((error: unknown) => spoolFailed("read", error));
    },

    add(held) {
      memoryBytes += held.batch.byteLength;
      wait({ held, left: held.batch });
    },

    async take() {
      const waiting = memory.shift();
      if (waiting !== undefined) {
        const { batch } = waiting.held;
        takenRecords += batch.count;
        return {
          batch,
          done() {
            takenRecords -= batch.count;
            release(waiting);
          },
          giveBack(left) {
            takenRecords -= batch.count;
            memory.unshift({ held: waiting.held, left });
            if (isAway) moveToDisk();
            onWork();
          },
        };
      }
      if (spool === undefined || clock.monotonic() < notBefore) return undefined;
      try {
        const spooled = await alone(spool, "read", () => spool.take());
        if (spooled === undefined) return undefined;
        const { batch } = spooled;
        takenRecords += batch.count;
        return {
          batch,
          done() {
            takenRecords -= batch.count;
            spooled.done();
            // All that was not synced is delivered.
            if (takenRecords === 0 && spool.isEmpty) setFault("sync");
          },
          giveBack() {
            takenRecords -= batch.count;
            spooled.giveBack();
            onWork();
          },
        };
      } catch (error) {
        spoolFailed("read", error);
        return undefined;
      }
    },

    setAway(away) {
      isAway = away;
      if (away) moveToDisk();
    },

    settle: async () => spillEnd,

    async close() {
      await spillEnd;
      if (spool !== undefined) {
        spilling = [...memory, ...spilling];
        memory = [];
        try {
          await writeSpilling(spool);
          await alone(spool, "sync", () => spool.sync());
        } catch (error) {
          spoolFailed("write", error);
        }
        await last;
        await spool.close();
      }
      for (const one of [...memory.splice(0), ...spilling.splice(0)]) {
        report.dropped("stopped", one.left.count, one.left.byteLength);
        release(one);
      }
    },

    get isOpen() {
      return isOpen || spool === undefined;
    },
    get memoryBytes() {
      return memoryBytes;
    },
    get records() {
      const inMemory = [...memory, ...spilling].reduce((sum, { left }) => sum + left.count, 0);
      return takenRecords + inMemory + (spool?.records ?? 0);
    },
    get oldestAt() {
      const all = [memory[0]?.held.batch.oldestAt, spilling[0]?.held.batch.oldestAt, spool?.oldestAt];
      return all.reduce((a, b) => (a === undefined || (b !== undefined && b < a) ? b : a), undefined);
    },
  };

  function moveToDisk(): void {
    if (mode === "off" || !isForDisk()) return;
    spilling.push(...memory.splice(0));
    spill();
  }
}
