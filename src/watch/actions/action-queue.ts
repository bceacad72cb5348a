import { Backoff, type Clock, type Log } from "../../base/report/index.ts";
import { DeliveryError } from "../../output/index.ts";
import type { RefusedNotice } from "../alert-file.ts";
import { madeAlert, noticeOf, type Alert, type Notice } from "../alerts.ts";
import { createReceiver, quietHoursOf, type ActionConfig } from "./action.ts";
import type { QuietHours } from "./quiet-hours.ts";
import type { Letter, Receiver, ReceiverSurroundings } from "./receiver.ts";

/** What became of the notices of an action since the start of the collector. */
export interface NoticeCounts {
  sent: number;
  failures: number;
  dropped: number;
  /** Set aside: refused by a receiver that takes others. */
  refused: number;
  /** Notices that became a part of a summary. */
  folded: number;
}

/** A notice on its way. */
interface Waiting {
  notice: Notice;
  /** Notices that are part of a summary. */
  readonly parts?: string[];
  /** By the monotonic clock, as all times here. */
  readonly notBefore: number;
  /** Tells again of an alert that was told before. */
  readonly isRepeat: boolean;
  /** A letter: it is sent alone, and who posted it is told what became of it. */
  readonly letter?: {
    readonly content: Letter;
    /** @param fault why it was given up. */
    readonly done: (fault?: string) => void;
    /** It can be posted again. */
    readonly goBack: (why: string) => void;
    /** How often its content was refused, or may have been. */
    refused: number;
  };
  /** When it could have been sent first: until then it may have waited for the end of a quiet time. */
  triedAt?: number;
  /** How often the receiver refused it alone, each time after it had taken another one; of a letter, all that failed. And how many it had taken by then. */
  refusals: number;
  refusedAfter: number;
}

const maxWaiting = 10_000;
const maxRefused = 100;
/** Notices that were taken are remembered for those who look at their alert. */
const maxTaken = 1000;
const maxAtOnce = 100;
const sendMs = 10_000;
/** A letter has some megabytes. */
const sendLetterMs = 60_000;
const longestTestMs = 30_000;
/** A receiver that refuses for this long does not get the notice any more. */
const giveUpMs = 86_400_000;
const firstPauseMs = 1000;
const longestPauseMs = 300_000;
/** So many refusals of contents in a row are no reason for a pause where there is another to try: a batch is halved, or a notice goes to the end. */
const freeRefusals = 10;
/** A notice is set aside when it was refused this often while others were taken; a receiver that says it has a fault is asked more often. */
const mostRefusals = 2;
const mostFaults = 4;

