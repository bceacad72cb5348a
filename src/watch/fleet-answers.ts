import type { Clock } from "../base/report/index.ts";
import { isLive, type Answer, type Answers } from "./answers/index.ts";

/** A living collector of the fleet. */
export interface FleetSession {
  readonly name: string;
  /** An id that changes each time that it joins. */
  readonly session: string;
}

/** The notes that this collector writes for all others, and the version from which it wants to read theirs. */
export interface FleetRound {
  readonly since: number;
  readonly writes: readonly { readonly key: string; readonly after: number; readonly text: string | undefined }[];
}

/** The notes written by others, by version, and the sessions of living collectors. */
export interface FleetAnswer {
  readonly notes: readonly { readonly key: string; readonly version: number; readonly text: string | undefined }[];
  /** True if there are no more. */
  readonly isAll: boolean;
  readonly living: readonly string[];
}

/** A note and its content. */
export interface Known<T> {
  readonly version: number;
  readonly said: T;
}

/** The answers of this collector. */
export type OwnAnswers = Pick<Answers, "list" | "adopt" | "giveUp" | "renew">;

interface SharedAnswer {
  readonly answer: Answer;
  readonly session: string;
}

/** Interval for announcing routes again: a collector that restarts withdraws what it had left. */
const renewMs = 30_000;

/**
 * The answers of a fleet. Each answer that may be announced is a note of the collector that announces it. When that collector dies, the next holder of
 * the alert takes the note. An answer ended by hand stays a note as long as its alert fires, so that nobody proposes it again.
 */
export class FleetAnswers {
  readonly #clock: Clock;
  readonly #notes = new Map<string, Known<SharedAnswer>>();
  #waiting: (() => void)[] = [];
  #isLeft = false;
  #renewedAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Reads a note; one without a text was removed. */
  read(id: string, version: number, text: string | undefined): void {
    if (text === undefined) this.#notes.delete(id);
    else this.#notes.set(id, { version, said: JSON.parse(text) as SharedAnswer });
  }

  /** Hands over the answers that became this collector's, and withdraws those that another living collector has taken. */
  take(own: OwnAnswers, me: FleetSession, living: ReadonlySet<string>): void {
    for (const [id, { said }] of this.#notes) {
      if (said.session === me.session) own.adopt(said.answer);
      else if (living.has(said.session)) own.giveUp(id);
    }
    const now = this.#clock.monotonic();
    if (now - this.#renewedAt >= renewMs) {
      this.#renewedAt = now;
      own.renew();
    }
    if (!this.#isAnyUnwritten(own.list(), me)) this.goOn();
  }

  /** Returns the notes to write. @param holding the ids of firing alerts, each with whether it is held here. */
  writes(
    own: OwnAnswers,
    me: FleetSession,
    living: ReadonlySet<string>,
    holding: ReadonlyMap<string, boolean>,
  ): FleetRound["writes"][number][] {
    const writes: FleetRound["writes"][number][] = [];
    const write = (id: string, after: number, answer: Answer | undefined): void => {
      const text = answer && JSON.stringify({ answer, session: me.session } satisfies SharedAnswer);
      writes.push({ key: `answer/${id}`, after, text });
    };
    const isKept = (answer: Answer): boolean =>
      isLive(answer) || (answer.endedBy !== undefined && holding.has(answer.alert));
    const kept = new Map(own.list().flatMap((answer) => (isKept(answer) ? [[answer.id, answer] as const] : [])));
    for (const [id, { version, said }] of this.#notes) {
      const mine = kept.get(id);
      if (said.session === me.session) {
        const isSame = mine?.state === said.answer.state && mine.endsAt === said.answer.endsAt;
        if (!isSame) write(id, version, mine);
        // Any collector takes and ends the answer of an alert that is over.
      } else if (!living.has(said.session) && holding.get(said.answer.alert) !== false)
        write(id, version, mine ?? said.answer);
    }
    for (const [id, answer] of kept) if (!this.#notes.has(id)) write(id, 0, answer);
    return writes;
  }

  /** Resolves when the others know which of these answers are to be announced. */
  keep(answers: readonly Answer[], me: FleetSession | undefined): Promise<void> {
    if (this.#isLeft || !this.#isAnyUnwritten(answers, me)) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /**
   * Returns the actions by which others answer an alert, or by which somebody ended an answer.
   *
   * @param isAlone true ignores the answers of others, but not those that somebody ended.
   */
  answered(alert: string, me: FleetSession | undefined, isAlone: boolean): readonly string[] {
    return [...this.#notes.values()].flatMap(({ said: { answer, session } }) => {
      const counts = session !== me?.session && (!isAlone || answer.endedBy !== undefined);
      return counts && answer.alert === alert ? [answer.action] : [];
    });
  }

  /** Ends the waiting of those who wait for the others. */
  goOn(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  /** Ends all waiting for the others. */
  leave(): void {
    this.#isLeft = true;
    this.goOn();
  }

  #isAnyUnwritten(answers: readonly Answer[], me: FleetSession | undefined): boolean {
    return answers.some(({ id, state }) => {
      return state === "announcing" && this.#notes.get(id)?.said.session !== me?.session;
    });
  }
}
