import { limitLog, type Log, type Reporting } from "../../base/report/index.ts";
import type { DeliveryReport } from "../output-metrics.ts";
import type { Batch, TakenBatch } from "./batch.ts";
import { reasonOf } from "./output-adapter.ts";
import { errorCode } from "../../base/file/index.ts";
import type { CommonSettings, SpoolMode } from "./settings.ts";
import type { Spool } from "./spool.ts";

type Size = Pick<Batch, "count" | "byteLength">;

/** A batch in memory. */
interface WaitingBatch {
  readonly batch: Batch;
  /** Frees its memory; to be called once. */
  readonly release: () => void;
  /** The size of the part that is not delivered. */
  readonly left: Size;
}

type SpoolCall = "write" | "read" | "sync";

/**
 * Batches that wait for their store, first in, first out: in memory, on disk, or both.
 *
 * - `off`: in memory.
 * - `overflow`: in memory. When much waits or the store is away, on disk, until the disk is empty again.
 * - `always`: on disk, and synced there before the memory of a batch is freed.
 *
 * When the disk fails, batches stay in memory and are sent from there, and the disk is tried again later.
 */
export class DeliveryQueue {
  readonly #mode: SpoolMode;
  readonly #spool: Spool | undefined;
  /**
   * Half of the queue's bytes: above it, batches go to the spool in mode `overflow`. The other half is for batches that arrive during
   * the write.
   */
  readonly #maxMemory: number;
  readonly #retryMs: number;
  readonly #report: Pick<DeliveryReport, "dropped" | "failed">;
  readonly #clock: Reporting["clock"];
  readonly #log: Log;
  readonly #onWork: () => void;
  readonly #onSpoolFault: (fault: string | undefined) => void;

  #memory: WaitingBatch[] = [];
  /** Batches to be written to disk; the write of the first ones may be under way. */
  #spilling: WaitingBatch[] = [];
  #spillEnd: Promise<void> | undefined;
  #memoryBytes = 0;
  /** Records of batches that were taken and not given back. */
  #takenRecords = 0;
  #isAway = false;
  #faults: Partial<Record<SpoolCall, string>> = {};
  #notBefore = -Infinity;
  #isSpoolOpen = false;
  #last: Promise<unknown> = Promise.resolve();

  /**
   * @param spool absent with the mode `off`.
   * @param onWork is called when `take` may find something that it did not find before.
   * @param onSpoolFault is called with each change: undefined when the disk works, else the fault.
   */
  constructor(
    spool: Spool | undefined,
    settings: Pick<CommonSettings, "SPOOL_MODE" | "QUEUE_SIZE" | "RETRY_BACKOFF">,
    report: Pick<DeliveryReport, "dropped" | "failed">,
    { clock, log }: Pick<Reporting, "clock" | "log">,
    onWork: () => void,
    onSpoolFault: (fault: string | undefined) => void,
  ) {
    this.#mode = spool === undefined ? "off" : settings.SPOOL_MODE;
    this.#spool = spool;
    this.#maxMemory = settings.QUEUE_SIZE / 2;
    this.#retryMs = settings.RETRY_BACKOFF;
    this.#report = report;
    this.#clock = clock;
    this.#log = limitLog(log, clock);
    this.#onWork = onWork;
    this.#onSpoolFault = onSpoolFault;
  }

  /** True once the batches that an earlier run left on disk are known and counted. */
  get isOpen(): boolean {
    return this.#isSpoolOpen || this.#spool === undefined;
  }

  /** Bytes in memory, including batches that are being sent. */
  get memoryBytes(): number {
    return this.#memoryBytes;
  }

