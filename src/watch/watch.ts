import { WatchedFile, type FileIo } from "../base/file/index.ts";
import { limitLog, type Clock, type Log, type Metrics } from "../base/report/index.ts";
import { columnOf, LineColumns, type Column } from "../record/index.ts";
import { AlertFile } from "./alert-file.ts";
import { AlertBook, recordOf, type Alert, type AlertList, type Notice } from "./alerts.ts";
import {
  answerFields,
  AnswerJournal,
  Answers,
  AttackRows,
  type Answer,
  type AnswerLimits,
  type Attack,
  type Speaker,
  type SpeakerConfig,
} from "./answers/index.ts";
import { BatchRows, ObjectRows } from "./batch-rows.ts";
import { HistoryFiles } from "./history.ts";
import { Notifier, type ActionStatus } from "./notifier.ts";
import { readSnooze, Silences, type Refused, type Silence } from "./silences.ts";
import { fieldsOf, flowFields, RuleWatch, type KeyLimits } from "./rule-watch.ts";
import { readReadyRules, type ReadyRule } from "./ready.ts";
import type { Rule } from "./rule.ts";
import type { Source } from "./sources.ts";
import { answersOf, destinationField, parseWatchFile, WatchFileError, type WatchConfig } from "./watch-file.ts";

/** How rules are watched; plain data. */
export interface WatchOptions {
  readonly rulesPath: string;
  /** Whether actions may run programs. */
  readonly mayRun: boolean;
  /** The ready rules, which come with the program: the text of their file. */
  readonly readyRules: string;
  /** The directory in which alerts outlive a restart; undefined: they do not. */
  readonly directory: string | undefined;
  /** Keys of each rule at a time. */
  readonly maxKeys: number;
  /** Keys in the history of each rule. */
  readonly maxHistory: number;
  readonly answers: AnswerLimits;
}

/** The state of a rule, as it is shown. */
export interface RuleStatus {
  readonly name: string;
  readonly keys: number;
  readonly firing: number;
  /** Records of keys that were more than there may be. */
  readonly refused: number;
  /** How much it knows of the time before, where it needs that. */
  readonly history?: string;
  readonly act: readonly string[];
}

export interface WatchStatus {
  /** What is wrong with the file of rules, or with keeping alerts. */
  readonly fault?: string;
  readonly rules: readonly RuleStatus[];
  readonly actions: readonly ActionStatus[];
}

/** Where Watch lives: the clock, the disk, and the receivers of what it finds. */
export interface WatchSurroundings {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly io: FileIo;
  /** Gives texts that were never given before. */
  readonly newId: () => string;
  readonly openSpeaker: (config: SpeakerConfig, allowsCommands: boolean) => Promise<Speaker>;
  /** Is given a record for each alert that has begun or ended: a line of JSON. */
  readonly onRecord: (line: string) => void;
  /** Is given what is wrong, and undefined when all is well again. */
  readonly onFault: (fault: string | undefined) => void;
}

const maxRows = 2048;
const lineFeed = 0x0a;
const judgeMs = 1000;
const pollMs = 1000;
/** How often what is usual, and what was seen, is written. */
const historyMs = 600_000;
/** After a save this many times as long as it took is none. */
const restOfSave = 9;

/** A set of rules that is in force: their windows, and the columns that they need. */
class RuleSet {
  readonly watches: readonly RuleWatch[];
  readonly #ofFlows: readonly RuleWatch[];
  readonly #reader: LineColumns;
  readonly #rows: BatchRows;
  readonly #objects = new ObjectRows();
  /** Where a rule asks for flow specifications. */
  readonly #attacks: AttackRows | undefined;

