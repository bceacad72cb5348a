import { Backoff, type Clock, type Log, type Metrics } from "../../base/report/index.ts";
import { propose, whyDoubted, type Attack } from "./choose-match.ts";
import { answerStates, isLive, type Answer, type AnswerJournal, type AnswerState } from "./journal.ts";
import { routeKey, routeText, whyNever, type Route } from "./route.ts";
import type { AnswerConfig } from "./answer-shape.ts";
import type { Speaker, SpeakerConfig } from "./speaker.ts";

/** The settings of answers; plain data. */
export interface AnswerLimits {
  /** `dry-run`: announces nothing. `approve`: announces what people allow. `automatic`: announces everything at once. */
  readonly mode: "dry-run" | "approve" | "automatic";
  /** The number of people who must allow an answer. */
  readonly approvals: 1 | 2;
  /** Maximum number of routes announced at a time. */
  readonly maxRoutes: number;
  /** Prefixes whose addresses are never announced. */
  readonly never: readonly string[];
  /** Time in milliseconds for which a route is announced if it is not renewed. */
  readonly limitMs: number;
  readonly allowsCommands: boolean;
}

/** Dependencies of answers. */
export interface AnswerPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly newId: () => string;
  /** Undefined without a directory for state; nothing is ever announced then. */
  readonly journal: Pick<AnswerJournal, "read" | "write"> | undefined;
  readonly openSpeaker: (config: SpeakerConfig, allowsCommands: boolean) => Promise<Speaker>;
  /** Receives what is wrong, and undefined when that is over. */
  readonly onFault: (fault: string | undefined) => void;
}

const maxEnded = 1000;
/** Time limit for all routes of an answer together: a stop must end in time. */
const callMs = 2000;
const [firstPauseMs, longestPauseMs] = [1000, 60_000];
/** Time to choose flow specifications in one go. With thousands of alerts the rest waits, and rows are counted in between. */
const choosingMs = 200;
const automatic = "automatic";

function liveRoutes(answer: Answer): number {
  return isLive(answer) ? answer.routes.length : 0;
}

/** Thrown when an answer cannot be allowed or withdrawn now. The message says why. */
export class AnswerRefusal extends Error {}

/** Answers to attacks. They are proposed, allowed, announced, renewed while the alert fires, and withdrawn. */
export class Answers {
  readonly #limits: AnswerLimits;
  readonly #ports: AnswerPorts;
  readonly #answers = new Map<string, Answer>();
  readonly #speakers = new Map<string, Promise<Speaker>>();
  readonly #backoff = new Backoff(firstPauseMs, longestPauseMs);
  /** Consecutive failures of each answer, and the time of its next try by the monotonic clock. */
  readonly #waits = new Map<string, { readonly failures: number; readonly until: number }>();
  /** Ids of announced answers to announce again. */
  readonly #renewals = new Set<string>();
  readonly #config = { speakers: new Map<string, SpeakerConfig>(), actions: new Map<string, AnswerConfig>() };
  #isChanged = false;
  /** The number of routes that may be announced at present. */
  #liveRoutes = 0;
  /** Time by the monotonic clock. */
  #chooseUntil = 0;
  #journalFault: string | undefined;
  /** True if the journal could not be read. It is then left unchanged. */
  #isUnreadable = false;
  /** Aborts calls to speakers when the collector stops. */
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #said: string | undefined;
  readonly #counts = { announced: 0, withdrawn: 0, failures: 0, refused: 0 };

  constructor(limits: AnswerLimits, ports: AnswerPorts) {
    this.#limits = limits;
    this.#ports = ports;
    this.#reportMetrics(ports.metrics);
  }

  /** Reads the journal and begins to withdraw what the last run left. While the journal cannot be read, nothing is announced. */
  async start(): Promise<void> {
    try {
      for (const answer of (await this.#ports.journal?.read()) ?? []) {
        const isLeft = isLive(answer);
        const because = "the collector was started again";
        this.#set(isLeft ? { ...answer, state: "withdrawing", because } : answer);
        if (isLeft)
          this.#ports.log.warn(
            { answer: answer.id, route: answer.text },
            "a route is left over of the last run: it is withdrawn",
          );
      }
    } catch (error) {
      this.#isUnreadable = true;
      this.#journalFault = `routes of the last run are not known, so none is announced: ${(error as Error).message}`;
      this.#ports.log.error({ error }, "the journal of answers cannot be read");
    }
    this.#work();
  }

