import { Backoff, type Clock, type Log } from "../../base/report/index.ts";
import { DeliveryError } from "../../output/index.ts";
import type { RefusedNotice } from "../alert-file.ts";
import { madeAlert, noticeOf, type Alert, type Notice } from "../alerts.ts";
import { createReceiver, quietHoursOf, type ActionConfig } from "./action.ts";
import type { QuietHours } from "./quiet-hours.ts";
import type { Letter, Receiver, ReceiverSurroundings } from "./receiver.ts";

/** Counts of what happened to the notices of an action since the collector started. */
export interface NoticeCounts {
  sent: number;
  failures: number;
  dropped: number;
  /** Notices set aside: the receiver refused them but takes others. */
  refused: number;
  /** Notices that became a part of a summary. */
  folded: number;
}

/** A notice that waits for its action, or is being sent. */
interface Waiting {
  notice: Notice;
  /** Ids of the notices that are part of this summary. */
  readonly parts?: string[];
  /** Earliest time of sending. All times here are milliseconds of the monotonic clock. */
  readonly notBefore: number;
  /** True where it repeats the notice of an alert that still fires. */
  readonly isRepeat: boolean;
  /** A letter. The queue sends it alone and reports the outcome to whoever posted it. */
  readonly letter?: {
    readonly content: Letter;
    /** @param fault why the queue gave it up. */
    readonly done: (fault?: string) => void;
    /** Called when it can be posted again. */
    readonly goBack: (why: string) => void;
    /** Number of times that its content was refused, or may have been. */
    refused: number;
  };
  /** First time at which it could have been sent. Until then it may have waited for the end of quiet hours. */
  triedAt?: number;
  /**
   * Number of times that the receiver refused it alone, each time after taking another notice. For a letter, all failures count. `refusedAfter` is the
   * number of notices taken by then.
   */
  refusals: number;
  refusedAfter: number;
}

const maxWaiting = 10_000;
const maxRefused = 100;
/** Number of delivered notices to remember, for the pages that show their alert. */
const maxTaken = 1000;
const maxAtOnce = 100;
const sendMs = 10_000;
/** A letter can have several megabytes. */
const sendLetterMs = 60_000;
const longestTestMs = 30_000;
/** A notice is given up when the receiver refuses it for this long. */
const giveUpMs = 86_400_000;
const firstPauseMs = 1000;
const longestPauseMs = 300_000;
/** This many refused contents in a row cause no pause while there is another notice to try. A batch is halved, or a notice goes to the end. */
const freeRefusals = 10;
/** A notice is set aside after this many refusals while the receiver took others. A receiver that reports a fault of its own gets more tries. */
const mostRefusals = 2;
const mostFaults = 4;

/** Notices for one action, sent in order. Each stays until the receiver takes it. */
export class ActionQueue {
  readonly name: string;
  readonly config: ActionConfig;
  readonly counts: NoticeCounts;
  readonly #receiver: Receiver;
  readonly #quiet: QuietHours;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #changed: () => void;
  readonly #backoff = new Backoff(firstPauseMs, longestPauseMs, Math.random);
  /** The abort controllers of the calls in progress. */
  readonly #givenUp = new Set<AbortController>();
  #isStopped = false;
  /** For each rule, the number of notices since a time. */
  readonly #rates = new Map<string, { readonly from: number; count: number }>();
  #waiting: Waiting[] = [];
  #refused: readonly RefusedNotice[] = [];
  #taken: readonly { readonly alert: string; readonly kind: Notice["kind"]; readonly at: number }[] = [];
  /** The notices that are being sent. */
  #underWay: ReadonlySet<Waiting> = new Set();
  /** The time by which the notices of the last group are sent. */
  #groupUntil = 0;
  #atOnce = maxAtOnce;
  #failures = 0;
  /** True where the last failure was a refused content. */
  #isContent = false;
  #timer: NodeJS.Timeout | undefined;
  /** True where the timer has no delay. */
  #isSoon = false;
  #sending: Promise<void> | undefined;
  #repeatedAt: number;
  /** The reason why the last try failed. */
  fault: string | undefined;

