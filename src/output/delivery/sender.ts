import { Backoff, type Clock, type Log, limitLog, Pause, type Reporting } from "../../base/report/index.ts";
import type { DeliveryReport } from "../output-metrics.ts";
import { Circuit } from "./backoff.ts";
import { selectRecords, type Batch, type TakenBatch } from "./batch.ts";
import type { DeadLetters } from "./dead-letters.ts";
import type { DeliveryQueue } from "./delivery-queue.ts";
import { judge, newPart, type Judgement, type Part } from "./judgement.ts";
import { connectionFailure, DeliveryError, type Outcome, type OutputAdapter, type Refusal } from "./output-adapter.ts";
import type { CommonSettings } from "./settings.ts";

/** Calls an adapter with a time limit. */
export class TimedCalls {
  readonly #timeoutMs: number;
  readonly #underWay = new Set<AbortController>();
  #isStopped = false;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /**
   * Calls the adapter. The call ends at its time limit, or with {@link TimedCalls.stop}, whether the adapter heeds the signal or not.
   *
   * @throws DeliveryError
   */
  call<T>(action: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#isStopped) return Promise.reject(stopped());
    const controller = new AbortController();
    const { signal } = controller;
    this.#underWay.add(controller);
    return new Promise((resolve, reject) => {
      const late = (): void =>
        controller.abort(new DeliveryError("store", "timeout", `no answer within ${this.#timeoutMs / 1000} s`));
      const timer = setTimeout(late, this.#timeoutMs);
      const failed = (error: unknown): void => {
        reject(connectionFailure(signal.aborted ? signal.reason : error, "the store"));
      };
      // An adapter that ignores the signal must not hold the batch for ever.
      signal.addEventListener("abort", failed);
      const end = (): void => {
        clearTimeout(timer);
        this.#underWay.delete(controller);
        signal.removeEventListener("abort", failed);
      };
      action(signal).then(resolve, failed).finally(end);
    });
  }

  /** Aborts the calls under way, and all later ones. */
  stop(): void {
    this.#isStopped = true;
    for (const controller of this.#underWay) controller.abort(stopped());
  }
}

function stopped(): DeliveryError {
  return new DeliveryError("store", "stopped", "the output stops");
}

/** The collaborators of a sender, and callbacks for the state of the store. */
export interface SenderParts {
  readonly output: string;
  readonly adapter: OutputAdapter;
  readonly queue: DeliveryQueue;
  readonly deadLetters: DeadLetters;
  readonly report: DeliveryReport;
  /** Returns a random number from 0 to below 1. */
  readonly random: () => number;
  readonly onConnected: () => void;
  /** Called with each change: undefined when the store works, else the fault. */
  readonly onFault: (fault: DeliveryError | undefined) => void;
  readonly onRefused: (reason: string) => void;
}

/** A batch that is being sent, or the first contact. */
interface UnderWay {
  /** The size of its batch. */
  readonly byteLength: number;
  /** The arrival of its oldest record. */
  readonly oldestAt: number;
  /** True if it has failed and waits for a sign that the store takes others: it needs no slot among the sent ones. */
  isParked: boolean;
}

/** The number of suspects that are tried in a row before all wait: the store may take the next one. */
const suspectsAtOnce = 3;
/** Refusals and milliseconds after which a single record is refused if no other records can show that the store works. */
const triesAlone = 5;
const aloneMs = 300_000;
/** The number of failures in a row after which a batch yields its slot to another, which may show that the store works. */
const parkedAfter = 2;
/** Suspected batches that may be parked for each sending slot, and more while they are small. Of other batches, one for each slot. */
const parkedForEach = 2;

/**
 * Takes batches from a queue and sends them to a store.
 *
 * - It opens the store first, and repeats that until it works; meanwhile batches wait.
 * - Batches that the store does not take are judged ({@link judge}): sent again, halved, or turned into dead letters.
 * - While the store is away, it tries one batch at a time. A batch of suspects waits by itself and does not block the others.
 */
export class Sender {
  readonly #parts: SenderParts;
  readonly #maxInFlight: number;
  /** Bytes of suspected batches that may wait, besides those that are being sent. */
  readonly #parkedBytes: number;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #limitedLog: Log;
  readonly #idle = new Pause();
  /** Pauses before another try. */
  readonly #waits = new Set<Pause>();
  readonly #backoff: Backoff;
  readonly #calls: TimedCalls;
  readonly #circuit = new Circuit();
  readonly #underWay = new Map<UnderWay, Promise<void>>();
  /** The fault of each batch that cannot be sent; the first one is reported. */
  readonly #faults = new Map<UnderWay, DeliveryError>();
  #reported: DeliveryError | undefined;
  /** The number of records that the store has taken. A suspect that fails while this grows is at fault itself. */
  #taken = 0;
  #hasWork = true;
  #isDraining = false;
  /** True if no more batches are started. */
  #isEnding = false;
  #running: Promise<void> | undefined;

  constructor(parts: SenderParts, settings: CommonSettings, { clock, log }: Pick<Reporting, "clock" | "log">) {
    this.#parts = parts;
    this.#maxInFlight = settings.REQUESTS_IN_FLIGHT;
    this.#parkedBytes = settings.QUEUE_SIZE / 8;
    this.#clock = clock;
    this.#log = log;
    this.#limitedLog = limitLog(log, clock);
    this.#backoff = new Backoff(settings.RETRY_BACKOFF, settings.RETRY_BACKOFF_MAX, parts.random);
    this.#calls = new TimedCalls(1000 * settings.TIMEOUT);
  }

  /** Starts to send. The store need not be there yet. */
  start(): void {
    this.#running = this.#run();
  }

  /** Notes that the queue may have something. */
  wake(): void {
    this.#hasWork = true;
    this.#idle.end();
  }

  /**
   * Sends waiting batches within this time, then gives back those that are not delivered.
   *
   * @param beginMs the time after which no batch is started. The store may have a batch whose sending was aborted, and would have it
   *   twice if it cannot recognise it.
   */
  async stop(drainMs: number, beginMs: number): Promise<void> {
    this.#isDraining = true;
    this.wake();
    const endWaits = (): void => {
      for (const wait of this.#waits) wait.end();
      this.#circuit.end();
      this.#idle.end();
    };
    const lastBegin = setTimeout(() => {
      this.#isEnding = true;
      endWaits();
    }, beginMs);
    const cut = setTimeout(() => {
      this.#calls.stop();
      endWaits();
    }, drainMs);
    await this.#running;
    clearTimeout(lastBegin);
    clearTimeout(cut);
  }

  get inFlight(): number {
    return this.#underWay.size;
  }

  get #isOver(): boolean {
    return this.#isEnding || this.#calls.isStopped;
  }

  async #run(): Promise<void> {
    await this.#open();
    while (!this.#isOver) {
      if (!this.#hasPlace()) {
        await this.#idle.pause();
        continue;
      }
      this.#hasWork = false;
      const taken = await this.#parts.queue.take();
      if (taken !== undefined) {
        const { byteLength, oldestAt } = taken.batch;
        const own: UnderWay = { byteLength, oldestAt, isParked: false };
        const delivery = this.#deliver(taken, own).finally(() => {
          this.#underWay.delete(own);
          this.#mended(own);
          this.wake();
        });
        this.#underWay.set(own, delivery);
        continue;
      }
      if (this.#isDraining && this.#underWay.size === 0 && !this.#hasWork) break;
      if (!this.#hasWork) await this.#idle.pause();
    }
    await Promise.all(this.#underWay.values());
  }

  #hasPlace(): boolean {
    let sent = 0;
    for (const { isParked } of this.#underWay.keys()) sent += Number(!isParked);
    return sent < this.#maxInFlight;
  }

  async #open(): Promise<void> {
    const { adapter, output, report } = this.#parts;
    const own: UnderWay = { byteLength: 0, oldestAt: Number.POSITIVE_INFINITY, isParked: false };
    for (let tries = 1; !this.#isOver; tries++) {
      try {
        const warnings = await this.#calls.call((signal) => adapter.open(signal));
        this.#parts.onConnected();
        for (const warning of warnings) this.#log.warn({ output }, warning);
        this.#log.info({ output }, "output is connected");
        this.#circuit.worked();
        this.#mended(own);
        return;
      } catch (thrown) {
        if (this.#calls.isStopped) return;
        const error = thrown as DeliveryError;
        this.#circuit.failed();
        this.#failed(own, error);
        report.failed("open", error.code);
        await this.#rest(this.#backoff.delay(tries, error.retryAfterMs));
      }
    }
  }

  async #deliver(taken: TakenBatch, own: UnderWay): Promise<void> {
    let parts: readonly Part[] = [newPart(taken.batch)];
    let failures = 0;
    /** When the store first refused it while it was the only record; undefined: there are others, or it has another fault. */
    let aloneSince: number | undefined;
    for (;;) {
      const [part, ...others] = parts;
      if (part === undefined) {
        taken.done();
        return;
      }
      const leave = await this.#circuit.enter(failures === 0);
      if (this.#isOver) break;
      const answer = await this.#send(part.batch, own);
      if (answer === undefined) break;
      const now = this.#clock.monotonic();
      const hasWaited = failures + 1 >= triesAlone && aloneSince !== undefined && now - aloneSince >= aloneMs;
      const judged = judge(part, answer, this.#taken, hasWaited);
      const { left, fault, isSuspect } = judged;
      aloneSince = fault?.blame === "record" && this.#parts.queue.records === 1 ? (aloneSince ?? now) : undefined;
      parts = isSuspect ? [...others, ...left] : [...left, ...others];
      await this.#note(part, judged, own);
      if (judged.taken > 0 || judged.letters.length > 0) failures = 0;
      else if (fault !== undefined) failures++;
      const goesOn = fault === undefined || (isSuspect && failures < suspectsAtOnce && others.length > 0);
      // While the store takes others, there is no need to keep them from it.
      const isFree = goesOn || !judged.isHeld;
      if (isFree) leave();
      if (goesOn) continue;
      if (judged.isHeld) this.#failed(own, fault);
      if (fault.blame === "operator") own.isParked = false;
      else if (failures >= parkedAfter) this.#park(own, isSuspect);
      const tries = Math.max(failures, 1, isFree ? 0 : this.#circuit.probes + 1);
      await this.#rest(this.#backoff.delay(tries, answer.retryAfterMs));
      if (!isFree) leave();
    }
    taken.giveBack({
      count: parts.reduce((sum, { batch }) => sum + batch.count, 0),
      byteLength: parts.reduce((sum, { batch }) => sum + batch.byteLength, 0),
    });
  }

  /** Sends a batch once. @returns the answer of the store; undefined: the output stops. */
  async #send(batch: Batch, own: UnderWay): Promise<Outcome | DeliveryError | undefined> {
    const { adapter, output, report } = this.#parts;
    const startedAt = this.#clock.monotonic();
    const took = (): number => (this.#clock.monotonic() - startedAt) / 1000;
    try {
      const outcome = await this.#calls.call((signal) => adapter.send(batch, signal, this.#oldestBeside(own)));
      report.request(outcome.refused.length + outcome.retry.length > 0 ? "partly" : "accepted", took());
      report.cut(outcome.cut ?? 0);
      report.leftOut(outcome.leftOut ?? 0);
      if (outcome.lack !== undefined) {
        report.failed("send", outcome.lack.code);
        this.#limitedLog.warn({ output, reason: outcome.lack.message }, "a part of the store lacks records");
      }
      return outcome;
    } catch (thrown) {
      if (this.#calls.isStopped) return undefined;
      const error = thrown as DeliveryError;
      const { blame, code, message, retryAfterMs, cause } = error;
      report.request(code, took());
      return adapter.isKnownWhole === true && blame === "store"
        ? new DeliveryError(blame, code, message, { retryAfterMs, cause, isWhole: true })
        : error;
    }
  }

  /** Returns the arrival of the oldest record that waits or is under way besides a batch; undefined: there is none. */
  #oldestBeside(own: UnderWay): number | undefined {
    const others = [...this.#underWay.keys()].filter((one) => one !== own).map(({ oldestAt }) => oldestAt);
    const oldest = Math.min(this.#parts.queue.oldestAt ?? Number.POSITIVE_INFINITY, ...others);
    return Number.isFinite(oldest) ? oldest : undefined;
  }

  /** Counts the result of a try, and notes whether the store works. */
  async #note({ batch }: Part, judged: Judgement, own: UnderWay): Promise<void> {
    const { taken, letters, left, fault, isHeld } = judged;
    const { report, deadLetters, onRefused } = this.#parts;
    this.#taken += taken;
    if (taken > 0) {
      this.#circuit.worked();
      // An operator's fault may hold only some records. Their own batches clear it when it is mended.
      for (const [held, { blame }] of this.#faults) if (held === own || blame !== "operator") this.#mended(held);
      const leftBytes = left.reduce((sum, part) => sum + part.batch.byteLength, 0);
      report.delivered(taken, batch.byteLength - leftBytes - bytesOf(batch, letters));
    } else if (fault !== undefined && isHeld) this.#circuit.failed();
    if (fault !== undefined) report.retried(left.reduce((sum, part) => sum + part.batch.count, 0));
    if (letters.length === 0) return;
    for (const [reason, records] of countReasons(letters)) {
      report.refused(records, reason);
      onRefused(reason);
    }
    await deadLetters.write(batch, letters);
  }

  #park(own: UnderWay, isSuspect: boolean): void {
    if (own.isParked) return;
    const parked = [...this.#underWay.keys()].filter(({ isParked }) => isParked);
    const bytes = parked.reduce((sum, { byteLength }) => sum + byteLength, own.byteLength);
    if (
      parked.length >= (isSuspect ? parkedForEach : 1) * this.#maxInFlight &&
      (bytes > this.#parkedBytes || !isSuspect)
    )
      return;
    own.isParked = true;
    this.wake();
  }

  #failed(own: UnderWay, error: DeliveryError): void {
    this.#faults.set(own, error);
    this.#limitedLog.error({ output: this.#parts.output, reason: error.message }, "output fails, trying again");
    if (this.#circuit.isAway) this.#parts.queue.setAway(true);
    this.#reportFault();
  }

  #mended(own: UnderWay): void {
    if (this.#faults.delete(own)) this.#reportFault();
  }

  #reportFault(): void {
    const { output, queue, onFault } = this.#parts;
    const [first] = this.#faults.values();
    if (first?.message === this.#reported?.message) return;
    this.#reported = first;
    if (first === undefined) {
      this.#log.info({ output }, "output works again");
      queue.setAway(false);
    }
    onFault(first);
  }

  /** Waits before another try, unless the sender ends. */
  async #rest(ms: number): Promise<void> {
    const wait = new Pause();
    this.#waits.add(wait);
    const isOver = wait.pause(ms);
    if (this.#isOver) wait.end();
    await isOver;
    this.#waits.delete(wait);
  }
}

function countReasons(refused: readonly Refusal[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { reason } of refused) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return counts;
}

/** @param refused by ascending indexes. */
function bytesOf(batch: Batch, refused: readonly Refusal[]): number {
  if (refused.length === 0) return 0;
  return selectRecords(
    batch,
    refused.map(({ index }) => index),
  ).byteLength;
}