  constructor({ rules, actions }: WatchConfig, limits: KeyLimits, now: number) {
    const answers = answersOf(actions);
    const asks = ({ act }: Rule): boolean => act.some((name) => answers.get(name)?.kind === "flowspec");
    const ofFlows = rules.filter(({ of }) => of === "flow");
    const names = new Set([
      ...flowFields,
      ...ofFlows.flatMap(fieldsOf),
      ...(ofFlows.some(asks) ? Object.values(answerFields) : []),
    ]);
    const columns = [...names].map(columnOf).filter((column): column is Column => column !== undefined);
    this.#reader = new LineColumns(columns, { maxRows, hasRest: false });
    this.#rows = new BatchRows(columns);
    this.watches = rules.map(
      (rule) => new RuleWatch(rule, rule.of === "flow" ? this.#rows : this.#objects, limits, now, asks(rule)),
    );
    this.#ofFlows = this.watches.filter(({ rule }) => rule.of === "flow");
    const asking = this.#ofFlows.filter(({ rule }) => asks(rule));
    if (asking.length > 0) this.#attacks = new AttackRows((field) => this.#rows.reader(field), asking, now);
  }

  /** Takes whole lines, each of which stands for `weight` records. */
  take(lines: Uint8Array, weight: number, now: number): void {
    if (this.#ofFlows.length === 0) return;
    const type = this.#rows.reader("flow.export.type");
    const other = this.#rows.reader("flow.record.type");
    for (let at = 0; at < lines.length;) {
      at = this.#reader.take(lines, at);
      const batch = this.#reader.batch();
      this.#rows.use(batch);
      const isFlow = (row: number): boolean => type.has(row) && !other.has(row);
      this.#attacks?.take(batch.rows, isFlow, weight, now);
      for (const watch of this.#ofFlows) watch.take(batch.rows, isFlow, weight, now);
      this.#reader.clear();
    }
  }

  /** Chooses flow specifications against an alert. @param ahead how far the clock on the wall is ahead, milliseconds. */
  choose(
    watch: RuleWatch,
    { key, since, firedAt = 0 }: Alert,
    now: number,
    ahead: number,
  ): ReturnType<Attack["choose"]> {
    const target = key[destinationField];
    const firing = { key: Object.values(key), target, since: since - ahead, firedAt: firedAt - ahead };
    return this.#attacks?.choose(watch, firing, now);
  }

  /** Takes lines that are no flows. @returns how many of them are no records. */
  takeOthers(lines: string, now: number): number {
    const objects: Readonly<Record<string, unknown>>[] = [];
    let broken = 0;
    for (const line of lines.split("\n")) {
      if (line === "") continue;
      try {
        const record = JSON.parse(line) as Readonly<Record<string, unknown>> | null;
        if (typeof record === "object" && record !== null) objects.push(record);
        else broken++;
      } catch {
        broken++;
      }
    }
    this.#objects.use(objects);
    const kinds = objects.map(sourceOf);
    for (const watch of this.watches) {
      const { of } = watch.rule;
      if (kinds.includes(of)) watch.take(objects.length, (row) => kinds[row] === of, 1, now);
    }
    return broken;
  }
}

type FaultOf = "answers" | "rules" | "file" | "history";

/** Watches flows by the rules of a file: takes their lines, judges them once a second, and tells of alerts. */
export class Watch {
  readonly #limits: KeyLimits;
  readonly #around: WatchSurroundings;
  readonly #log: Log;
  readonly #book: AlertBook;
  readonly #notifier: Notifier;
  readonly #silences: Silences;
  readonly #file: AlertFile | undefined;
  readonly #historyFiles: HistoryFiles | undefined;
  readonly #rulesFile: WatchedFile;
  readonly #ready: readonly ReadyRule[];
  #rules: RuleSet;
  #config: WatchConfig = { actions: new Map(), speakers: new Map(), rules: [] };
  readonly #answers: Answers;
  #faults: Partial<Record<FaultOf, string | undefined>> = {};
  /** The clock of records and windows goes on evenly: a set clock is neither silence nor a flood. */
  readonly #began: number;
  #lines = 0;
  #broken = 0;
  #isChanged = false;
  /** By the monotonic clock: a large file is not written all the time. */
  #saveFrom = 0;
  #saving: Promise<void> | undefined;
  #historyFrom: number;
  #historySaving: Promise<void> | undefined;
  /** Until it is done there is nothing to be written. */
  #historyTaking: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: WatchOptions, around: WatchSurroundings, run: string) {
    this.#around = around;
    this.#ready = readReadyRules(options.readyRules);
    this.#log = limitLog(around.log, around.clock);
    this.#began = around.clock.now() - around.clock.monotonic();
    this.#book = new AlertBook(around.newId);
    this.#silences = new Silences(around.newId);
    const { clock } = around;
    this.#notifier = new Notifier({ clock, log: around.log }, () => (this.#isChanged = true));
    this.#file = options.directory === undefined ? undefined : new AlertFile(options.directory, around.io, run);
    this.#historyFiles =
      options.directory === undefined ? undefined : new HistoryFiles(options.directory, around.io, run);
    this.#historyFrom = around.clock.monotonic() + historyMs;
    this.#limits = { keys: options.maxKeys, history: options.maxHistory };
    this.#rules = new RuleSet(this.#config, this.#limits, this.#now());
    this.#answers = new Answers(options.answers, {
      ...around,
      journal: options.directory === undefined ? undefined : new AnswerJournal(options.directory, around.io, run),
      onFault: (fault) => this.#setFault("answers", fault),
    });
    this.#rulesFile = new WatchedFile(
      options.rulesPath,
      pollMs,
      {
        take: (bytes) =>
          this.#use(
            parseWatchFile(options.rulesPath, Buffer.from(bytes).toString("utf8"), this.#ready, options.mayRun),
          ),
        failed: (error) => {
          const detail = error instanceof WatchFileError ? (error.faults[0] ?? "") : (error as Error).message;
          this.#setFault("rules", `${detail}: the rules read before stay`);
          this.#log.error({ error }, "the file of rules cannot be used, the rules read before stay");
        },
      },
      around.io,
    );
    this.#reportMetrics(around.metrics);
  }

  async start(): Promise<void> {
    const kept = await this.#file?.read();
    if (kept !== undefined) {
      this.#book.restore(kept.alerts);
      this.#silences.restore(kept.silences ?? []);
      this.#notifier.restore(kept);
      this.#setFault("file", kept.fault);
      if (kept.fault !== undefined) this.#log.error({}, kept.fault);
    }
    await this.#answers.start();
    await this.#rulesFile.start();
    await this.#historyTaking;
    this.#timer = setInterval(() => this.judge(), judgeMs);
  }

  /** Reads the file of rules again. */
  reload(): Promise<void> {
    return this.#rulesFile.reload(true);
  }

  /** Takes whole lines that stand for this many records, each for as many. They are not needed any more when it returns. */
  take(lines: Uint8Array, records: number): void {
    const count = countLines(lines);
    this.#lines += count;
    if (this.#rules.watches.length === 0 || count === 0) return;
    this.#rules.take(lines, records / count, this.#now());
  }

  /** Takes whole lines about devices, exporters and outputs. */
  takeOthers(lines: Uint8Array): void {
    this.#lines += countLines(lines);
    this.#broken += this.#rules.takeOthers(Buffer.from(lines).toString("utf8"), this.#now());
  }

  /** The kinds of records that rules are about. */
  sources(): readonly Source[] {
    return [...new Set(this.#rules.watches.map(({ rule }) => rule.of))];
  }

  /** Judges all rules; it happens by itself every second. */
  judge(): void {
    const wall = this.#around.clock.now();
    const now = this.#now();
    for (const watch of this.#rules.watches) {
      const { rule } = watch;
      const verdicts = watch.judge(now, (key) => this.#book.isFiring(rule.name, key));
      this.#tell(rule, this.#book.judge(rule, verdicts, watch, wall, wall - now));
    }
    this.#tellHeld(wall);
    this.#notifier.tick((action) => {
      const acting = this.#config.rules.filter(({ act }) => act.includes(action));
      // Also those that are silenced by now: an Alertmanager takes what it does not hear of for over, and says so.
      return acting.flatMap(({ name }) => this.#book.firing(name)).filter(({ untold }) => untold === undefined);
    });
    this.#answers.reconcile(this.#attacks(wall - now));
    if (this.#around.clock.monotonic() >= this.#historyFrom) void this.#saveHistory();
    if (this.#isChanged && this.#around.clock.monotonic() >= this.#saveFrom) this.#save();
  }

  /** Answers to alerts, the newest first. */
  answers(): readonly Answer[] {
    return this.#answers.list();
  }

  /** Allows an answer. @param isPerson false for a token. @returns undefined where there is none. @throws AnswerRefusal */
  allow(id: string, by: string, isPerson = true): Answer | undefined {
    return this.#answers.allow(id, by, isPerson);
  }

  /** Withdraws an answer. @returns undefined where there is none. @throws AnswerRefusal */
  withdraw(id: string, by: string): Answer | undefined {
    return this.#answers.withdraw(id, by);
  }

  alerts(): AlertList {
    const now = this.#around.clock.now();
    const { alerts, ...counts } = this.#book.list();
    return { ...counts, alerts: alerts.map((alert) => withSilence(alert, this.#silences, now)) };
  }

  /** Notes who has seen an alert. @returns undefined where there is none. */
  acknowledge(id: string, by: string): Alert | undefined {
    const acknowledged = { by, at: this.#around.clock.now() };
    this.#isChanged = true;
    return this.#book.change(id, (alert) => ({ acknowledged, ...alert }));
  }

  /** Tells nobody of an alert for a time; when it fires on, it is told again. @returns undefined where there is none. */
  snooze(id: string, by: string, given: unknown): Alert | Refused | undefined {
    const read = readSnooze(given);
    if ("refused" in read) return read;
    const snoozed = { by, until: this.#around.clock.now() + read.for };
    this.#isChanged = true;
    const alert = this.#book.change(id, (before) => ({ ...before, snoozed }));
    return alert?.state === "cleared" ? { refused: ["the alert has ended"] } : alert;
  }

  silences(): readonly Silence[] {
    return this.#silences.list();
  }

  /** Tells nobody of some alerts for a time, as a request has it. */
  silence(by: string, given: unknown): Silence | Refused {
    this.#isChanged = true;
    const keys = new Set(this.#config.rules.flatMap((rule) => rule.by.map(({ field }) => field)));
    const silence = this.#silences.add(given, by, keys, this.#around.clock.now());
    if (!("refused" in silence)) this.#around.log.info({ by, silence: silence.id }, `silenced: ${silence.filter}`);
    return silence;
  }

  /** Ends a silence. @returns undefined where there is none that goes on. */
  endSilence(id: string, by: string): Silence | undefined {
    this.#isChanged = true;
    const ended = this.#silences.end(id, this.#around.clock.now());
    if (ended !== undefined) this.#around.log.info({ by, silence: id }, `a silence has ended: ${ended.filter}`);
    return ended;
  }

  /** Tells an action of a made alert. @throws Error when it does not take it; undefined where there is no such action. */
  async test(name: string): Promise<true | undefined> {
    const now = this.#around.clock.now();
    const isThere = await this.#notifier.test(name, {
      id: this.#around.newId(),
      rule: "test",
      key: {},
      state: "firing",
      since: now,
      firedAt: now,
      value: 0,
      peak: 0,
      unit: "",
      text: `a test of the action ${name}`,
      top: {},
      series: { stepMs: 0, values: [] },
    });
    return isThere || undefined;
  }

  /** Sends again what an action refused. @returns how many notices; undefined where there is no such action. */
  resend(name: string): number | undefined {
    return this.#notifier.resend(name);
  }

  status(): WatchStatus {
    const fault = this.#fault();
    return {
      ...(fault !== undefined && { fault }),
      rules: this.#rules.watches.map(({ rule: { name, act }, keys, history }) => ({
        name,
        keys: keys.count,
        firing: this.#book.firing(name).length,
        refused: keys.refused + (history?.refused ?? 0),
        ...(history !== undefined && { history: history.text(this.#now()) }),
        act,
      })),
      actions: this.#notifier.status(),
    };
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#rulesFile.stop();
    await this.#answers.stop();
    await this.#notifier.stop();
    await this.#saving;
    this.#save();
    await this.#saving;
    await this.#historySaving;
    await this.#saveHistory();
  }

  /** Puts rules in force. Windows begin anew; alerts of rules that stay go on. */
  #use(config: WatchConfig): void {
    const { clock, log } = this.#around;
    const wall = clock.now();
    const now = this.#now();
    const watches = this.#rules.watches;
    this.#rules = new RuleSet(config, this.#limits, now);
    const taking = this.#rules.watches;
    this.#historyTaking = this.#historyTaking.then(() => this.#takeHistory(taking, watches));
    const before = this.#config;
    this.#config = config;
    const there = new Set(config.rules.map(({ name }) => name));
    for (const notice of this.#book.end((rule) => there.has(rule), "its rule was removed", wall)) {
      const rule = before.rules.find(({ name }) => name === notice.alert.rule);
      if (rule !== undefined) this.#tell(rule, [notice]);
    }
    const answers = answersOf(config.actions);
    this.#answers.use(config.speakers, answers);
    this.#notifier.use(new Map([...config.actions].filter(([name]) => !answers.has(name))));
    for (const watch of this.#rules.watches)
      for (const alert of this.#book.firing(watch.rule.name)) {
        watch.resume(Object.values(alert.key), now - (wall - alert.since), now);
      }
    this.#setFault("rules", undefined);
    log.info({ rules: config.rules.length, actions: config.actions.size }, "rules of watch read");
  }

  /** What fires and is to be answered. @param ahead how far the clock on the wall is ahead of that of rows, milliseconds. */
  #attacks(ahead: number): readonly Attack[] {
    const answers = answersOf(this.#config.actions);
    if (answers.size === 0) return [];
    return this.#rules.watches.flatMap((watch) => {
      const actions = watch.rule.act.filter((name) => answers.has(name));
      if (actions.length === 0) return [];
      return this.#book.firing(watch.rule.name).map((alert): Attack => {
        const { id, rule, text, key, firedAt = 0 } = alert;
        const choose = (): ReturnType<Attack["choose"]> => this.#rules.choose(watch, alert, this.#now(), ahead);
        return { alert: id, rule, reason: text, target: key[destinationField], actions, firedAt, choose };
      });
    });
  }

  #tell({ act }: Rule, notices: readonly Notice[]): void {
    const now = this.#around.clock.now();
    for (const notice of notices) {
      this.#isChanged = true;
      const { kind, alert } = notice;
      this.#around.onRecord(recordOf(notice, now));
      this.#around.log.info({ rule: alert.rule, alert: alert.id }, `alert ${kind}: ${alert.text}`);
      if (kind === "firing" && this.#isHeld(alert, now))
        this.#book.change(alert.id, (one) => ({ ...one, untold: true }));
      else if (alert.untold === undefined) this.#notifier.tell(act, notice);
    }
  }

  /** Tells of alerts that fire on when their silence, or the time for which they were to be left alone, is over. */
  #tellHeld(now: number): void {
    for (const alert of this.#book.allFiring()) {
      const isOver = alert.snoozed !== undefined && alert.snoozed.until <= now;
      if ((alert.untold === undefined && !isOver) || this.#isHeld(alert, now)) continue;
      const told = this.#book.change(alert.id, toldOf) as Alert;
      this.#isChanged = true;
      const rule = this.#config.rules.find(({ name }) => name === alert.rule);
      // One that was told before is told again: under another id, or it would be taken for a repetition.
      const id = `${alert.id}-firing${alert.untold === undefined ? `-${alert.snoozed?.until}` : ""}`;
      if (rule !== undefined) this.#notifier.tell(rule.act, { id, kind: "firing", alert: told });
    }
  }

  #isHeld(alert: Alert, now: number): boolean {
    return (alert.snoozed?.until ?? 0) > now || this.#silences.of(alert, now) !== undefined;
  }

  /** Keeps alerts, one write at a time; what changes meanwhile is in the next one. */
  #save(): void {
    if (this.#file === undefined || this.#saving !== undefined) return;
    this.#isChanged = false;
    const { clock } = this.#around;
    const began = clock.monotonic();
    const notices = this.#notifier.kept();
    this.#saving = this.#file
      .write({ alerts: this.#book.kept(), ...notices, silences: this.#silences.list() })
      .then(() => this.#setFault("file", undefined))
      .catch((error: unknown) => {
        this.#isChanged = true;
        this.#setFault("file", `alerts cannot be kept: ${(error as Error).message}`);
        this.#log.error({ error }, "alerts cannot be kept");
      })
      .finally(() => {
        this.#saving = undefined;
        const ended = clock.monotonic();
        this.#saveFrom = ended + restOfSave * (ended - began);
      });
  }

  /** Gives rules the history of those before them, or that of their files. */
  async #takeHistory(watches: readonly RuleWatch[], before: readonly RuleWatch[]): Promise<void> {
    let fault: string | undefined;
    for (const { rule, identity, history } of watches) {
      if (history === undefined) continue;
      const last = before.find((each) => each.rule.name === rule.name && each.identity === identity)?.history;
      try {
        if (last !== undefined) history.restore([...last.lines()]);
        else await this.#historyFiles?.read(rule.name, identity, history);
      } catch (error) {
        fault ??= `the history of ${rule.name} cannot be read: ${(error as Error).message}`;
        this.#log.error({ error }, "the history of a rule cannot be read, it begins anew");
      }
    }
    this.#setFault("history", fault);
  }

  /** Writes the history of all rules, one after the other. */
  async #saveHistory(): Promise<void> {
    const files = this.#historyFiles;
    if (files === undefined || this.#historySaving !== undefined) return;
    this.#historyFrom = Infinity;
    const { clock } = this.#around;
    const save = async (): Promise<void> => {
      await this.#historyTaking;
      for (const { rule, identity, history } of this.#rules.watches)
        if (history !== undefined) await files.write(rule.name, identity, history);
      await files.tidy(
        this.#rules.watches.map(({ rule }) => rule.name),
        clock.now(),
      );
    };
    this.#historySaving = save()
      .then(() => this.#setFault("history", undefined))
      .catch((error: unknown) => {
        this.#setFault("history", `what is usual cannot be kept: ${(error as Error).message}`);
        this.#log.error({ error }, "the history of rules cannot be kept");
      })
      .finally(() => {
        this.#historySaving = undefined;
        this.#historyFrom = clock.monotonic() + historyMs;
      });
    await this.#historySaving;
  }

  /** Milliseconds since the epoch by the clock as it was at the start. */
  #now(): number {
    return this.#began + this.#around.clock.monotonic();
  }

  #fault(): string | undefined {
    return this.#faults.answers ?? this.#faults.rules ?? this.#faults.file ?? this.#faults.history;
  }

  #setFault(of: FaultOf, found: string | undefined): void {
    if (this.#faults[of] === found) return;
    this.#faults[of] = found;
    this.#around.onFault(this.#fault());
  }

  #reportMetrics(metrics: Metrics): void {
    metrics.counterFrom("netgloss_watch_broken_lines_total", "Lines about devices that are no records.", [], () => [
      [{}, this.#broken],
    ]);
    metrics.counterFrom(
      "netgloss_watch_history_refused_total",
      "Records of keys for which a rule has no place in its history: SVC_WATCH_MAX_HISTORY.",
      ["rule"],
      () =>
        this.#rules.watches.flatMap(({ rule, history }) =>
          history === undefined ? [] : [[{ rule: rule.name }, history.refused] as const],
        ),
    );
    metrics.counterFrom("netgloss_watch_lines_total", "Records that rules were asked about.", [], () => [
      [{}, this.#lines],
    ]);
    metrics.gaugeFrom("netgloss_watch_alerts", "Alerts by their state.", ["state"], () =>
      (["pending", "firing"] as const).map((state) => [{ state }, this.#book.count(state)]),
    );
    metrics.counterFrom("netgloss_watch_alerts_refused_total", "Alerts that were more than there may be.", [], () => [
      [{}, this.#book.refused],
    ]);
    metrics.gaugeFrom("netgloss_watch_keys", "Keys that are watched, by rule.", ["rule"], () =>
      this.#rules.watches.map(({ rule, keys }) => [{ rule: rule.name }, keys.count]),
    );
    metrics.counterFrom(
      "netgloss_watch_refused_records_total",
      "Records of keys that were more than a rule may watch (SVC_WATCH_MAX_KEYS), and too small to take the place of another.",
      ["rule"],
      () => this.#rules.watches.map(({ rule, keys }) => [{ rule: rule.name }, keys.refused]),
    );
    metrics.counterFrom(
      "netgloss_watch_broken_files_total",
      "Files of alerts and of history that could not be understood and were set aside.",
      [],
      () => [[{}, (this.#file?.setAside ?? 0) + (this.#historyFiles?.setAside ?? 0)]],
    );
    this.#notifier.reportMetrics(metrics);
  }
}

function withSilence(alert: Alert, silences: Silences, now: number): Alert {
  const silence = alert.state === "firing" ? silences.of(alert, now) : undefined;
  return silence === undefined ? alert : { ...alert, silence: { id: silence.id, until: silence.until } };
}

/** An alert of which everybody is told again. */
function toldOf(alert: Alert): Alert {
  const told: { -readonly [Name in keyof Alert]: Alert[Name] } = { ...alert };
  delete told.untold;
  delete told.snoozed;
  return told;
}

/** The kind of a record that is no flow; undefined where no rule is about it. */
function sourceOf(record: Readonly<Record<string, unknown>>): Source | undefined {
  if (record["snmp.trap.oid"] !== undefined) return "trap";
  if (record["snmp.object.name"] !== undefined) return "snmp";
  if (record["output.name"] !== undefined) return "output";
  return record["exporter.datagrams"] === undefined ? undefined : "exporter";
}

function countLines(lines: Uint8Array): number {
  let count = 0;
  for (let at = lines.indexOf(lineFeed); at >= 0; at = lines.indexOf(lineFeed, at + 1)) count++;
  return count;
}