  /** Records that are not delivered: in memory, on disk and being sent. */
  get records(): number {
    const inMemory = [...this.#memory, ...this.#spilling].reduce((sum, { left }) => sum + left.count, 0);
    return this.#takenRecords + inMemory + (this.#spool?.records ?? 0);
  }

  /** The arrival of the oldest waiting record, milliseconds since the epoch. */
  get oldestAt(): number | undefined {
    const all = [this.#memory[0]?.batch.oldestAt, this.#spilling[0]?.batch.oldestAt, this.#spool?.oldestAt];
    return all.reduce((a, b) => (a === undefined || (b !== undefined && b < a) ? b : a), undefined);
  }

  /** Finds the batches that an earlier run left on disk. A disk that fails is tried again later. */
  async open(): Promise<void> {
    if (this.#spool === undefined) return;
    await this.#alone(this.#spool, "read", async () => {}).catch((error: unknown) => this.#spoolFailed("read", error));
  }

  /** Adds a batch. @param release frees the memory of the batch, which is not read afterwards. */
  add(batch: Batch, release: () => void): void {
    this.#memoryBytes += batch.byteLength;
    const waiting = { batch, release, left: batch };
    if (this.#isForDisk()) {
      this.#spilling.push(waiting);
      this.#spill();
    } else {
      this.#memory.push(waiting);
      this.#onWork();
    }
  }

  /** Takes the oldest batch; undefined when there is none at present. */
  async take(): Promise<TakenBatch | undefined> {
    const waiting = this.#memory.shift();
    if (waiting !== undefined) return this.#takenFromMemory(waiting);
    const spool = this.#spool;
    if (spool === undefined || this.#clock.monotonic() < this.#notBefore) return undefined;
    try {
      const spooled = await this.#alone(spool, "read", () => spool.take());
      return spooled && this.#takenFromSpool(spool, spooled);
    } catch (error) {
      this.#spoolFailed("read", error);
      return undefined;
    }
  }

  /** Notes whether the store is away: then batches that wait in memory go to the disk. */
  setAway(isAway: boolean): void {
    this.#isAway = isAway;
    if (isAway) this.#moveToDisk();
  }

  /** Waits until all writes to the disk have ended. */
  async spilled(): Promise<void> {
    await this.#spillEnd;
  }

  /** Writes the batches in memory to disk, drops those that do not fit, and closes the spool. All taken batches must be given back before. */
  async close(): Promise<void> {
    await this.#spillEnd;
    const spool = this.#spool;
    if (spool !== undefined) {
      this.#spilling = [...this.#memory, ...this.#spilling];
      this.#memory = [];
      try {
        await this.#writeSpilling(spool);
        await this.#alone(spool, "sync", () => spool.sync());
      } catch (error) {
        this.#spoolFailed("write", error);
      }
      await this.#last;
      await spool.close();
    }
    for (const one of [...this.#memory.splice(0), ...this.#spilling.splice(0)]) {
      this.#report.dropped("stopped", one.left.count, one.left.byteLength);
      this.#release(one);
    }
  }

  #takenFromMemory(waiting: WaitingBatch): TakenBatch {
    const { batch, release } = waiting;
    this.#takenRecords += batch.count;
    return {
      batch,
      done: () => {
        this.#takenRecords -= batch.count;
        this.#release(waiting);
      },
      giveBack: (left) => {
        this.#takenRecords -= batch.count;
        this.#memory.unshift({ batch, release, left });
        if (this.#isAway) this.#moveToDisk();
        this.#onWork();
      },
    };
  }

  #takenFromSpool(spool: Spool, spooled: TakenBatch): TakenBatch {
    const { batch } = spooled;
    this.#takenRecords += batch.count;
    return {
      batch,
      done: () => {
        this.#takenRecords -= batch.count;
        spooled.done();
        // All unsynced batches are delivered.
        if (this.#takenRecords === 0 && spool.isEmpty) this.#setFault("sync");
      },
      giveBack: (left) => {
        this.#takenRecords -= batch.count;
        spooled.giveBack(left);
        this.#onWork();
      },
    };
  }

  /** Calls the spool after earlier calls have ended, and opens it first. */
  #alone<T>(spool: Spool, call: SpoolCall, action: () => Promise<T>): Promise<T> {
    const next = this.#last.then(async () => {
      if (!this.#isSpoolOpen) await spool.open();
      this.#isSpoolOpen = true;
      const result = await action();
      this.#setFault(call);
      return result;
    });
    this.#last = next.catch(() => {});
    return next;
  }

  #release({ batch, release }: WaitingBatch): void {
    this.#memoryBytes -= batch.byteLength;
    release();
    // Nothing waits for the disk, so no later write will show that it works again.
    if (this.#mode === "overflow" && this.#memoryBytes === 0) this.#setFault("write");
  }

  #isForDisk(): boolean {
    if (this.#spool === undefined || this.#clock.monotonic() < this.#notBefore) return false;
    if (this.#mode === "always") return true;
    const isInUse = this.#spilling.length > 0 || (this.#isSpoolOpen && !this.#spool.isEmpty);
    return this.#isAway || isInUse || this.#memoryBytes > this.#maxMemory;
  }

  #moveToDisk(): void {
    if (!this.#isForDisk()) return;
    this.#spilling.push(...this.#memory.splice(0));
    this.#spill();
  }

  #spill(): void {
    if (this.#spool === undefined || this.#spillEnd !== undefined) return;
    this.#spillEnd = this.#writeSpilling(this.#spool)
      .catch((error: unknown) => {
        this.#spoolFailed("write", error);
        this.#memory = [...this.#spilling, ...this.#memory];
        this.#spilling = [];
        this.#onWork();
      })
      .finally(() => (this.#spillEnd = undefined));
  }

  /** Writes the batches of the list to disk. @throws the system's error; unwritten batches stay in the list. */
  async #writeSpilling(spool: Spool): Promise<void> {
    while (this.#spilling.length > 0) {
      const written: WaitingBatch[] = [];
      try {
        for (const one of this.#spilling.slice()) {
          await this.#alone(spool, "write", () => spool.append(one.batch));
          this.#spilling.shift();
          written.push(one);
        }
      } finally {
        if (this.#mode === "always" && written.length > 0) await this.#sync(spool);
        for (const one of written) this.#release(one);
        this.#onWork();
      }
    }
  }

  /** Syncs written batches to disk. After a failure they are still sent, but a power cut before that would lose them. */
  async #sync(spool: Spool): Promise<void> {
    try {
      await this.#alone(spool, "sync", () => spool.sync());
    } catch (error) {
      this.#setFault("sync", `the spool cannot be synced (${reasonOf(error)})`);
      this.#report.failed("sync", errorCode(error));
      this.#log.error(
        { reason: reasonOf(error) },
        "the spool cannot be synced: a power failure would lose its newest records",
      );
      // The system may have discarded unwritten data: a later sync of the same file would prove nothing.
      spool.seal();
    }
  }

  #spoolFailed(call: "write" | "read", error: unknown): void {
    this.#report.failed(call === "write" ? "spool" : call, errorCode(error));
    this.#setFault(call, `the spool cannot be used (${reasonOf(error)})`);
    this.#notBefore = this.#clock.monotonic() + this.#retryMs;
    this.#log.error({ reason: reasonOf(error) }, "the spool cannot be used, records stay in memory");
    setTimeout(this.#onWork, this.#retryMs + 1).unref();
  }

  #setFault(call: SpoolCall, fault?: string): void {
    const current = (): string | undefined => this.#faults.write ?? this.#faults.read ?? this.#faults.sync;
    const before = current();
    if (fault === undefined) delete this.#faults[call];
    else this.#faults[call] = fault;
    if (current() !== before) this.#onSpoolFault(current());
  }
}
