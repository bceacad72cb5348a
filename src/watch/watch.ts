import { WatchedFile } from "../base/file/index.ts";
import { limitLog, type Log, type Metrics } from "../base/report/index.ts";
import { Alerting, type AlertingSurroundings } from "./alerting.ts";
import type { Alert } from "./alerts.ts";
import {
  AnswerJournal,
  Answers,
  type Answer,
  type AnswerLimits,
  type Attack,
  type Speaker,
  type SpeakerConfig,
} from "./answers/index.ts";
import type { FleetAnswer, FleetRound, FleetSession } from "./fleet-answers.ts";
import { HistoryFiles, HistoryKeeper } from "./history.ts";
import type { ActionStatus, NoticeState } from "./notifier.ts";
import { readReadyRules, type ReadyRule } from "./ready.ts";
import { RuleSet } from "./rule-set.ts";
import type { Source } from "./sources.ts";
import { answersOf, destinationField, parseWatchFile, WatchFileError, type WatchConfig } from "./watch-file.ts";

/** The options of Watch; plain data. */
export interface WatchOptions {
  readonly rulesPath: string;
  /** True where actions may run programs. */
  readonly mayRun: boolean;
  /** The text of the file of ready rules, which comes with the program. */
  readonly readyRules: string;
  /** The directory in which alerts survive a restart. Undefined: they do not survive. */
  readonly directory: string | undefined;
  /** Maximum keys of each rule at a time. */
  readonly maxKeys: number;
  /** Maximum keys in the history of each rule. */
  readonly maxHistory: number;
  readonly answers: AnswerLimits;
  /** True for a collector of a fleet, which shares its alerts. */
  readonly isShared?: boolean;
}

/** The state of a rule, as shown. */
export interface RuleStatus {
  readonly name: string;
  readonly keys: number;
  readonly firing: number;
  /** The number of records whose keys exceeded the limit. */
  readonly refused: number;
  /** A description of how much history it has, where it needs one. */
  readonly history?: string;
  readonly act: readonly string[];
}

export interface WatchStatus {
  /** A fault of the rules file, or of keeping alerts. */
  readonly fault?: string;
  readonly rules: readonly RuleStatus[];
  readonly actions: readonly ActionStatus[];
}

/** An alert with all that is known about it. */
export interface AlertDetails {
  readonly alert: Alert;
  /** The values up to now, one for each step, oldest first. Undefined where it has ended, or its key is no longer watched. */
  readonly recent?: Alert["series"];
  /** The outcome of its notices, by action. */
  readonly notices: readonly NoticeState[];
}

/** Dependencies of Watch: the clock, the disk, and the receivers of its findings. */
export interface WatchSurroundings extends AlertingSurroundings {
  readonly openSpeaker: (config: SpeakerConfig, allowsCommands: boolean) => Promise<Speaker>;
  /** Receives what is wrong, and undefined when that is over. */
  readonly onFault: (fault: string | undefined) => void;
}

const lineFeed = 0x0a;
const judgeMs = 1000;
const pollMs = 1000;

/** The first fault in this order is shown. */
const faultOrder = ["answers", "rules", "file", "history", "fleet"] as const;
type FaultOf = (typeof faultOrder)[number];

