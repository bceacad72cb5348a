import { isDeepStrictEqual } from "node:util";
import type { Metrics } from "../base/report/index.ts";
import { ActionQueue, type NoticeCounts } from "./actions/action-queue.ts";
import type { ActionConfig } from "./actions/action.ts";
import type { Letter, ReceiverSurroundings } from "./actions/receiver.ts";
import type { KeptAlerts } from "./alert-file.ts";
import type { Alert, Notice } from "./alerts.ts";

/** The state of an action, as shown. */
export interface ActionStatus {
  readonly name: string;
  readonly waiting: number;
  readonly sent: number;
  readonly failures: number;
  readonly dropped: number;
  /** The number of notices that were set aside and can be sent again. */
  readonly aside: number;
  readonly fault?: string;
}

/** The outcome of a notice of an alert. */
export interface NoticeState {
  readonly action: string;
  readonly kind: Notice["kind"];
  /** `aside`: the receiver refuses it. */
  readonly state: "waiting" | "sent" | "aside";
  /** When it was delivered or set aside, in milliseconds since the epoch. */
  readonly at?: number;
  /** Why it waits after a failed try, or why it was set aside. */
  readonly because?: string;
}

type Lists<T> = Readonly<Record<string, readonly T[]>>;
type KeptNotices = Pick<KeptAlerts, "waiting"> & Required<Pick<KeptAlerts, "refused">>;

/** Sends notices of alerts: it has a queue for each action of the rules file. */
export class Notifier {
  readonly #around: ReceiverSurroundings;
  readonly #changed: () => void;
  /** Counts of all actions so far, so that a counter does not fall when the file is read again. */
  readonly #counts = new Map<string, NoticeCounts>();
  #queues: readonly ActionQueue[] = [];
  /** Notices of the last run, until a rules file says which actions exist. */
  #kept: KeptNotices | undefined;

  /** @param changed called when the state to keep has changed. */
  constructor(around: ReceiverSurroundings, changed: () => void) {
    this.#around = around;
    this.#changed = changed;
  }

  /** Restores what waited in another run. */
  restore({ waiting, refused = {} }: KeptAlerts): void {
    this.#kept = { waiting, refused };
  }