  /** Replaces the speakers and answers by those of the rules file. Earlier routes stay with their speaker. */
  use(speakers: ReadonlyMap<string, SpeakerConfig>, actions: ReadonlyMap<string, AnswerConfig>): void {
    this.#config.speakers = new Map(speakers);
    this.#config.actions = new Map(actions);
  }

  /** Compares the answers with the firing alerts: proposes, renews and withdraws. Called once a second. */
  reconcile(attacks: readonly Attack[]): void {
    const firing = new Map(attacks.map((attack) => [attack.alert, attack]));
    this.#chooseUntil = this.#ports.clock.monotonic() + choosingMs;
    const known = new Set<string>();
    for (const answer of this.#answers.values()) {
      // An answer that a stop or a start withdrew is proposed again while its alert fires.
      if (answer.state !== "ended" || answer.endedBy !== undefined) known.add(`${answer.alert}\0${answer.action}`);
      this.#goOn(answer, firing.get(answer.alert)?.actions.includes(answer.action) === true);
    }
    for (const attack of attacks)
      for (const action of attack.actions)
        if (!known.has(`${attack.alert}\0${action}`) && !attack.answered.includes(action))
          this.#propose(attack, action);
    this.#forget(firing);
    this.#work();
  }

  /** Returns all answers, newest first. */
  list(): readonly Answer[] {
    return [...this.#answers.values()].reverse();
  }

  /** @returns what is wrong with announcing or withdrawing. */
  get fault(): string | undefined {
    const faulty = [...this.#answers.values()].find((answer) => isLive(answer) && answer.fault !== undefined);
    return this.#journalFault ?? (faulty && `a route is ${faulty.state}: ${faulty.text}: ${faulty.fault}`);
  }

  /**
   * Allows an answer.
   *
   * @param by the user; empty where no sign-in is needed.
   * @param isPerson false for a token.
   * @returns undefined for an unknown id.
   * @throws AnswerRefusal
   */
  allow(id: string, by: string, isPerson = true): Answer | undefined {
    const answer = this.#answers.get(id);
    if (answer === undefined) return undefined;
    const { mode, approvals } = this.#limits;
    if (mode === "dry-run") throw new AnswerRefusal("nothing is announced: SVC_WATCH_ANSWERS is dry-run");
    if (answer.state !== "proposed") throw new AnswerRefusal(`the answer is ${answer.state} already`);
    if (approvals > 1 && by === "") throw new AnswerRefusal("two people have to allow it, and nobody signs in here");
    // One person with a password and a token would otherwise count as two.
    if (approvals > 1 && !isPerson) throw new AnswerRefusal("two people have to allow it, and a token is none");
    if (answer.allowed.some((each) => each.by === by))
      throw new AnswerRefusal(`${by} has allowed it already: another one has to`);
    const full = this.#isFull(answer.routes.length);
    if (full !== undefined) throw new AnswerRefusal(full);
    const allowed = [...answer.allowed, { by, at: this.#ports.clock.now() }];
    if (allowed.length < approvals) return this.#set({ ...answer, allowed });
    this.#announce({ ...answer, allowed });
    this.#work();
    return this.#answers.get(id);
  }

  /** Withdraws an answer, or drops a proposed one. It is not proposed again for its alert. @returns undefined for an unknown id. @throws AnswerRefusal */
  withdraw(id: string, by: string): Answer | undefined {
    const answer = this.#answers.get(id);
    if (answer === undefined) return undefined;
    if (answer.state === "ended" || answer.state === "refused")
      throw new AnswerRefusal(`the answer is ${answer.state} already`);
    this.#end(answer, { because: "it was withdrawn by hand", endedBy: by });
    this.#work();
    return this.#answers.get(id);
  }

  /** Takes over an answer of a dead collector: it goes on, is withdrawn, or was ended by hand. */
  adopt(answer: Answer): void {
    if (this.#answers.has(answer.id)) return;
    this.#set(answer);
    if (!isLive(answer)) return;
    this.#renewals.add(answer.id);
    this.#tell(answer, "an answer of another collector of the fleet is taken over");
  }

  /** Withdraws an answer here because another collector of the fleet has taken it over and announces it. */
  giveUp(id: string): void {
    const answer = this.#answers.get(id);
    if (answer === undefined || answer.state === "withdrawing" || !isLive(answer)) return;
    this.#end(answer, { because: "another collector of the fleet has taken it over" });
    this.#work();
  }

  /** Announces all announced answers again. */
  renew(): void {
    for (const { id, state } of this.#answers.values()) if (state === "announced") this.#renewals.add(id);
  }

  /** Withdraws everything. What a speaker does not take in time is withdrawn at the next start. */
  async stop(): Promise<void> {
    for (const answer of this.#answers.values())
      if (answer.state !== "ended" && answer.state !== "refused")
        this.#end(answer, { because: "the collector was stopped" });
    this.#stop.abort(new Error("the collector stops"));
    await this.#running;
    this.#waits.clear();
    this.#work();
    await this.#running;
    for (const speaker of this.#speakers.values()) await speaker.then((open) => open.close()).catch(() => {});
  }

  #goOn(answer: Answer, fires: boolean): void {
    const { clock } = this.#ports;
    const { limitMs } = this.#limits;
    const { state, endsAt = Infinity, routes } = answer;
    const leftMs = endsAt - clock.now();
    if (state === "ended" || state === "refused" || state === "withdrawing") return;
    if (!fires) this.#end(answer, { because: "the alert is over" });
    else if (state === "proposed" && this.#limits.mode === automatic && this.#journalFault === undefined) {
      const because = whyDoubted(answer) ?? this.#isFull(routes.length);
      if (because === undefined) this.#announce({ ...answer, allowed: [{ by: automatic, at: clock.now() }] });
      else if (answer.because !== because) this.#set({ ...answer, because });
      // After the clock was set back, more time is left than the limit allows.
    } else if (state === "announced" && (leftMs < limitMs / 2 || leftMs > limitMs)) {
      this.#set({ ...answer, endsAt: clock.now() + limitMs });
      this.#renewals.add(answer.id);
    }
  }

  #propose(attack: Attack, action: string): void {
    const config = this.#config.actions.get(action);
    const speaker = config && this.#config.speakers.get(config.speaker);
    if (config === undefined || speaker === undefined) return;
    const { clock, newId } = this.#ports;
    const found = propose(attack, config, clock.now(), clock.monotonic() <= this.#chooseUntil);
    if (found === undefined) return;
    const { routes, evidence, because } = found;
    const given =
      because ?? routes.map((route) => whyNever(route, this.#limits.never)).find((why) => why !== undefined);
    const answer: Answer = {
      id: newId(),
      alert: attack.alert,
      rule: attack.rule,
      action,
      reason: attack.reason,
      routes,
      text: routes.map(routeText).join("; "),
      ...(evidence && { evidence }),
      state: given === undefined ? "proposed" : "refused",
      ...(given !== undefined && { because: given }),
      proposedAt: clock.now(),
      allowed: [],
      speaker: { name: config.speaker, config: speaker },
    };
    if (given !== undefined) this.#counts.refused++;
    this.#set(answer);
    this.#tell(answer, given === undefined ? "an answer is proposed" : `an answer is refused: ${given}`);
    this.#goOn(answer, true);
  }

  #isFull(more: number): string | undefined {
    const { journal } = this.#ports;
    if (journal === undefined) return "nothing is announced without SVC_STATE_DIRECTORY_PATH";
    if (this.#journalFault !== undefined) return this.#journalFault;
    const { maxRoutes } = this.#limits;
    return this.#liveRoutes + more <= maxRoutes
      ? undefined
      : `${this.#liveRoutes} routes are announced: SVC_WATCH_ANSWERS_MAX_ROUTES is ${maxRoutes}`;
  }

  #announce(answer: Answer): void {
    const { because: _because, ...rest } = answer;
    const announcing: Answer = { ...rest, state: "announcing", endsAt: this.#ports.clock.now() + this.#limits.limitMs };
    this.#set(announcing);
    this.#tell(announcing, "a route is being announced");
  }

  #end(answer: Answer, why: Pick<Answer, "because" | "endedBy">): void {
    this.#waits.delete(answer.id);
    this.#renewals.delete(answer.id);
    const ended: Answer = isLive(answer)
      ? { ...answer, ...why, state: "withdrawing" }
      : { ...answer, ...why, state: "ended", endedAt: this.#ports.clock.now() };
    this.#set(ended);
    if (isLive(answer) && answer.state !== "withdrawing")
      this.#tell(ended, `a route is being withdrawn: ${why.because ?? ""}`);
  }

  #set(answer: Answer): Answer {
    const before = this.#answers.get(answer.id);
    this.#liveRoutes += liveRoutes(answer) - (before === undefined ? 0 : liveRoutes(before));
    this.#answers.set(answer.id, answer);
    this.#isChanged = true;
    return answer;
  }

  /** Forgets the oldest ended answers. Those of firing alerts stay, or they would be proposed again. */
  #forget(firing: ReadonlyMap<string, Attack>): void {
    let over = this.#answers.size - maxEnded;
    for (const [id, { alert, state }] of this.#answers) {
      if (over <= 0) break;
      if ((state !== "ended" && state !== "refused") || firing.has(alert)) continue;
      this.#answers.delete(id);
      this.#isChanged = true;
      over--;
    }
  }

  #work(): void {
    this.#running ??= this.#settle().finally(() => {
      this.#running = undefined;
      const { fault } = this;
      if (fault !== this.#said) this.#ports.onFault((this.#said = fault));
    });
  }

  /** Executes what is pending. Withdrawals come first, so that a route that another answer announces is present in the end. */
  async #settle(): Promise<void> {
    for (const state of ["withdrawing", "announcing"] as const) {
      if (state === "announcing" && !(await this.#save())) return;
      const due = [...this.#answers.values()].filter((answer) => this.#isDue(answer, state));
      await Promise.all(due.map((answer) => this.#ask(answer)));
    }
    await this.#save();
  }

  #isDue({ id, state }: Answer, wanted: AnswerState): boolean {
    if ((this.#waits.get(id)?.until ?? -Infinity) > this.#ports.clock.monotonic()) return false;
    return state === wanted || (wanted === "announcing" && state === "announced" && this.#renewals.has(id));
  }

  /** @returns false where nothing may be announced because it is not in the journal. */
  async #save(): Promise<boolean> {
    const { journal, log } = this.#ports;
    if (journal === undefined || this.#isUnreadable) return false;
    if (!this.#isChanged) return true;
    this.#isChanged = false;
    try {
      await journal.write([...this.#answers.values()]);
      this.#journalFault = undefined;
      // A change during the write is not in the journal yet.
      return !this.#isChanged;
    } catch (error) {
      this.#isChanged = true;
      if (this.#journalFault === undefined)
        log.error({ error }, "answers cannot be written down, so nothing is announced");
      this.#journalFault = `answers cannot be written down, so nothing is announced: ${(error as Error).message}`;
      return false;
    }
  }

  /** Asks the speaker to announce or withdraw the routes of an answer. */
  async #ask({ id, state, routes, speaker }: Answer): Promise<void> {
    const { clock } = this.#ports;
    const isEnd = state === "withdrawing";
    try {
      const open = await this.#speaker(speaker.config);
      const [inTime, stop] = [AbortSignal.timeout(callMs), this.#stop.signal];
      // A stop aborts running calls; afterwards everything is withdrawn once.
      const signal = isEnd && stop.aborted ? inTime : AbortSignal.any([inTime, stop]);
      for (const route of routes) {
        if (!isEnd) await open.announce(route, signal);
        else if (!this.#isHeldByAnother(id, route, speaker.config)) await open.withdraw(route, signal);
      }
    } catch (error) {
      this.#failed(id, state, error as Error);
      return;
    }
    this.#waits.delete(id);
    this.#renewals.delete(id);
    const answer = this.#answers.get(id);
    // It may have been withdrawn in the meantime.
    if (answer === undefined || answer.state !== state) return;
    const { fault: _fault, ...well } = answer;
    if (isEnd) {
      this.#counts.withdrawn += routes.length;
      this.#tell(this.#set({ ...well, state: "ended", endedAt: clock.now() }), "a route is withdrawn");
    } else if (state === "announcing") {
      this.#counts.announced += routes.length;
      this.#tell(this.#set({ ...well, state: "announced", announcedAt: clock.now() }), "a route is announced");
    } else if (answer.fault !== undefined) this.#set(well);
  }

  #failed(id: string, state: AnswerState, error: Error): void {
    const { clock, log } = this.#ports;
    const failures = (this.#waits.get(id)?.failures ?? 0) + 1;
    this.#waits.set(id, { failures, until: clock.monotonic() + this.#backoff.delay(failures) });
    this.#counts.failures++;
    const answer = this.#answers.get(id);
    if (answer === undefined) return;
    if (answer.fault !== error.message) this.#set({ ...answer, fault: error.message });
    if (answer.state !== state) this.#waits.delete(id);
    if (failures === 1)
      log.error(
        { error, answer: id, route: answer.text, state },
        "a speaker did not do what it was asked for; it is asked again",
      );
  }

  /** Reports whether another answer announces the same route. The route ends with the last of them, which announces it again in its own form. */
  #isHeldByAnother(id: string, route: Route, speaker: SpeakerConfig): boolean {
    const [key, config] = [routeKey(route), JSON.stringify(speaker)];
    const holder = [...this.#answers.values()].find(
      (other) =>
        other.id !== id &&
        (other.state === "announcing" || other.state === "announced") &&
        JSON.stringify(other.speaker.config) === config &&
        other.routes.some((each) => routeKey(each) === key),
    );
    if (holder?.state === "announced") this.#renewals.add(holder.id);
    return holder !== undefined;
  }

  #speaker(config: SpeakerConfig): Promise<Speaker> {
    const key = JSON.stringify(config);
    const known = this.#speakers.get(key);
    if (known !== undefined) return known;
    const opened = this.#ports.openSpeaker(config, this.#limits.allowsCommands);
    opened.catch(() => this.#speakers.delete(key));
    this.#speakers.set(key, opened);
    return opened;
  }

  #tell({ id, alert, rule, text, reason, allowed, endsAt, endedBy }: Answer, message: string): void {
    const by = allowed.map((each) => each.by);
    const until = endsAt === undefined ? undefined : new Date(endsAt).toISOString();
    this.#ports.log.warn({ answer: id, alert, rule, route: text, reason, allowedBy: by, until, endedBy }, message);
  }

  #reportMetrics(metrics: Metrics): void {
    metrics.gaugeFrom(
      "netgloss_watch_answers",
      "Answers to alerts that have not ended, by their state.",
      ["state"],
      () =>
        answerStates
          .filter((state) => state !== "ended" && state !== "refused")
          .map((state) => [{ state }, [...this.#answers.values()].filter((answer) => answer.state === state).length]),
    );
    for (const [name, help] of [
      ["announced", "Routes that a speaker was asked to announce, and took."],
      ["withdrawn", "Routes that a speaker was asked to withdraw, and did."],
    ] as const)
      metrics.counterFrom(`netgloss_watch_routes_${name}_total`, help, [], () => [[{}, this.#counts[name]]]);
    metrics.counterFrom(
      "netgloss_watch_speaker_failures_total",
      "Tries to announce or withdraw routes that failed; they are tried again.",
      [],
      () => [[{}, this.#counts.failures]],
    );
    metrics.counterFrom(
      "netgloss_watch_answers_refused_total",
      "Answers that are never announced: SVC_WATCH_ANSWERS_NEVER, or no route was found.",
      [],
      () => [[{}, this.#counts.refused]],
    );
  }
}
