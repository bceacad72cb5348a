import type { Clock, Log } from "../../report/index.ts";
import { limitLog } from "../../report/index.ts";
import { createPause } from "../pause.ts";
import { backoffMs, type BackoffOptions } from "./backoff.ts";
import { selectRecords, splitBatch, type Batch } from "./batch.ts";
import { createCircuit } from "./circuit.ts";
import type { DeadLetters } from "./dead-letters.ts";
import { DeliveryError } from "./delivery-error.ts";
import type { DeliveryQueue, TakenBatch } from "./delivery-queue.ts";
import type { DeliveryReport } from "./delivery-report.ts";
import type { Outcome, OutputAdapter } from "./output-adapter.ts";
import { createTimedCalls } from "./timed-calls.ts";

export interface SenderOptions {
  readonly output: string;
  readonly adapter: OutputAdapter;
  readonly queue: DeliveryQueue;
  /** Batches that are sent at the same time. */
  readonly maxInFlight: number;
  /** How long a request may take, milliseconds. */
  readonly timeoutMs: number;
  readonly backoff: BackoffOptions;
  readonly deadLetters: DeadLetters;
  readonly report: DeliveryReport;
  readonly clock: Clock;
  readonly log: Log;
  /** Called with each change: undefined when the store works, else a sentence that says what is wrong. */
  readonly onFault: (fault: string | undefined) => void;
}

/** Takes batches from a queue and brings them to a store. */
export interface Sender {
  /** Begins; the store need not be there. */
  start(): void;
  /** The queue may have something. */
  wake(): void;
  /**
   * Sends waiting batches within this time; then gives back those that are not delivered.
   *
   * @param beginMs after which no batch is begun any more: one that is cut off may be with the store, and would be there twice
   *   where the store cannot know it again.
   */
  stop(drainMs: number, beginMs: number): Promise<void>;
  readonly inFlight: number;
}

/**
 * - The store is opened first, again and again until that works; meanwhile batches wait.
 * - A batch that fails is tried again until it works: the store decides when, and the queue holds what comes meanwhile. While
 *   the store is away, one batch at a time is tried.
 * - Records that the store refuses are dead letters, the others of their batch are delivered.
 * - A batch that is too large is halved.
 */