  /** Replaces the actions. Notices for a removed action are dropped and counted. */
  use(actions: ReadonlyMap<string, ActionConfig>): void {
    const { waiting, refused } = this.kept();
    this.#kept = undefined;
    const before = new Map(this.#queues.map((queue) => [queue.name, queue]));
    this.#queues = Array.from(actions, ([name, config]) => {
      const same = before.get(name);
      if (same !== undefined && isDeepStrictEqual(same.config, config)) return same;
      const queue = new ActionQueue(name, config, this.#countsOf(name), this.#around, this.#changed);
      queue.restore(waiting[name] ?? [], refused[name] ?? []);
      return queue;
    });
    const inUse = new Set(this.#queues);
    for (const queue of before.values()) if (!inUse.has(queue)) void queue.stop();
    this.#dropOthers(waiting, actions);
    this.#dropOthers(refused, actions);
    this.#changed();
  }

  tell(actions: readonly string[], notice: Notice): void {
    for (const queue of this.#queues) if (actions.includes(queue.name)) queue.add(notice);
  }

  /** Reports whether a notice waits for an action. */
  holds(action: string, id: string): boolean {
    return this.#queue(action)?.holds(id) === true;
  }

  /** Removes a notice that another collector sends. */
  takeBack(actions: readonly string[], id: string): void {
    for (const action of actions) this.#queue(action)?.takeBack(id);
  }

  /** Sends what is due, and repeats what actions want to hear again. @param firing returns the alerts of an action. */
  tick(firing: (action: string) => readonly Alert[]): void {
    for (const queue of this.#queues) {
      queue.repeat(() => firing(queue.name));
      queue.tick();
    }
  }

  /** Sends a sample alert. @returns false where there is no such action. @throws Error when the action does not take it. */
  async test(name: string, alert: Alert): Promise<boolean> {
    const queue = this.#queue(name);
    await queue?.test(alert);
    return queue !== undefined;
  }

  /** Returns the names of the actions that take letters. */
  letterActions(): readonly string[] {
    return this.#queues.filter(({ takesLetters }) => takesLetters).map(({ name }) => name);
  }

  /**
   * Sends a letter by an action, with the retries of notices. It does not keep the letter over a restart; the caller does.
   *
   * @returns why it was given up; undefined where it was sent.
   * @throws Error where it can be posted again: there is no such action now, it has changed, or the letter was taken back.
   */
  async post(name: string, letter: Letter): Promise<string | undefined> {
    const queue = this.#queue(name);
    if (queue?.takesLetters !== true) throw new Error(`there is no action ${name} that takes letters`);
    return queue.post(letter);
  }

  /** Removes a letter that is not being sent yet from all actions. */
  takeBackLetter(id: string): void {
    for (const queue of this.#queues) queue.takeBackLetter(id);
  }

  /** Sends again what was set aside. @returns the number of notices; undefined where there is no such action. */
  resend(name: string): number | undefined {
    return this.#queue(name)?.resend();
  }

  /** Returns the state to keep over a restart. @param isKept reports whether somebody else keeps a notice, by its id. */
  kept(isKept: (id: string) => boolean = () => false): KeptNotices {
    if (this.#kept !== undefined) return this.#kept;
    const lists = <T>(of: (queue: ActionQueue) => T): Readonly<Record<string, T>> =>
      Object.fromEntries(this.#queues.map((queue) => [queue.name, of(queue)]));
    return { waiting: lists((queue) => queue.waitingBut(isKept)), refused: lists(({ refused }) => refused) };
  }

  /** Returns the notices of an alert: the delivered ones that it remembers, the waiting ones, and those set aside. */
  noticesOf(alert: string): readonly NoticeState[] {
    const isOf = (notice: Notice): boolean => notice.alert.id === alert;
    return this.#queues.flatMap(({ name: action, waiting, refused, taken, fault }) => [
      ...taken
        .filter((one) => one.alert === alert)
        .map(({ kind, at }): NoticeState => ({ action, kind, state: "sent", at })),
      ...waiting.filter(isOf).map(({ kind }): NoticeState => {
        const state = "waiting";
        return fault === undefined ? { action, kind, state } : { action, kind, state, because: fault };
      }),
      ...refused
        .filter(({ notice }) => isOf(notice))
        .map(({ notice: { kind }, because, at }): NoticeState => ({ action, kind, state: "aside", because, at })),
    ]);
  }

  status(): readonly ActionStatus[] {
    return this.#queues.map(({ name, waiting, refused, counts, fault }) => ({
      name,
      waiting: waiting.length,
      sent: counts.sent,
      failures: counts.failures,
      dropped: counts.dropped,
      aside: refused.length,
      ...(fault !== undefined && { fault }),
    }));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#queues.map((queue) => queue.stop()));
  }

  reportMetrics(metrics: Metrics): void {
    for (const [kind, help] of [
      ["sent", "Notices and reports that an action took."],
      ["failures", "Tries to tell an action that failed; it is tried again."],
      ["dropped", "Notices that were lost: too many waited, the action refused them for a day, or it was removed."],
      ["refused", "Notices that an action refused though it took others; they are set aside."],
      ["folded", "Notices beyond the limit of an action, which became parts of a summary."],
    ] as const)
      metrics.counterFrom(`netgloss_watch_notices_${kind}_total`, help, ["action"], () =>
        Array.from(this.#counts, ([action, counts]) => [{ action }, counts[kind]]),
      );
  }

  #queue(name: string): ActionQueue | undefined {
    return this.#queues.find((each) => each.name === name);
  }

  #countsOf(name: string): NoticeCounts {
    const counts = this.#counts.get(name) ?? { sent: 0, failures: 0, dropped: 0, refused: 0, folded: 0 };
    this.#counts.set(name, counts);
    return counts;
  }

  #dropOthers(lists: Lists<unknown>, actions: ReadonlyMap<string, unknown>): void {
    for (const [name, { length }] of Object.entries(lists)) {
      if (actions.has(name) || length === 0) continue;
      this.#countsOf(name).dropped += length;
      this.#around.log.warn({ action: name, notices: length }, "notices are dropped: their action was removed");
    }
  }
}
