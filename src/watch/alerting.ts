import type { FileIo } from "../base/file/index.ts";
import type { Clock, Log, Metrics } from "../base/report/index.ts";
import { AlertBook, AlertNews, type AlertList, type Evidence, type FoundAlerts } from "./alert-book.ts";
import { AlertFile } from "./alert-file.ts";
import { readAlertQuery, type AlertQuery } from "./alert-filter.ts";
import {
  againOf,
  briefOf,
  madeAlert,
  recordOf,
  type Alert,
  type AlertEvent,
  type AlertFilter,
  type Notice,
} from "./alerts.ts";
import { FleetAlerts } from "./fleet-alerts.ts";
import type { FleetAnswer, OwnAnswers } from "./fleet-answers.ts";
import { Notifier } from "./notifier.ts";
import type { Verdict } from "./rule-watch.ts";
import type { Rule } from "./rule.ts";
import { readSnooze, Silences, type Refused, type Silence } from "./silences.ts";
import { answersOf, type WatchConfig } from "./watch-file.ts";

/** Dependencies of alerts: the clock, the disk, and the receivers of events. */
export interface AlertingSurroundings {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly io: FileIo;
  /** Returns texts that are never repeated. */
  readonly newId: () => string;
  /** Receives a record, as a line of JSON, for each alert that began or ended. */
  readonly onRecord: (line: string) => void;
  /** Receives what happened to alerts: once a second, and at once for what a person did. */
  readonly onNews: (events: readonly AlertEvent[]) => void;
}

/** After a save, the next one waits this many times as long as the save took. */
const restOfSave = 9;

/** The alerts of all rules, and who gets notices of them. Silenced and snoozed alerts send none. All of it survives a restart. */
export class Alerting {
  readonly #around: AlertingSurroundings;
  /** A log with a rate limit: every save fails on a full disk. */
  readonly #log: Log;
  readonly #onFault: (fault: string | undefined) => void;
  readonly #book: AlertBook;
  readonly notifier: Notifier;
  readonly #silences: Silences;
  readonly #news = new AlertNews((alert) => this.#silenceOf(alert));
  readonly #file: AlertFile | undefined;
  /** The other collectors. Undefined where there are none. */
  readonly fleet: FleetAlerts | undefined;
  #rules: readonly Rule[] = [];
  #isChanged = false;
  /** Time of the next save, by the monotonic clock. A large file must not be written all the time. */
  #saveFrom = 0;
  #saving: Promise<void> | undefined;