export function createSender(options: SenderOptions): Sender {
  const { output, adapter, queue, maxInFlight, timeoutMs, backoff, deadLetters, report, clock, onFault } = options;
  const log = limitLog(options.log, clock);
  const idle = createPause();
  /** Those who wait before another try. */
  const waits = new Set<() => void>();
  const calls = createTimedCalls(timeoutMs);
  const circuit = createCircuit();
  const inFlight = new Set<Promise<void>>();
  let hasWork = true;
  let isDraining = false;
  /** No batch is begun any more. */
  let isEnding = false;
  let fault: string | undefined;
  let running: Promise<void> | undefined;

  const isOver = (): boolean => isEnding || calls.isStopped;

  const wake = (): void => {
    hasWork = true;
    idle.end();
  };

  const failed = (error: DeliveryError): void => {
    circuit.failed();
    log.error({ output, reason: error.message }, "output fails, trying again");
    if (circuit.isAway) queue.setAway(true);
    if (fault === error.message) return;
    fault = error.message;
    onFault(fault);
  };

  const worked = (): void => {
    circuit.worked();
    if (fault === undefined) return;
    fault = undefined;
    options.log.info({ output }, "output works again");
    queue.setAway(false);
    onFault(undefined);
  };

  /** Waits before another try, unless the end is asked for. */
  const rest = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        waits.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      waits.add(end);
      if (isOver()) end();
    });

  const send = async (batch: Batch): Promise<Outcome> => {
    const startedAt = clock.monotonic();
    let outcome = "accepted";
    try {
      const result = await calls.call((signal) => adapter.send(batch, signal));
      if (result.refused.length + result.retry.length > 0) outcome = "partly";
      return result;
    } catch (error) {
      outcome = (error as DeliveryError).code;
      throw error;
    } finally {
      if (!calls.isStopped) report.request(outcome, (clock.monotonic() - startedAt) / 1000);
    }
  };

  const refuseAll = async (batch: Batch, reason: string): Promise<void> => {
    report.refused(batch.count, reason);
    await deadLetters.write(
      batch,
      Array.from({ length: batch.count }, (_, index) => ({ index, reason })),
    );
  };

  /** Sends once. @returns what of the batch is left to be sent, and how long to wait before that. */
  const sendOnce = async (batch: Batch, tries: number): Promise<{ left: readonly Batch[]; waitMs: number }> => {
    let outcome: Outcome;
    try {
      outcome = await send(batch);
    } catch (thrown) {
      const error = thrown as DeliveryError;
      if (calls.isStopped) return { left: [batch], waitMs: 0 };
      if (error.kind === "split" && batch.count > 1) return { left: splitBatch(batch), waitMs: 0 };
      if (error.kind !== "retry") {
        await refuseAll(batch, error.message);
        return { left: [], waitMs: 0 };
      }
      failed(error);
      report.retried(batch.count);
      return { left: [batch], waitMs: backoffMs(backoff, Math.max(tries, circuit.probes + 1), error.retryAfterMs) };
    }
    const { refused, retry } = outcome;
    if (retry.length < batch.count) worked();
    else failed(new DeliveryError("retry", "busy", "the store takes no records at present"));
    const left = retry.length === 0 ? undefined : selectRecords(batch, retry);
    report.delivered(
      batch.count - refused.length - retry.length,
      batch.byteLength - (left?.byteLength ?? 0) - (refused.length === 0 ? 0 : bytesOf(batch, refused)),
    );
    if (refused.length > 0) {
      for (const [reason, records] of countReasons(refused)) report.refused(records, reason);
      await deadLetters.write(batch, refused);
    }
    if (left === undefined) return { left: [], waitMs: 0 };
    report.retried(left.count);
    return { left: [left], waitMs: backoffMs(backoff, tries, outcome.retryAfterMs) };
  };

  const deliver = async (taken: TakenBatch): Promise<void> => {
    let work: readonly Batch[] = [taken.batch];
    let tries = 0;
    for (;;) {
      const [next, ...others] = work;
      if (next === undefined) {
        taken.done();
        return;
      }
      const leave = await circuit.enter();
      if (isOver()) break;
      const before = next.count;
      const { left, waitMs } = await sendOnce(next, ++tries);
      work = [...left, ...others];
      // A try that brought something is no failure of the next.
      if (left.length === 0 || left.length > 1 || (left[0]?.count ?? 0) < before / 2) tries = 0;
      if (waitMs > 0) await rest(waitMs);
      leave();
    }
    taken.giveBack({
      count: work.reduce((sum, { count }) => sum + count, 0),
      byteLength: work.reduce((sum, { byteLength }) => sum + byteLength, 0),
    });
  };

  const open = async (): Promise<void> => {
    for (let tries = 1; !isOver(); tries++) {
      try {
        for (const warning of await calls.call((signal) => adapter.open(signal))) options.log.warn({ output }, warning);
        options.log.info({ output }, "output is connected");
        worked();
        return;
      } catch (error) {
        if (calls.isStopped) return;
        failed(error as DeliveryError);
        report.failed("open", (error as DeliveryError).code);
        await rest(backoffMs(backoff, tries, (error as DeliveryError).retryAfterMs));
      }
    }
  };

  const run = async (): Promise<void> => {
    await open();
    while (!isOver()) {
      if (inFlight.size >= maxInFlight) {
        await idle.pause();
        continue;
      }
      const taken = await takeNext();
      if (taken !== undefined) {
        const delivery = deliver(taken).finally(() => {
          inFlight.delete(delivery);
          wake();
        });
        inFlight.add(delivery);
        continue;
      }
      if (isDraining && inFlight.size === 0 && !hasWork) break;
      if (!hasWork) await idle.pause();
    }
    await Promise.all(inFlight);
  };

  const takeNext = (): Promise<TakenBatch | undefined> => {
    hasWork = false;
    return queue.take();
  };

  return {
    start() {
      running = run();
    },
    wake,
    async stop(drainMs, beginMs) {
      isDraining = true;
      wake();
      const endWaits = (): void => {
        for (const end of waits) end();
        circuit.end();
        idle.end();
      };
      const lastBegin = setTimeout(() => {
        isEnding = true;
        endWaits();
      }, beginMs);
      const cut = setTimeout(() => {
        calls.stop();
        endWaits();
      }, drainMs);
      await running;
      clearTimeout(lastBegin);
      clearTimeout(cut);
    },
    get inFlight() {
      return inFlight.size;
    },
  };
}

function countReasons(refused: Outcome["refused"]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { reason } of refused) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return counts;
}

function bytesOf(batch: Batch, refused: readonly { readonly index: number }[]): number {
  return selectRecords(
    batch,
    refused.map(({ index }) => index).toSorted((a, b) => a - b),
  ).byteLength;
}
