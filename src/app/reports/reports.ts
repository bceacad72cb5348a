import { setTimeout as pause } from "node:timers/promises";
import {
  limitLog,
  within,
  type Clock,
  type Component,
  type Counter,
  type Health,
  type Log,
  type Reporting,
} from "../../base/report/index.ts";
import { quote } from "../../base/text/index.ts";
import {
  apiError,
  suffices,
  type Report,
  type ReportPreview,
  type ReportRun,
  type ReportsAnswer,
  type ViewUser,
} from "../../server/index.ts";
import type { Letter } from "../../watch/index.ts";
import { NotKept, type KeptState } from "../views/kept-state.ts";
import { fieldsOf, wrong, type SavedState } from "../views/saved-items.ts";
import { ReportFault, type ReportLetters, type ReportMatter } from "./report-letter.ts";
import { isOf, keptRuns, rangeOf, runOf, shownRun, tagOf, timeText, type ReportRuns, type Run } from "./report-runs.ts";
import { readSchedule, scheduleWords, ZoneClock } from "./schedule.ts";

const mostShown = 20;
/** Limits of letters, which are in memory until they are sent. */
const mostUnderWay = 30;
const mostWaiting = 10;
const dayMs = 86_400_000;
const tickMs = 2000;
const retryMs = 30_000;
/** The retry interval of a note. Others wait for it: {@link KeptState.patienceMs}. */
const noteMs = 1000;
/** The time for which a collector that cannot make or send reports leaves them to others of its fleet. After that it reports what is missing. */
const othersMs = 600_000;
const stopMs = 3000;

interface Due {
  readonly changedAt: string;
  readonly looked: number;
  /** The next time; Infinity: it is never due. */
  readonly at: number;
  /** The reason why the report is never due. */
  readonly fault?: string;
}

/** The input of a report, apart from its time range. */
type Sent = Pick<ReportMatter, "report" | "board" | "views">;

/** The sender of letters. */
interface Post {
  letterActions(): Promise<readonly string[] | undefined>;
  /** Posts a letter. @returns why it was given up; undefined: it was sent. @throws Error where it can be posted again. */
  post(posted: { readonly action: string; readonly letter: Letter }): Promise<string | undefined>;
  takeBack(id: string): void;
}

/**
 * Sends boards at set times. A run is noted before anything of it is sent, and each action that took it is noted after. After a crash,
 * letters not noted as sent are sent again, under the same id. One collector has a run; another one takes it over when that one is dead.
 */
export class Reports implements Component {
  readonly name = "reports";
  readonly #runs: KeptState<ReportRuns>;
  readonly #saved: () => SavedState;
  readonly #letters: ReportLetters;
  readonly #post: Post | undefined;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #health: Health;
  readonly #counted: Counter;
  readonly #stopping = new AbortController();
  /** Runs that are being made or sent here. */
  readonly #underWay = new Map<string, Promise<void>>();
  /** The time of the next try of a run, by its id and the monotonic clock. */
  readonly #notBefore = new Map<string, number>();
  /** The time when a run's collector was first found dead, by run and session, on the monotonic clock. */
  readonly #leftSince = new Map<string, number>();
  /** The next time of a report, by its id. */
  readonly #next = new Map<string, Due>();
  #session: string | undefined;
  #previews = 0;
  /** The last report being made. They are made in turn: each asks Explore as many questions as its board has views. */
  #making: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #ticking: Promise<void> = Promise.resolve();