  /**
   * @param directory undefined: alerts do not survive the run.
   * @param isShared true for a collector of a fleet.
   * @param log for messages that repeat.
   * @param onFault receives what is wrong with the file, and undefined when that is over.
   */
  constructor(
    { directory, isShared = false }: { readonly directory: string | undefined; readonly isShared?: boolean },
    around: AlertingSurroundings,
    run: string,
    log: Log,
    onFault: (fault: string | undefined) => void,
  ) {
    this.#around = around;
    this.#log = log;
    this.#onFault = onFault;
    this.#book = new AlertBook(around.newId);
    this.#silences = new Silences(around.newId);
    this.notifier = new Notifier({ clock: around.clock, log: around.log }, () => (this.#isChanged = true));
    this.#file = directory === undefined ? undefined : new AlertFile(directory, around.io, run);
    if (isShared)
      this.fleet = new FleetAlerts({
        ...around,
        book: this.#book,
        silences: this.#silences,
        notifier: this.notifier,
        isHeld: (alert) => this.#isHeld(alert, around.clock.now()),
        actOf: (rule) => this.#actOf(rule),
        tellAlone: (notices) => this.#tell(notices),
        onNotice: (notice) => this.#record(notice),
        changed: () => (this.#isChanged = true),
      });
  }

  async start(): Promise<void> {
    const kept = await this.#file?.read();
    if (kept === undefined) return;
    this.#book.restore(kept.alerts);
    this.#silences.restore(kept.silences ?? []);
    this.notifier.restore(kept);
    this.#onFault(kept.fault);
    if (kept.fault !== undefined) this.#log.error({}, kept.fault);
    // Restored alerts are no news.
    this.#news.take(this.#book.open(), (id) => this.#book.find(id), "", this.#around.clock.now());
  }

  async stop(): Promise<void> {
    await this.notifier.stop();
    await this.#saving;
    this.#save();
    await this.#saving;
  }

  /** Replaces the rules and actions. Alerts of removed rules end. */
  use({ rules, actions }: WatchConfig): void {
    const there = new Set(rules.map(({ name }) => name));
    const ended = this.#book.end((rule) => there.has(rule), "its rule was removed", this.#around.clock.now());
    this.#heard(ended);
    this.#rules = rules;
    const answers = answersOf(actions);
    this.notifier.use(new Map([...actions].filter(([name]) => !answers.has(name))));
  }

  /** Applies all verdicts of one judgement of a rule. @param ahead milliseconds by which the wall clock is ahead of the clock of verdicts. */
  judge(rule: Rule, verdicts: Iterable<Verdict>, evidence: Evidence, ahead: number): void {
    this.#heard(this.#book.judge(rule, verdicts, evidence, this.#around.clock.now(), ahead));
  }

  /** Sends notices that were held back, sends what is due, and saves changes. */
  tick(): void {
    const others = this.#others;
    if (others === undefined) this.#tellHeld(this.#around.clock.now());
    this.#tellNews();
    this.notifier.tick((action) => {
      if (others !== undefined)
        return others.held().flatMap(({ alert, act }) => (act.includes(action) && !alert.untold ? [alert] : []));
      const acting = this.#rules.filter(({ act }) => act.includes(action));
      // This includes alerts that are silenced by now: an Alertmanager resolves an alert that it does not hear of, and sends notices of that.
      return acting.flatMap(({ name }) => this.#book.firing(name)).filter(({ untold }) => untold === undefined);
    });
    if (this.#isChanged && this.#around.clock.monotonic() >= this.#saveFrom) this.#save();
  }

  /** Returns the alerts of a rule that this collector answers. */
  toAnswer(rule: string): readonly Alert[] {
    const held = this.#others?.held();
    if (held === undefined) return this.firing(rule);
    return held.flatMap(({ alert }) => (alert.rule === rule ? [alert] : []));
  }

  /** Applies what the other collectors of the fleet wrote; undefined where they were not reached. @returns true where alerts are shared with them. */
  fleetTake(answer: FleetAnswer | undefined, own: OwnAnswers): boolean {
    this.fleet?.take(answer, own);
    return this.#others !== undefined;
  }

  isFiring(rule: string, key: readonly string[]): boolean {
    return this.#book.isFiring(rule, key);
  }

  /** Returns the firing alerts of a rule. */
  firing(rule: string): readonly Alert[] {
    return this.#book.firing(rule);
  }

  /** Returns the alerts that pass a filter, or all, up to a number. */
  list(filter?: AlertFilter, limit?: number): AlertList {
    const { alerts, ...counts } = this.#book.list(this.#others?.firing(), filter, limit);
    return { ...counts, alerts: alerts.map((alert) => this.#shown(alert)) };
  }

  /** Returns the alerts that a query asks for. */
  find(query: AlertQuery): FoundAlerts | Refused {
    const filter = readAlertQuery(query, this.#keyFields());
    if (typeof filter === "object") return { refused: filter.fault.split("\n") };
    const list = this.list(filter, query.limit);
    return query.hasEvidence === false ? { ...list, alerts: list.alerts.map(briefOf) } : list;
  }

  /** Returns the alert with an id, even if it has ended. */
  get(id: string): Alert | undefined {
    const alert = this.#book.find(id) ?? this.#others?.firing().find((each) => each.id === id);
    return alert && this.#shown(alert);
  }

  /** Records who has seen an alert. @returns undefined for an unknown id. */
  acknowledge(id: string, by: string): Alert | undefined {
    const acknowledged = { by, at: this.#around.clock.now() };
    this.#isChanged = true;
    const here = this.#book.change(id, (alert) => ({ acknowledged, ...alert }));
    const alert = this.fleet?.say(id, { acknowledged }) ?? here;
    this.#tellNews();
    return alert;
  }

  /** Holds back the notices of an alert for a time. They are sent afterwards if it still fires. @returns undefined for an unknown id. */
  snooze(id: string, by: string, given: unknown): Alert | Refused | undefined {
    const read = readSnooze(given);
    if ("refused" in read) return read;
    const snoozed = { by, until: this.#around.clock.now() + read.for };
    this.#isChanged = true;
    const here = this.#book.change(id, (before) => ({ ...before, snoozed }));
    const alert = this.fleet?.say(id, { snoozed }) ?? here;
    this.#tellNews();
    return alert?.state === "cleared" ? { refused: ["the alert has ended"] } : alert;
  }

  silences(): readonly Silence[] {
    return this.#silences.list();
  }

  /** Holds back the notices of some alerts for a time, as a request says. */
  silence(by: string, given: unknown): Silence | Refused {
    this.#isChanged = true;
    const silence = this.#silences.add(given, by, this.#keyFields(), this.#around.clock.now());
    if ("refused" in silence) return silence;
    this.#around.log.info({ by, silence: silence.id }, `silenced: ${silence.filter}`);
    this.fleet?.silenced(silence);
    this.#tellNews();
    return silence;
  }

  /** Ends a silence. @returns undefined where no such silence is in force. */
  endSilence(id: string, by: string): Silence | undefined {
    this.#isChanged = true;
    const ended = this.#silences.end(id, this.#around.clock.now());
    if (ended === undefined) return undefined;
    this.#around.log.info({ by, silence: id }, `a silence has ended: ${ended.filter}`);
    this.fleet?.silenced(ended);
    this.#tellNews();
    return ended;
  }

  /** Sends a sample alert to an action. @returns undefined where there is no such action. @throws Error when the action does not take it. */
  async test(name: string): Promise<true | undefined> {
    const now = this.#around.clock.now();
    const alert = madeAlert(this.#around.newId(), "test", `a test of the action ${name}`, now);
    return (await this.notifier.test(name, alert)) || undefined;
  }

  /** The number of alert files that were set aside. */
  get setAside(): number {
    return this.#file?.setAside ?? 0;
  }

  reportMetrics(metrics: Metrics): void {
    metrics.gaugeFrom("netgloss_watch_alerts", "Alerts by their state.", ["state"], () =>
      (["pending", "firing"] as const).map((state) => [{ state }, this.#book.count(state)]),
    );
    metrics.counterFrom("netgloss_watch_alerts_refused_total", "Alerts that were more than there may be.", [], () => [
      [{}, this.#book.refused],
    ]);
    this.notifier.reportMetrics(metrics);
  }

  /** The fleet, while its other collectors are reached. */
  get #others(): FleetAlerts | undefined {
    return this.fleet?.isAlone === false ? this.fleet : undefined;
  }

  #actOf(rule: string): readonly string[] {
    return this.#rules.find(({ name }) => name === rule)?.act ?? [];
  }

  /** Processes the alerts that began or ended here. */
  #heard(notices: readonly Notice[]): void {
    if (this.fleet === undefined) this.#tell(notices);
    else this.fleet.judged(notices);
  }

  /** Writes the record of an alert that has begun or ended. */
  #record(notice: Notice): void {
    this.#isChanged = true;
    const { kind, alert } = notice;
    this.#around.onRecord(recordOf(notice, this.#around.clock.now()));
    this.#around.log.info({ rule: alert.rule, alert: alert.id }, `alert ${kind}: ${alert.text}`);
  }

  #tell(notices: readonly Notice[]): void {
    const now = this.#around.clock.now();
    for (const notice of notices) {
      const { kind, alert } = notice;
      this.#record(notice);
      const act = this.#actOf(alert.rule);
      if (kind === "firing" && this.#isHeld(alert, now))
        this.#book.change(alert.id, (one) => ({ ...one, untold: true }));
      else if (alert.untold === undefined) this.notifier.tell(act, notice);
    }
  }

  #tellNews(): void {
    const now = this.#around.clock.now();
    // News also covers alerts that fire only for other collectors.
    const [here, elsewhere] = [this.#book.open(), this.#others?.firing() ?? []];
    const open =
      elsewhere.length === 0 ? here : new Map([...elsewhere, ...here].map((alert) => [alert.id, alert])).values();
    const events = this.#news.take(open, (id) => this.#book.find(id), this.#silences.inForce(now), now);
    if (events.length > 0) this.#around.onNews(events);
  }

  /** Returns the fields that keys of alerts have. */
  #keyFields(): ReadonlySet<string> {
    return new Set(this.#rules.flatMap((rule) => rule.by.map(({ field }) => field)));
  }

  #silenceOf(alert: Alert): Alert["silence"] {
    const silence = alert.state === "firing" ? this.#silences.of(alert, this.#around.clock.now()) : undefined;
    return silence && { id: silence.id, until: silence.until };
  }

  #shown(alert: Alert): Alert {
    const silence = this.#silenceOf(alert);
    return silence === undefined ? alert : { ...alert, silence };
  }

  /** Sends notices of alerts that still fire after their silence or snooze has ended. */
  #tellHeld(now: number): void {
    for (const alert of this.#book.firing()) {
      const again = againOf(alert, now, (each) => this.#isHeld(each, now));
      if (again === undefined) continue;
      this.#book.change(alert.id, () => again.alert);
      this.#isChanged = true;
      this.notifier.tell(this.#actOf(alert.rule), again);
    }
  }

  #isHeld(alert: Alert, now: number): boolean {
    return (alert.snoozed?.until ?? 0) > now || this.#silences.of(alert, now) !== undefined;
  }

  /** Saves alerts, one write at a time. A change during a write is part of the next one. */
  #save(): void {
    if (this.#file === undefined || this.#saving !== undefined) return;
    this.#isChanged = false;
    const { clock } = this.#around;
    const began = clock.monotonic();
    const notices = this.notifier.kept((id) => this.fleet?.keeps(id) === true);
    this.#saving = this.#file
      .write({ alerts: this.#book.kept(), ...notices, silences: this.#silences.list() })
      .then(() => this.#onFault(undefined))
      .catch((error: unknown) => {
        this.#isChanged = true;
        this.#onFault(`alerts cannot be kept: ${(error as Error).message}`);
        this.#log.error({ error }, "alerts cannot be kept");
      })
      .finally(() => {
        this.#saving = undefined;
        const ended = clock.monotonic();
        this.#saveFrom = ended + restOfSave * (ended - began);
      });
  }
}