  /** @param counts continue those of an earlier queue of this name. @param changed called when fewer notices wait. */
  constructor(
    name: string,
    config: ActionConfig,
    counts: NoticeCounts,
    around: ReceiverSurroundings,
    changed: () => void,
  ) {
    this.name = name;
    this.config = config;
    this.counts = counts;
    this.#receiver = createReceiver(config, around);
    this.#quiet = quietHoursOf(config);
    this.#clock = around.clock;
    this.#log = around.log;
    this.#changed = changed;
    this.#repeatedAt = around.clock.monotonic();
  }

  /** True where the receiver takes letters as well as notices. */
  get takesLetters(): boolean {
    return this.#receiver.sendLetter !== undefined;
  }

  /** Notices that the receiver has not taken yet, without repetitions. */
  get waiting(): readonly Notice[] {
    return this.waitingBut(() => false);
  }

  /** Returns the waiting notices without those that somebody else keeps as well. @param isKept reports that by the id of a notice. */
  waitingBut(isKept: (id: string) => boolean): readonly Notice[] {
    return this.#waiting
      .filter((each) => !each.isRepeat && each.letter === undefined && !idsOf(each).every(isKept))
      .map(({ notice }) => notice);
  }

  /** Reports whether a notice waits, alone or as part of a summary. */
  holds(id: string): boolean {
    return this.#waiting.some((each) => !each.isRepeat && idsOf(each).includes(id));
  }

  /** Removes a notice that another collector sends. A notice that is already being sent stays. */
  takeBack(id: string): void {
    this.#waiting = this.#waiting.filter((each) => each.notice.id !== id || this.#underWay.has(each));
  }

  /** The most recent notices that were set aside. */
  get refused(): readonly RefusedNotice[] {
    return this.#refused;
  }

  /** The most recent notices that were delivered, without repetitions. `at` is in milliseconds since the epoch. */
  get taken(): readonly { readonly alert: string; readonly kind: Notice["kind"]; readonly at: number }[] {
    return this.#taken;
  }

  /** Restores what waited in an earlier queue or run. */
  restore(waiting: readonly Notice[], refused: readonly RefusedNotice[]): void {
    const now = this.#clock.monotonic();
    for (const notice of waiting) this.#enqueue(notice, now);
    this.#refused = refused;
    this.tick();
  }