/** Watches records by the rules of a file: takes their lines and judges them once a second. */
export class Watch {
  readonly #around: WatchSurroundings;
  readonly #log: Log;
  /** The alerts of its rules, and who gets notices of them. */
  readonly alerting: Alerting;
  readonly #historyFiles: HistoryFiles | undefined;
  readonly #histories: HistoryKeeper;
  readonly #rulesFile: WatchedFile;
  readonly #ready: readonly ReadyRule[];
  readonly #rules: RuleSet;
  #config: WatchConfig = { actions: new Map(), speakers: new Map(), rules: [] };
  readonly answers: Answers;
  #faults: Partial<Record<FaultOf, string | undefined>> = {};
  /** The start, by a clock that runs evenly. Setting the wall clock must look neither like silence nor like a flood. */
  readonly #began: number;
  #lines = 0;
  #broken = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: WatchOptions, around: WatchSurroundings, run: string) {
    const { clock, io } = around;
    const { directory, rulesPath } = options;
    this.#around = around;
    this.#ready = readReadyRules(options.readyRules);
    this.#log = limitLog(around.log, clock);
    this.#began = clock.now() - clock.monotonic();
    this.alerting = new Alerting(options, around, run, this.#log, (fault) => this.#setFault("file", fault));
    this.#historyFiles = directory === undefined ? undefined : new HistoryFiles(directory, io, run);
    this.#histories = new HistoryKeeper(this.#historyFiles, { clock, log: this.#log }, (fault) =>
      this.#setFault("history", fault),
    );
    this.#rules = new RuleSet({ keys: options.maxKeys, history: options.maxHistory });
    const journal = directory === undefined ? undefined : new AnswerJournal(directory, io, run);
    const write = async (answers: readonly Answer[]): Promise<void> => {
      await journal?.write(answers);
      await this.alerting.fleet?.keepAnswers(answers);
    };
    this.answers = new Answers(options.answers, {
      ...around,
      journal: journal && { read: () => journal.read(), write },
      onFault: (fault) => this.#setFault("answers", fault),
    });
    this.#rulesFile = new WatchedFile(
      rulesPath,
      pollMs,
      {
        take: (bytes) =>
          this.#use(parseWatchFile(rulesPath, Buffer.from(bytes).toString("utf8"), this.#ready, options.mayRun)),
        failed: (error) => {
          const detail = error instanceof WatchFileError ? (error.faults[0] ?? "") : (error as Error).message;
          this.#setFault("rules", `${detail}: the rules read before stay`);
          this.#log.error({ error }, "the file of rules cannot be used, the rules read before stay");
        },
      },
      io,
    );
    this.#reportMetrics(around.metrics);
  }

  async start(): Promise<void> {
    await this.alerting.start();
    await this.answers.start();
    await this.#rulesFile.start();
    await this.#histories.ready();
    this.#timer = setInterval(() => this.judge(), judgeMs);
  }

  /** Reads the file of rules again. */
  reload(): Promise<void> {
    return this.#rulesFile.reload(true);
  }

  /** Takes whole lines that stand for this many records, each for equally many. It does not use the lines after it returns. */
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

  /** Returns the kinds of records that rules are about. */
  sources(): readonly Source[] {
    return [...new Set(this.#rules.watches.map(({ rule }) => rule.of))];
  }

  /** Judges all rules. A timer also calls it each second. */
  judge(): void {
    const now = this.#now();
    const ahead = this.#around.clock.now() - now;
    for (const watch of this.#rules.watches) {
      const { rule } = watch;
      const verdicts = watch.judge(now, (key) => this.alerting.isFiring(rule.name, key));
      this.alerting.judge(rule, verdicts, watch, ahead);
    }
    this.alerting.tick();
    this.answers.reconcile(this.#attacks(ahead));
    this.#histories.tick();
  }

  /** Returns the notes for the other collectors of a fleet. Called while this one counts as living. */
  fleetRound(me: FleetSession): FleetRound {
    return this.alerting.fleet?.round(me, this.answers) ?? { since: 0, writes: [] };
  }

  /** Applies the notes of the other collectors; undefined where they were not reached but this one still counts as living. */
  fleetTake(answer: FleetAnswer | undefined): void {
    if (this.alerting.fleetTake(answer, this.answers)) this.#setFault("fleet", undefined);
  }

  /** Switches to working alone while the other collectors are not reached: it sends notices of what it sees itself. @param why a text. */
  goAlone(why = "it is no member"): void {
    this.alerting.fleet?.goAlone();
    this.#setFault("fleet", `alerts are not shared with the fleet, and may be told of twice: ${why}`);
  }

  /** Returns all that is known about an alert; undefined for an unknown id. */
  alert(id: string): AlertDetails | undefined {
    const alert = this.alerting.get(id);
    if (alert === undefined) return undefined;
    const isOpen = alert.state !== "cleared";
    const watch = this.#rules.watches.find(({ rule }) => isOpen && rule.name === alert.rule);
    const values = watch?.series(Object.values(alert.key)) ?? [];
    return {
      alert,
      ...(watch !== undefined && values.length > 0 && { recent: { stepMs: watch.stepMs, values } }),
      notices: this.alerting.notifier.noticesOf(id),
    };
  }

  status(): WatchStatus {
    const fault = this.#fault();
    return {
      ...(fault !== undefined && { fault }),
      rules: this.#rules.watches.map(({ rule: { name, act }, keys, history }) => ({
        name,
        keys: keys.count,
        firing: this.alerting.firing(name).length,
        refused: keys.refused + (history?.refused ?? 0),
        ...(history !== undefined && { history: history.text(this.#now()) }),
        act,
      })),
      actions: this.alerting.notifier.status(),
    };
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#rulesFile.stop();
    this.alerting.fleet?.leave();
    await this.answers.stop();
    await this.alerting.stop();
    await this.#histories.stop();
  }

  /** Puts rules in force. Unchanged rules keep their windows and alerts. */
  #use(config: WatchConfig): void {
    const { clock, log } = this.#around;
    const wall = clock.now();
    const now = this.#now();
    const before = new Set(this.#rules.watches);
    this.#rules.use(config, now);
    this.#histories.use(this.#rules.watches);
    this.#config = config;
    this.alerting.use(config);
    this.answers.use(config.speakers, answersOf(config.actions));
    for (const watch of this.#rules.watches) {
      if (before.has(watch)) continue;
      for (const alert of this.alerting.firing(watch.rule.name))
        watch.resume(Object.values(alert.key), now - (wall - alert.since), now);
    }
    this.#setFault("rules", undefined);
    log.info({ rules: config.rules.length, actions: config.actions.size }, "rules of watch read");
  }

  /** Returns the firing alerts to answer. @param ahead milliseconds by which the wall clock is ahead of the clock of rows. */
  #attacks(ahead: number): readonly Attack[] {
    const answers = answersOf(this.#config.actions);
    if (answers.size === 0) return [];
    return this.#rules.watches.flatMap((watch) => {
      const actions = watch.rule.act.filter((name) => answers.has(name));
      if (actions.length === 0) return [];
      return this.alerting.toAnswer(watch.rule.name).map((alert): Attack => {
        const { id, rule, text, key, firedAt = 0 } = alert;
        const choose = (): ReturnType<Attack["choose"]> => this.#rules.choose(watch, alert, this.#now(), ahead);
        const answered = this.alerting.fleet?.answered(id) ?? [];
        return { alert: id, rule, reason: text, target: key[destinationField], actions, answered, firedAt, choose };
      });
    });
  }

  /** Returns milliseconds since the epoch, by the wall clock at the start plus the time that has passed. */
  #now(): number {
    return this.#began + this.#around.clock.monotonic();
  }

  #fault(): string | undefined {
    return faultOrder.map((of) => this.#faults[of]).find((fault) => fault !== undefined);
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
      () => [[{}, this.alerting.setAside + (this.#historyFiles?.setAside ?? 0)]],
    );
    this.alerting.reportMetrics(metrics);
  }
}

function countLines(lines: Uint8Array): number {
  let count = 0;
  for (let at = lines.indexOf(lineFeed); at >= 0; at = lines.indexOf(lineFeed, at + 1)) count++;
  return count;
}