/** Notices on their way to one action: in order, each until it is taken. */
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
  /** What is being handed over. */
  readonly #givenUp = new Set<AbortController>();
  #isStopped = false;
  /** Of each rule, how many notices there were since a time. */
  readonly #rates = new Map<string, { readonly from: number; count: number }>();
  #waiting: Waiting[] = [];
  #refused: readonly RefusedNotice[] = [];
  #taken: readonly { readonly alert: string; readonly kind: Notice["kind"]; readonly at: number }[] = [];
  /** Those that are being sent. */
  #underWay: ReadonlySet<Waiting> = new Set();
  /** When those of the last group are sent. */
  #groupUntil = 0;
  #atOnce = maxAtOnce;
  #failures = 0;
  /** The last failure was one of a content. */
  #isContent = false;
  #timer: NodeJS.Timeout | undefined;
  /** The timer is one of no time. */
  #isSoon = false;
  #sending: Promise<void> | undefined;
  #repeatedAt: number;
  /** Why the last try failed. */
  fault: string | undefined;

  /** @param counts go on from an earlier queue of this name. @param changed called when fewer wait. */
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

  /** Whether it takes letters, and not notices alone. */
  get takesLetters(): boolean {
    return this.#receiver.sendLetter !== undefined;
  }

  /** Notices that nobody has taken yet, without repetitions. */
  get waiting(): readonly Notice[] {
    return this.waitingBut(() => false);
  }

  /** The same without those that somebody else keeps, too, by their ids. */
  waitingBut(isKept: (id: string) => boolean): readonly Notice[] {
    return this.#waiting
      .filter((each) => !each.isRepeat && each.letter === undefined && !idsOf(each).every(isKept))
      .map(({ notice }) => notice);
  }

  /** Tells whether a notice waits, as a part of a summary, too. */
  holds(id: string): boolean {
    return this.#waiting.some((each) => !each.isRepeat && idsOf(each).includes(id));
  }

  /** Takes a notice back that somebody else sends; one that is being sent is sent. */
  takeBack(id: string): void {
    this.#waiting = this.#waiting.filter((each) => each.notice.id !== id || this.#underWay.has(each));
  }

  /** Notices that were set aside, the last ones. */
  get refused(): readonly RefusedNotice[] {
    return this.#refused;
  }

  /** The last notices that were taken, without repetitions; `at` is in milliseconds since the epoch. */
  get taken(): readonly { readonly alert: string; readonly kind: Notice["kind"]; readonly at: number }[] {
    return this.#taken;
  }

  /** Takes what waited in an earlier queue, or run. */
  restore(waiting: readonly Notice[], refused: readonly RefusedNotice[]): void {
    const now = this.#clock.monotonic();
    for (const notice of waiting) this.#enqueue(notice, now);
    this.#refused = refused;
    this.tick();
  }

  /** Takes a notice. When too many wait, the oldest is dropped and counted. */
  add(notice: Notice): void {
    if (notice.kind === "cleared" && !this.config.ended) return;
    const now = this.#clock.monotonic();
    if (this.#receiver.repeatMs === undefined && this.#isOverLimit(notice, now)) this.#fold(notice, now);
    else this.#enqueue(notice, this.#groupEnd(now));
    this.tick();
  }

  /** Sends a letter when it may. @returns why it was given up; undefined: it was sent. @throws Error where it can be posted again. */
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

  /** Forgets a letter that is not being sent yet. */
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

  /** Sends what is due. It happens by itself but for what waits until a time. */
  tick(): void {
    if (this.#sending !== undefined || this.#isSoon) return;
    // What was refused for its content holds up no other.
    const isFree = this.#failures === 0 || (this.#isContent && this.#failures <= freeRefusals);
    if (!isFree) return;
    const due = this.#due();
    if (due.length === 0 || (this.#failures > 0 && due.every(({ refusals }) => refusals > 0))) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isSoon = true;
    this.#sendSoon(0);
  }

  /** Sends what fires again, where the action wants that, also at a quiet time. @param firing all alerts that this action was told of. */
  repeat(firing: () => readonly Alert[]): void {
    const { repeatMs } = this.#receiver;
    if (repeatMs === undefined || this.#clock.monotonic() - this.#repeatedAt < repeatMs) return;
    this.#repeatedAt = this.#clock.monotonic();
    const waits = new Set(this.#waiting.map(({ notice }) => notice.alert.id));
    const now = this.#clock.monotonic();
    for (const alert of firing()) if (!waits.has(alert.id)) this.#enqueue(noticeOf("firing", alert), now, true);
    this.tick();
  }

  /** Tries the action with a made alert. @throws Error with why it does not work. */
  async test(alert: Alert): Promise<void> {
    await this.#give([noticeOf("firing", alert)], Math.min(this.#receiver.sendMs ?? sendMs, longestTestMs));
  }

  /** Sends again what was set aside. @returns how many. */
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
    // A repetition comes again, and is no loss.
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

  /** Makes a notice a part of the summary of its rule, which is sent when the time of the limit is over. */
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
    // An Alertmanager that does not hear of an alert takes it for over, and says so.
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

  /** Hands notices over. A timer of its own: a signal that joins others may be collected, and then never comes (Node 20). */
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

  /** @returns how long to wait before the next try, milliseconds. */
  async #send(): Promise<number> {
    const due = this.#due();
    const batch = together(inTurn(due)).slice(0, this.#atOnce);
    if (batch.length === 0) return firstPauseMs;
    // Those behind the batch wait for the receiver, too.
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
    // A letter is unlike notices: whatever the reason is, it holds up none of them.
    const isLetter = alone?.letter !== undefined;
    if (isLetter) alone.refusals++;
    this.#isContent = (blame === "record" || isLetter) && late.length === 0;
    if (blame !== "record" && blame !== "unclear") {
      const isFirst = isLetter && this.#failures <= freeRefusals;
      if (isFirst && this.#due().some(({ refusals }) => refusals === 0)) return 0;
      return this.#backoff.delay(this.#failures, retryAfterMs);
    }
    // Its content is refused, or may be the reason: which one it is, is found by halves.
    this.#atOnce = Math.max(1, batch.length >> 1);
    if (batch.length === 1 && alone !== undefined && late.length === 0)
      this.#refuse(alone, this.fault, blame === "record" ? mostRefusals : mostFaults);
    const isAnother = batch.length > 1 || this.#due().some(({ refusals }) => refusals === 0);
    if (this.#isContent && isAnother && this.#failures <= freeRefusals) return 0;
    return this.#backoff.delay(Math.max(1, this.#failures - freeRefusals), retryAfterMs);
  }

  /** Puts a notice that was refused alone behind the others, or aside where the receiver takes those. */
  #refuse(entry: Waiting, because: string, most: number): void {
    const { sent } = this.counts;
    const { letter } = entry;
    // That notices are taken says nothing of a letter.
    if (letter !== undefined) letter.refused++;
    else if (entry.refusedAfter < sent) entry.refusals++;
    entry.refusedAfter = sent;
    const { id } = entry.notice.alert;
    if ((letter?.refused ?? entry.refusals) < most) {
      // What is told of one alert stays in order.
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

/** The notices that one on its way stands for. */
function idsOf({ notice, parts }: Waiting): readonly string[] {
  return parts ?? [notice.id];
}

/** Those of the first that are sent in one: a letter alone, notices up to the next letter. */
function together(due: readonly Waiting[]): readonly Waiting[] {
  const letter = due.findIndex((each) => each.letter !== undefined);
  return letter < 0 ? due : due.slice(0, Math.max(1, letter));
}

/** Those that were refused behind the others, with all that is told of their alerts: that stays in order. */
function inTurn(due: readonly Waiting[]): readonly Waiting[] {
  const refusals = new Map<string, number>();
  for (const { notice, refusals: count } of due)
    if (count > (refusals.get(notice.alert.id) ?? 0)) refusals.set(notice.alert.id, count);
  if (refusals.size === 0) return due;
  const turnOf = ({ notice }: Waiting): number => refusals.get(notice.alert.id) ?? 0;
  return due.toSorted((a, b) => turnOf(a) - turnOf(b));
}