  /** Adds a notice. When too many wait, it drops and counts the oldest. */
  add(notice: Notice): void {
    if (notice.kind === "cleared" && !this.config.ended) return;
    const now = this.#clock.monotonic();
    if (this.#receiver.repeatMs === undefined && this.#isOverLimit(notice, now)) this.#fold(notice, now);
    else this.#enqueue(notice, this.#groupEnd(now));
    this.tick();
  }

  /** Sends a letter as soon as possible. @returns why the queue gave it up; undefined where it was sent. @throws Error where it can be posted again. */
  post(letter: Letter): Promise<string | undefined> {
    const notice = noticeOf("firing", madeAlert(letter.id, letter.id, letter.subject, this.#clock.now()));
    return new Promise((resolve, reject) => {
      const goBack = (why: string): void => reject(new Error(why));
      this.#enqueue(notice, this.#clock.monotonic(), false, {
        letter: { content: letter, done: resolve, goBack, refused: 0 },
      });
      this.tick();
    });
  }

  /** Removes a letter that is not being sent yet. */
  takeBackLetter(id: string): void {
    this.#giveBack("it was taken back", (letter) => letter.id === id);
  }

  #giveBack(why: string, isMeant: (letter: Letter) => boolean): void {
    const gone = this.#waiting.filter(
      (each) => each.letter !== undefined && !this.#underWay.has(each) && isMeant(each.letter.content),
    );
    this.#waiting = this.#waiting.filter((each) => !gone.includes(each));
    for (const { letter } of gone) letter?.goBack(why);
  }

  /** Sends what is due. Only notices that wait for a set time need this call; others are sent without it. */
  tick(): void {
    if (this.#sending !== undefined || this.#isSoon) return;
    // A notice refused for its content must not delay others.
    const isFree = this.#failures === 0 || (this.#isContent && this.#failures <= freeRefusals);
    if (!isFree) return;
    const due = this.#due();
    if (due.length === 0 || (this.#failures > 0 && due.every(({ refusals }) => refusals > 0))) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isSoon = true;
    this.#sendSoon(0);
  }

  /** Repeats the notices of firing alerts where the action wants that, also in quiet hours. @param firing all alerts of which this action had a notice. */
  repeat(firing: () => readonly Alert[]): void {
    const { repeatMs } = this.#receiver;
    if (repeatMs === undefined || this.#clock.monotonic() - this.#repeatedAt < repeatMs) return;
    this.#repeatedAt = this.#clock.monotonic();
    const waits = new Set(this.#waiting.map(({ notice }) => notice.alert.id));
    const now = this.#clock.monotonic();
    for (const alert of firing()) if (!waits.has(alert.id)) this.#enqueue(noticeOf("firing", alert), now, true);
    this.tick();
  }

  /** Tries the action with a sample alert. @throws Error that says why it does not work. */
  async test(alert: Alert): Promise<void> {
    await this.#give([noticeOf("firing", alert)], Math.min(this.#receiver.sendMs ?? sendMs, longestTestMs));
  }

  /** Sends again what was set aside. @returns the number of notices. */
  resend(): number {
    const again = this.#refused;
    this.#refused = [];
    const now = this.#clock.monotonic();
    for (const { notice } of again) this.#enqueue(notice, now);
    this.#changed();
    this.tick();
    return again.length;
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#isStopped = true;
    for (const each of this.#givenUp) each.abort(new Error("the collector stops"));
    await this.#sending;
    this.#giveBack("its action has changed, or the collector stops", () => true);
    this.#receiver.close();
  }

  #enqueue(notice: Notice, notBefore: number, isRepeat = false, also: Pick<Waiting, "parts" | "letter"> = {}): void {
    this.#waiting.push({ notice, notBefore, isRepeat, refusals: 0, refusedAfter: -1, ...also });
    if (this.#waiting.length <= maxWaiting) return;
    // Dropping a repetition loses nothing: the next one follows.
    const repeat = this.#waiting.findIndex((each) => each.isRepeat && !this.#underWay.has(each));
    const [dropped] = this.#waiting.splice(Math.max(0, repeat), 1);
    dropped?.letter?.done("too much waits for its action");
    if (repeat < 0) this.counts.dropped++;
  }

  #groupEnd(now: number): number {
    if (this.#groupUntil <= now) this.#groupUntil = now + this.config.group;
    return this.#groupUntil;
  }

  #isOverLimit({ alert: { rule } }: Notice, now: number): boolean {
    const { count: most, perMs } = this.config.limit;
    const known = this.#rates.get(rule);
    if (known !== undefined && now - known.from < perMs) return ++known.count > most;
    this.#rates.set(rule, { from: now, count: 1 });
    return false;
  }

  /** Adds a notice to the summary of its rule, which is sent when the period of the limit ends. */
  #fold({ id, kind, alert }: Notice, now: number): void {
    this.counts.folded++;
    const isSame = ({ notice }: Waiting): boolean => notice.kind === "summary" && notice.alert.rule === alert.rule;
    let entry = this.#waiting.find((each) => isSame(each) && !this.#underWay.has(each));
    if (entry === undefined) {
      const notBefore = (this.#rates.get(alert.rule)?.from ?? now) + this.config.limit.perMs;
      const summary = { id: `${alert.id}-${kind}-summary`, kind: "summary", alert, began: 0, ended: 0 } as const;
      this.#enqueue(summary, notBefore, false, { parts: [] });
      entry = this.#waiting.at(-1) as Waiting;
    }
    entry.parts?.push(id);
    const { notice } = entry;
    const { began = 0, ended = 0 } = notice;
    entry.notice = {
      ...notice,
      alert: alert.peak > notice.alert.peak ? alert : notice.alert,
      began: began + (kind === "firing" ? 1 : 0),
      ended: ended + (kind === "cleared" ? 1 : 0),
    };
  }

  #due(): readonly Waiting[] {
    const now = this.#clock.monotonic();
    const due = this.#waiting.filter(({ notBefore }) => notBefore <= now);
    if (due.length === 0 || !this.#quiet.isQuiet(this.#clock.now())) return due;
    // An Alertmanager resolves an alert that it does not hear of, and sends notices of that.
    return due.filter(({ isRepeat }) => isRepeat);
  }

  #sendSoon(ms: number): void {
    if (this.#isStopped || this.#sending !== undefined || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#isSoon = false;
      this.#sending = this.#run();
    }, ms);
  }

  async #run(): Promise<void> {
    const pauseMs = await this.#send();
    this.#sending = undefined;
    if (this.#failures > 0 || this.#due().length > 0) this.#sendSoon(pauseMs);
  }

  /** Hands notices to the receiver. It uses a timer of its own: Node 20 may collect a signal made by `AbortSignal.any`, which then never aborts. */
  async #give(notices: readonly Notice[], ms: number, letter?: Letter): Promise<void> {
    const given = new AbortController();
    const timer = setTimeout(() => given.abort(new DOMException("it took too long", "TimeoutError")), ms);
    this.#givenUp.add(given);
    try {
      if (letter === undefined) await this.#receiver.send(notices, given.signal);
      else await this.#receiver.sendLetter?.(letter, given.signal);
    } finally {
      clearTimeout(timer);
      this.#givenUp.delete(given);
    }
  }

  /** @returns the milliseconds to wait before the next try. */
  async #send(): Promise<number> {
    const due = this.#due();
    const batch = together(inTurn(due)).slice(0, this.#atOnce);
    if (batch.length === 0) return firstPauseMs;
    // Notices behind the batch wait for the receiver as well.
    for (const each of due) each.triedAt ??= this.#clock.monotonic();
    this.#underWay = new Set(batch);
    try {
      const letter = batch[0]?.letter?.content;
      await this.#give(
        batch.map(({ notice }) => notice),
        this.#receiver.sendMs ?? (letter === undefined ? sendMs : sendLetterMs),
        letter,
      );
      this.counts.sent += batch.length;
      this.#failures = 0;
      this.#atOnce = Math.min(maxAtOnce, 2 * this.#atOnce);
      this.fault = undefined;
      const at = this.#clock.now();
      const taken = batch.filter(({ isRepeat }) => !isRepeat);
      const news = taken.map(({ notice: { kind, alert } }) => ({ alert: alert.id, kind, at }));
      this.#taken = [...this.#taken, ...news].slice(-maxTaken);
      this.#remove(batch);
      return 0;
    } catch (error) {
      return this.#isStopped ? 0 : this.#failed(batch, error);
    } finally {
      this.#underWay = new Set();
    }
  }

  #failed(batch: readonly Waiting[], error: unknown): number {
    this.#failures++;
    this.counts.failures++;
    this.fault = error instanceof Error ? error.message : String(error);
    if (this.#failures === 1) this.#log.warn({ action: this.name, error }, "notices of alerts cannot be sent");
    const late = batch.filter(({ triedAt = Infinity }) => this.#clock.monotonic() - triedAt > giveUpMs);
    this.counts.dropped += late.length;
    if (late.length > 0) this.#remove(late, `it was tried for a day: ${this.fault}`);
    const { blame, retryAfterMs } = error instanceof DeliveryError ? error : { blame: "store", retryAfterMs: 0 };
    const [alone] = batch;
    // A letter differs from notices, so its failure must not delay them, whatever the reason.
    const isLetter = alone?.letter !== undefined;
    if (isLetter) alone.refusals++;
    this.#isContent = (blame === "record" || isLetter) && late.length === 0;
    if (blame !== "record" && blame !== "unclear") {
      const isFirst = isLetter && this.#failures <= freeRefusals;
      if (isFirst && this.#due().some(({ refusals }) => refusals === 0)) return 0;
      return this.#backoff.delay(this.#failures, retryAfterMs);
    }
    // A content is refused, or may be the reason. Halving the batch finds which one.
    this.#atOnce = Math.max(1, batch.length >> 1);
    if (batch.length === 1 && alone !== undefined && late.length === 0)
      this.#refuse(alone, this.fault, blame === "record" ? mostRefusals : mostFaults);
    const isAnother = batch.length > 1 || this.#due().some(({ refusals }) => refusals === 0);
    if (this.#isContent && isAnother && this.#failures <= freeRefusals) return 0;
    return this.#backoff.delay(Math.max(1, this.#failures - freeRefusals), retryAfterMs);
  }

  /** Moves a notice that was refused alone behind the others, or sets it aside where the receiver takes others. */
  #refuse(entry: Waiting, because: string, most: number): void {
    const { sent } = this.counts;
    const { letter } = entry;
    // Delivered notices say nothing about whether a letter is acceptable.
    if (letter !== undefined) letter.refused++;
    else if (entry.refusedAfter < sent) entry.refusals++;
    entry.refusedAfter = sent;
    const { id } = entry.notice.alert;
    if ((letter?.refused ?? entry.refusals) < most) {
      // Notices of one alert stay in order.
      const isOf = ({ notice }: Waiting): boolean => notice.alert.id === id;
      this.#waiting = [...this.#waiting.filter((each) => !isOf(each)), ...this.#waiting.filter(isOf)];
      return;
    }
    this.counts.refused++;
    if (letter !== undefined) {
      this.#remove([entry], because);
      return;
    }
    this.#refused = [...this.#refused, { notice: entry.notice, because, at: this.#clock.now() }];
    this.counts.dropped += Math.max(0, this.#refused.length - maxRefused);
    this.#refused = this.#refused.slice(-maxRefused);
    this.#log.error({ action: this.name, alert: id, because }, "a notice is set aside: its receiver refuses it");
    this.#remove([entry]);
  }

  /** @param fault why they were not sent. */
  #remove(gone: readonly Waiting[], fault?: string): void {
    const all = new Set(gone);
    this.#waiting = this.#waiting.filter((each) => !all.has(each));
    for (const { letter } of gone) letter?.done(fault);
    this.#changed();
  }
}

/** Returns the ids of the notices that an entry stands for. */
function idsOf({ notice, parts }: Waiting): readonly string[] {
  return parts ?? [notice.id];
}

/** Returns the first entries that are sent together: a letter alone, or notices up to the next letter. */
function together(due: readonly Waiting[]): readonly Waiting[] {
  const letter = due.findIndex((each) => each.letter !== undefined);
  return letter < 0 ? due : due.slice(0, Math.max(1, letter));
}

/** Returns the entries with the refused ones last. All later notices of the same alerts go with them, to keep the order. */
function inTurn(due: readonly Waiting[]): readonly Waiting[] {
  const refusals = new Map<string, number>();
  for (const { notice, refusals: count } of due)
    if (count > (refusals.get(notice.alert.id) ?? 0)) refusals.set(notice.alert.id, count);
  if (refusals.size === 0) return due;
  const turnOf = ({ notice }: Waiting): number => refusals.get(notice.alert.id) ?? 0;
  return due.toSorted((a, b) => turnOf(a) - turnOf(b));
}