  /** @param post undefined: there is no file of rules, which has the actions. */
  constructor(
    runs: KeptState<ReportRuns>,
    saved: () => SavedState,
    letters: ReportLetters,
    post: Post | undefined,
    { clock, log, health, metrics }: Reporting,
  ) {
    this.#runs = runs;
    this.#saved = saved;
    this.#letters = letters;
    this.#post = post;
    this.#clock = clock;
    this.#log = limitLog(log, clock);
    this.#health = health;
    this.#counted = metrics.counter("netgloss_reports_total", "Reports, by what became of them.", {
      outcome: ["sent", "failed"],
    });
    metrics.gaugeFrom("netgloss_reports_waiting", "Reports that are due and not sent yet.", [], () => [
      [{}, runs.now().filter(({ state }) => state === "waiting").length],
    ]);
  }

  async start(): Promise<void> {
    this.#timer = setInterval(() => {
      this.#followLease();
      this.#ticking = this.#ticking.then(() => this.tick());
    }, tickMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort();
    for (const id of this.#underWay.keys()) this.#post?.takeBack(id);
    await within(Promise.all([this.#ticking, ...this.#underWay.values()]), stopMs, undefined);
  }

  /** Notes due reports, and continues the runs of this collector; it is called automatically. */
  async tick(): Promise<void> {
    const session = this.#followLease();
    if (session === undefined) return;
    try {
      await this.#note(session);
    } catch (error) {
      this.#next.clear();
      this.#log.warn({ error }, "reports that are due cannot be noted");
    }
    const now = this.#clock.monotonic();
    for (const run of this.#runs.now()) {
      const isMine = run.state === "waiting" && run.holder === session && !this.#underWay.has(run.id);
      if (this.#underWay.size >= mostUnderWay) break;
      if (!isMine || (this.#notBefore.get(run.id) ?? 0) > now) continue;
      const work = this.#work(run).finally(() => this.#underWay.delete(run.id));
      this.#underWay.set(run.id, work);
    }
    this.#tellHealth();
  }

  async status({ role }: ViewUser): Promise<ReportsAnswer> {
    const state = this.#saved();
    const runs = this.#runs.now();
    const reports = [...state.report.values()].filter((report) => suffices(role, report.role));
    return {
      actions: (await this.#post?.letterActions()) ?? [],
      reports: reports
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
        .map((report) => {
          const { id, name, board, schedule, zone, paused } = report;
          const fault = faultOf(report);
          const next = paused || fault !== undefined ? undefined : timeText(nextOf(report, this.#clock.now()));
          const own = runs
            .filter((run) => run.report === id)
            .slice(0, mostShown)
            .map(shownRun);
          return { id, name, board, schedule, zone, paused, next, fault, runs: own };
        }),
    };
  }

  async send(body: unknown, who: ViewUser): Promise<ReportRun> {
    const { report } = this.#find(body, who);
    const due = this.#clock.now();
    const holder = this.#runs.session();
    const noMember = apiError("unavailable", "NOT_A_MEMBER", "this collector is not a member of its fleet at present");
    if (holder === undefined) throw noMember;
    if (!this.#isAble) {
      const lack = "this collector has no file of rules with actions, or keeps no records, and can send no reports";
      throw apiError("failed_precondition", "CANNOT_SEND", lack);
    }
    const run: Run = { ...runOf(report, due, holder), id: `${report.id}-now-${due}-${tagOf(holder)}`, by: who.name };
    try {
      await this.#runs.change((runs, isAlive) => {
        if (!isAlive(holder)) throw noMember;
        const waiting = runs.filter(({ state, report: of }) => state === "waiting" && of === report.id);
        if (waiting.length >= mostWaiting)
          throw apiError("resource_exhausted", "TOO_MANY_RUNS", `${mostWaiting} of this report wait already`);
        return keptRuns([run, ...runs.filter(({ id }) => id !== run.id)], this.#saved(), due);
      });
    } catch (error) {
      if ((error as { code?: unknown }).code !== undefined) throw error;
      const what =
        error instanceof NotKept && error.isUnsure
          ? "the answer of the database was lost, look whether it is sent"
          : "it could not be noted, and is not sent";
      throw apiError("unavailable", "NOT_SAVED", `${what}: ${(error as Error).message}`);
    }
    return shownRun(run);
  }

  async preview(body: unknown, who: ViewUser, hasNames: boolean, signal: AbortSignal): Promise<ReportPreview> {
    const { report, matter } = this.#find(body, who);
    const asked = { ...matter, ...rangeOf(report, this.#clock.now()), hasNames };
    if (this.#previews >= 2)
      throw apiError("resource_exhausted", "TOO_MANY_PREVIEWS", "two reports are being made already");
    this.#previews++;
    try {
      const { id: _, ...letter } = await this.#letters.make(report.id, asked, signal);
      return letter;
    } catch (error) {
      if (error instanceof ReportFault) throw apiError("unavailable", "NO_REPORT", error.message);
      throw error;
    } finally {
      this.#previews--;
    }
  }

  /** Finds the report of a request. @throws ConnectError */
  #find(body: unknown, { role }: ViewUser): { readonly report: Report; readonly matter: Sent } {
    const { id } = fieldsOf(body, "", ["id"]);
    if (typeof id !== "string") throw wrong("id", "id must be the id of a report");
    const report = this.#saved().report.get(id);
    const matter = report && this.#matterOf(report);
    if (
      report === undefined ||
      !suffices(role, report.role) ||
      matter === undefined ||
      !suffices(role, matter.board.role)
    )
      throw apiError("not_found", "UNKNOWN_REPORT", `there is no report ${quote(id)}`);
    if (!isZone(report.zone))
      throw wrong("zone", `the report is by a time zone that is not known: ${quote(report.zone)}`);
    return { report, matter };
  }

  /** @returns undefined where its board has been deleted. */
  #matterOf(report: Report): Sent | undefined {
    const { board: boards, view: views } = this.#saved();
    const board = boards.get(report.board);
    if (board === undefined) return undefined;
    // A user may put a view for a higher role on a board. Do not send it, as the board does not show it.
    const seen = board.views.flatMap((id) => views.get(id) ?? []).filter((view) => suffices(board.role, view.role));
    return { report, board, views: seen };
  }

  /** Reports whether it has the data of reports, and actions that send them. */
  get #isAble(): boolean {
    return this.#post !== undefined && this.#letters.canAsk;
  }

  /** Notes runs of due reports, and takes over those of dead collectors. */
  async #note(session: string): Promise<void> {
    const now = this.#clock.now();
    const { report: reports } = this.#saved();
    const runs = this.#runs.now();
    const mayTake = (at: number): boolean => this.#isAble || now - at >= othersMs;
    const due = [...reports.values()].flatMap((report) => {
      const found = this.#dueOf(report, now);
      if (found === undefined || runs.some(isOf(report, found))) return [];
      if (mayTake(found)) return [{ report, at: found }];
      // It is computed again.
      this.#next.delete(report.id);
      return [];
    });
    const isOther = ({ state, holder, due: at }: Run): boolean =>
      state === "waiting" && holder !== session && mayTake(at);
    const others = new Set(runs.filter(isOther).map(leftKey));
    for (const key of this.#leftSince.keys()) if (!others.has(key)) this.#leftSince.delete(key);
    if (due.length === 0 && others.size === 0) return;
    await this.#runs.change((before, isAlive) => {
      // Another collector would immediately take over this one's runs.
      if (!isAlive(session)) throw new Error("its lease in the fleet has just ended");
      const fresh = due
        .filter(({ report, at }) => !before.some(isOf(report, at)))
        .map(({ report, at }) => runOf(report, at, session));
      const taken = before.map((run) =>
        isOther(run) && !isAlive(run.holder) && this.#isLeft(run) ? { ...run, holder: session } : run,
      );
      const isChanged = fresh.length > 0 || taken.some((run, at) => run !== before[at]);
      return isChanged ? keptRuns([...fresh, ...taken], this.#saved(), now) : before;
    });
  }

  /** Reports whether a run's dead collector has had the time to note what it has sent. */
  #isLeft(run: Run): boolean {
    const now = this.#clock.monotonic();
    const since = this.#leftSince.get(leftKey(run)) ?? now;
    this.#leftSince.set(leftKey(run), since);
    return now - since >= this.#runs.patienceMs;
  }

  /** Takes back waiting letters once the lease is over: another collector may have taken them over. It waits for no database. */
  #followLease(): string | undefined {
    const session = this.#runs.session();
    if (session !== this.#session) for (const id of this.#underWay.keys()) this.#post?.takeBack(id);
    this.#session = session;
    return session;
  }

  /** Makes a report and passes it to its actions. Never throws. */
  async #work(run: Run): Promise<void> {
    const report = this.#saved().report.get(run.report);
    const matter = report && this.#matterOf(report);
    try {
      if (matter === undefined) {
        await this.#end(run, "its report, or the board of it, has gone");
        return;
      }
      const { from, to } = run;
      const make = (): Promise<Letter> =>
        this.#letters.make(run.id, { ...matter, from, to, hasNames: true }, this.#stopping.signal);
      const made = this.#making.then(make);
      this.#making = made.catch(() => undefined);
      const letter = await made;
      if (!this.#has(run)) return;
      const left = run.deliveries.filter(({ sentAt, fault }) => sentAt === undefined && fault === undefined);
      const delivered = await Promise.allSettled(left.map(({ action }) => this.#deliver(run, action, letter)));
      // Retry only when none is under way any more: a letter is never in a queue twice.
      const failed = delivered.find((each) => each.status === "rejected");
      if (failed !== undefined) throw failed.reason;
      await this.#end(run);
    } catch (error) {
      if (this.#stopping.signal.aborted || !this.#has(run)) return;
      const fault = (error as Error).message;
      this.#log.warn({ error, report: run.report }, "a report cannot be sent, it is tried again");
      this.#notBefore.set(run.id, this.#clock.monotonic() + retryMs);
      if (this.#clock.now() - run.due > dayMs) await this.#end(run, `it was tried for a day: ${fault}`).catch(() => {});
      else
        await this.#change(run, (before) => (before.fault === fault ? before : { ...before, fault })).catch(() => {});
    }
  }

  /** Reports whether the lease under which a run was taken still holds, so nobody else can have taken it over. */
  #has({ holder }: Run): boolean {
    return this.#runs.session() === holder;
  }

  /** Delivers a letter by an action. @throws Error where it is to be tried again. */
  async #deliver(run: Run, action: string, letter: Letter): Promise<void> {
    if (this.#post === undefined) throw new Error("there are no actions: SVC_WATCH_RULES_PATH is not set");
    const fault = await this.#post.post({ action, letter });
    const outcome = fault === undefined ? { sentAt: this.#clock.now() } : { fault };
    const note = (): Promise<void> =>
      this.#change(run, (before) => ({
        ...before,
        deliveries: before.deliveries.map((each) => (each.action === action ? { action, ...outcome } : each)),
      }));
    // Repeat the note: a letter sent but not noted would be sent again.
    for (;;) {
      try {
        await note();
        return;
      } catch (error) {
        this.#log.warn({ error, report: run.report }, "it cannot be noted that a report was sent");
        await pause(noteMs, undefined, { signal: this.#stopping.signal });
      }
    }
  }

  /** Ends a run. @param fault why it was not sent at all. */
  async #end(run: Run, fault?: string): Promise<void> {
    const isSent = ({ deliveries }: Run): boolean =>
      fault === undefined && deliveries.every(({ sentAt }) => sentAt !== undefined);
    await this.#change(run, (before) => {
      const { fault: _, ...rest } = before;
      return { ...rest, state: isSent(before) ? "sent" : "failed", ...(fault !== undefined && { fault }) };
    });
    const state = this.#runs.now().find(({ id }) => id === run.id)?.state ?? "failed";
    this.#notBefore.delete(run.id);
    this.#counted.add(1, { outcome: state });
    if (state === "sent") this.#log.info({ report: run.report, run: run.id }, "a report was sent");
    else this.#log.error({ report: run.report, run: run.id, fault }, "a report was not sent to all");
  }

  async #change({ id }: Run, work: (run: Run) => Run): Promise<void> {
    await this.#runs.change((runs) => {
      const next = runs.map((run) => (run.id === id ? work(run) : run));
      return next.some((run, at) => run !== runs[at]) ? next : runs;
    });
  }

  /** Returns the next time of a report, computed only when the report or the clock has changed. */
  #dueOf(report: Report, now: number): number | undefined {
    const { id, changedAt, paused } = report;
    const known = this.#next.get(id);
    const isKnown = known?.changedAt === changedAt && known.looked <= now;
    if (paused || (isKnown && now < known.at)) return undefined;
    const fault = faultOf(report);
    if (fault !== undefined) {
      this.#next.set(id, { changedAt, looked: now, at: Number.POSITIVE_INFINITY, fault });
      this.#log.error({ report: id, fault }, "a report is never due");
      return undefined;
    }
    this.#next.set(id, { changedAt, looked: now, at: nextOf(report, now) });
    return lastDue(report, now);
  }

  #tellHealth(): void {
    const { report: reports } = this.#saved();
    for (const id of this.#next.keys()) if (reports.get(id)?.paused ?? true) this.#next.delete(id);
    const never = [...this.#next].flatMap(([report, { fault }]) => (fault === undefined ? [] : [{ report, fault }]));
    const waiting = this.#runs.now().find(({ state, fault }) => state === "waiting" && fault !== undefined);
    const ill = waiting ?? never[0];
    const detail = ill && `report ${ill.report}: ${ill.fault}`;
    this.#health.set({ name: "reports", ready: true, ...(detail !== undefined && { degraded: true, detail }) });
  }
}

const leftKey = ({ id, holder }: Run): string => `${id} ${holder}`;

/** Returns why a report is never due; undefined: it is. Only a state edited by hand has such reports. */
function faultOf({ schedule, zone, changedAt }: Report): string | undefined {
  if (readSchedule(schedule) === undefined) return `its schedule ${quote(schedule)} cannot be read: ${scheduleWords}`;
  if (!isZone(zone)) return `its time zone ${quote(zone)} is not known`;
  return Number.isNaN(Date.parse(changedAt)) ? "the time of its last change cannot be read" : undefined;
}

function isZone(zone: string): boolean {
  try {
    return ZoneClock.of(zone) !== undefined;
  } catch {
    return false;
  }
}

function nextOf({ schedule, zone }: Report, after: number): number {
  const read = readSchedule(schedule);
  if (read === undefined) throw new RangeError(`no schedule: ${schedule}`);
  return ZoneClock.of(zone).next(read, after);
}

/**
 * Finds the last time within a day at which a report was due: of several missed ones, only the last is sent. A report created or changed
 * since then is not due for earlier times. After a clock is set back, existing runs are found.
 */
function lastDue(report: Report, now: number): number | undefined {
  let found: number | undefined;
  const from = Math.max(Date.parse(report.changedAt), now - dayMs);
  for (let at = nextOf(report, from); at <= now; at = nextOf(report, at)) found = at;
  return found;
}
