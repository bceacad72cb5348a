import { hash } from "node:crypto";
import type { Clock, Metrics } from "../base/report/index.ts";
import { placeOf, type AlertBook } from "./alert-book.ts";
import { againOf, endedAs, noticeOf, withSaid, type Alert, type Notice, type Said } from "./alerts.ts";
import type { Answer } from "./answers/index.ts";
import {
  FleetAnswers,
  type FleetAnswer,
  type FleetRound,
  type FleetSession,
  type Known,
  type OwnAnswers,
} from "./fleet-answers.ts";
import type { Notifier } from "./notifier.ts";
import type { Silence, Silences } from "./silences.ts";

/** The notices of an alert that actions have not taken yet. */
interface Pending {
  readonly notice: Notice;
  readonly actions: readonly string[];
}

/** An alert of the fleet, in the form of its note. */
interface SharedAlert {
  /** The alert, with the id that it has on all collectors. */
  readonly alert: Alert;
  /** The actions of its rule. */
  readonly act: readonly string[];
  /** The collector that sends its notices and answers it. */
  readonly holder: FleetSession;
  /** The collectors for which it fires: sessions by collector name. */
  readonly sees: Readonly<Record<string, string>>;
  /** Time since which all of those are dead, in milliseconds since the epoch. */
  readonly unseenSince?: number;
  readonly pending: readonly Pending[];
}

/** An alert that has ended here. */
interface Ended {
  readonly alert: Alert;
  /** True where receivers had the notice without the fleet. */
  readonly isTold: boolean;
}

/** Dependencies of the alerts of a fleet. */
export interface FleetPorts {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly newId: () => string;
  readonly book: AlertBook;
  readonly silences: Silences;
  readonly notifier: Pick<Notifier, "tell" | "holds" | "takeBack">;
  /** Reports whether the notices of an alert are held back now. */
  readonly isHeld: (alert: Alert) => boolean;
  /** Returns the actions of a rule. */
  readonly actOf: (rule: string) => readonly string[];
  /** Sends notices as a collector without a fleet does. */
  readonly tellAlone: (notices: readonly Notice[]) => void;
  /** Receives each begin and end for which this collector sends notices. */
  readonly onNotice: (notice: Notice) => void;
  /** Called when the state to keep has changed. */
  readonly changed: () => void;
}

/** Maximum number of writes in one round: the renewal of the lease waits for its end. */
const writesAtOnce = 300;
/** Time for which an alert goes on after all of its collectors died. Other collectors may receive its traffic, or the dead ones come back. */
const unseenMs = 5 * 60_000;

function keyOf(place: string): string {
  return `alert/${hash("sha256", place, "hex").slice(0, 40)}`;
}

/**
 * The alerts of a fleet.
 *
 * An alert of one rule and key is one note, which all collectors see. It says for whom the alert fires and which notices are still to be sent.
 *
 * One collector holds the note, sends the notices and answers the alert. When the holder dies, another collector takes the note, with the notices still
 * to be sent.
 *
 * A note replaces a version that its writer has seen. So there is one holder and one begin, however many collectors see the alert at a time.
 *
 * A collector that cannot reach the others goes on alone and sends notices of what it sees itself.
 */
export class FleetAlerts {
  readonly #ports: FleetPorts;
  /** Alerts by rule and key. */
  readonly #alerts = new Map<string, Known<SharedAlert>>();
  readonly #silences = new Map<string, Known<Silence>>();
  readonly #answers: FleetAnswers;
  /** The rule and key of each note. */
  readonly #places = new Map<string, string>();
  #since = 0;
  #isComplete = false;
  #me: FleetSession | undefined;
  #living: ReadonlySet<string> = new Set();
  #isAlone = false;
  /** The alerts, by rule and key, of which it sent notices alone. */
  readonly #toldAlone = new Set<string>();
  readonly #ended = new Map<string, Ended>();
  /** Acknowledgements and snoozes made here, by the id of the alert, until its note has them. */
  readonly #said = new Map<string, Said>();
  /** Silences that began or ended here, until their notes have that. */
  readonly #silenced = new Map<string, Silence>();
  /** Notices that were handed to the actions here. */
  readonly #given = new Set<string>();
  readonly #exchanges = { ok: 0, failed: 0 };

  constructor(ports: FleetPorts) {
    this.#ports = ports;
    this.#answers = new FleetAnswers(ports.clock);
    const { metrics } = ports;
    metrics.gaugeFrom(
      "netgloss_watch_fleet_alerts",
      "Alerts of the fleet, by the collector that sends their notices and answers them: this one or another.",
      ["where"],
      () => {
        const here = this.held().length;
        return [
          [{ where: "here" }, here],
          [{ where: "elsewhere" }, this.firing().length - here],
        ];
      },
    );
    metrics.counterFrom(
      "netgloss_watch_fleet_exchanges_total",
      "Exchanges of alerts with the other collectors of the fleet, by result.",
      ["result"],
      () => Object.entries(this.#exchanges).map(([result, count]) => [{ result }, count]),
    );
  }

  /** True while the others are not reached. It then sends notices of everything that it sees itself. */
  get isAlone(): boolean {
    return this.#isAlone;
  }

  /** Processes the alerts that began or ended here. */
  judged(notices: readonly Notice[]): void {
    for (const { kind, alert } of notices) {
      const place = placeOf(alert);
      if (kind === "firing") this.#ended.delete(place);
      else this.#ended.set(place, { alert, isTold: this.#isAlone });
      if (!this.#isAlone) continue;
      if (kind === "firing") this.#toldAlone.add(place);
      else this.#toldAlone.delete(place);
    }
    if (this.#isAlone) this.#ports.tellAlone(notices);
  }

  /** Returns the notes to write as one of the living collectors. */
  round(me: FleetSession, own: OwnAnswers): FleetRound {
    this.#me = me;
    const mayWrite = this.#isComplete && this.#living.has(me.session);
    return { since: this.#since, writes: mayWrite ? this.#writes(me, own) : [] };
  }

  /** Applies what the others wrote; undefined where they were not reached but this collector still counts as living. */
  take(answer: FleetAnswer | undefined, own: OwnAnswers): void {
    const me = this.#me;
    const isMember = me !== undefined && answer?.living.includes(me.session) === true;
    this.#exchanges[isMember ? "ok" : "failed"]++;
    if (answer === undefined || !isMember) return;
    this.#living = new Set(answer.living);
    for (const note of answer.notes) this.#read(note);
    this.#since = answer.notes.at(-1)?.version ?? this.#since;
    this.#isComplete = answer.isAll;
    if (!this.#isComplete) return;
    this.#isAlone = false;
    this.#adopt();
    for (const { said } of this.#alerts.values()) this.#give(said);
    this.#answers.take(own, me, this.#living);
  }

  /**
   * Switches to working alone: the others are not reached, and this collector no longer counts as living. It sends every notice that may not have been
   * sent.
   */
  goAlone(): void {
    if (this.#isAlone) return;
    this.#isAlone = true;
    this.#answers.goOn();
    const { book, tellAlone } = this.#ports;
    for (const alert of book.firing()) {
      const place = placeOf(alert);
      if (this.#toldAlone.has(place) || this.#open(place) !== undefined) continue;
      this.#toldAlone.add(place);
      tellAlone([noticeOf("firing", alert)]);
    }
    for (const [place, ended] of this.#ended) {
      if (ended.isTold) continue;
      this.#ended.set(place, { ...ended, isTold: true });
      const open = this.#open(place);
      if (open === undefined) tellAlone([noticeOf("firing", ended.alert)]);
      if (open === undefined || this.#isMine(open)) tellAlone([noticeOf("cleared", ended.alert)]);
    }
  }

  /** Takes the answers whose routes may be announced. @returns when the others know the answers to be announced, or cannot know them. */
  async keepAnswers(answers: readonly Answer[]): Promise<void> {
    if (!this.#isAlone) await this.#answers.keep(answers, this.#me);
  }

  /** Returns the actions that must not answer an alert here: others do, or somebody ended an answer by them. */
  answered(alert: string): readonly string[] {
    return this.#answers.answered(alert, this.#me, this.#isAlone);
  }

  /** Ends all waiting for the others. */
  leave(): void {
    this.#answers.leave();
  }

  /** Returns the alerts that fire anywhere in the fleet. */
  firing(): readonly Alert[] {
    return [...this.#alerts.values()].flatMap(({ said }) => (said.alert.state === "firing" ? [said.alert] : []));
  }

  /** Returns the alerts for which this collector sends notices and answers. */
  held(): readonly { readonly alert: Alert; readonly act: readonly string[] }[] {
    return [...this.#alerts.values()].flatMap(({ said }) =>
      said.alert.state === "firing" && this.#isMine(said) ? [said] : [],
    );
  }

  /** Records what somebody noted about an alert. @returns the alert; undefined where the fleet does not have it. */
  say(id: string, said: Said): Alert | undefined {
    const known = this.firing().find((alert) => alert.id === id);
    if (known === undefined) return undefined;
    const all = { ...this.#said.get(id), ...said };
    this.#said.set(id, all);
    return withSaid(known, all);
  }

  /** Records a silence that began or ended here. */
  silenced(silence: Silence): void {
    this.#silenced.set(silence.id, silence);
  }

  /** Reports whether the note of an alert keeps a notice, by its id. The file need not keep it then. */
  keeps(id: string): boolean {
    return this.#given.has(id);
  }

  #isMine({ holder }: SharedAlert): boolean {
    return holder.session === this.#me?.session;
  }

  #open(place: string): SharedAlert | undefined {
    const said = this.#alerts.get(place)?.said;
    return said?.alert.state === "firing" ? said : undefined;
  }

  /** Reports whether it fires for a living collector. */
  #isSeen({ sees }: SharedAlert): boolean {
    return Object.values(sees).some((session) => this.#living.has(session));
  }

  #read({ key, version, text }: FleetAnswer["notes"][number]): void {
    const [kind = "", id = ""] = key.split("/");
    if (kind === "alert") this.#readAlert(key, version, text);
    else if (kind === "answer") this.#answers.read(id, version, text);
    else if (kind === "silence" && text !== undefined) {
      const silence = JSON.parse(text) as Silence;
      this.#silences.set(id, { version, said: silence });
      if (this.#silenced.get(id)?.until === silence.until) this.#silenced.delete(id);
      if (!this.#silenced.has(id)) this.#ports.silences.put(silence);
    } else if (kind === "silence") this.#silences.delete(id);
  }

  #readAlert(key: string, version: number, text: string | undefined): void {
    const before = this.#places.get(key);
    const was = before === undefined ? undefined : this.#open(before);
    const { book, clock, changed } = this.#ports;
    const pending = (before === undefined ? undefined : this.#alerts.get(before)?.said.pending) ?? [];
    if (text === undefined) {
      for (const { notice } of pending) this.#given.delete(notice.id);
      // For a note that came and went between two exchanges, the place is unknown.
      const isOver = (place: string): boolean => (before === undefined ? keyOf(place) === key : place === before);
      for (const place of this.#ended.keys()) if (isOver(place)) this.#ended.delete(place);
      if (was !== undefined) book.keepEnded({ ...was.alert, state: "cleared", clearedAt: clock.now() });
      if (before !== undefined) this.#alerts.delete(before);
      this.#places.delete(key);
      return;
    }
    const said = JSON.parse(text) as SharedAlert;
    const { alert } = said;
    const place = placeOf(alert);
    this.#places.set(key, place);
    this.#alerts.set(place, { version, said });
    const mine = this.#said.get(alert.id);
    if (mine !== undefined && (alert.state === "cleared" || withSaid(alert, mine) === alert))
      this.#said.delete(alert.id);
    if (alert.state === "cleared") book.keepEnded(alert);
    if (this.#ended.get(place)?.alert.id === alert.id && alert.state === "cleared") this.#ended.delete(place);
    const left = new Set(said.pending.map(({ notice }) => notice.id));
    for (const { notice } of pending) if (!left.has(notice.id)) this.#given.delete(notice.id);
    // Another collector sends them now.
    if (!this.#isMine(said))
      for (const { notice, actions } of said.pending)
        if (this.#given.delete(notice.id)) this.#ports.notifier.takeBack(actions, notice.id);
    changed();
  }

  /** Gives alerts here the ids of those of the fleet, and what people noted there. */
  #adopt(): void {
    for (const [place, { said }] of this.#alerts) {
      if (said.alert.state === "firing") this.#ports.book.adopt(place, this.#withSaid(said).alert);
      this.#toldAlone.delete(place);
    }
  }

  /** Hands the notices of an alert to the actions, where this collector holds it. */
  #give(said: SharedAlert): void {
    if (!this.#isMine(said)) return;
    for (const { notice, actions } of said.pending) {
      if (this.#given.has(notice.id)) continue;
      this.#given.add(notice.id);
      this.#ports.onNotice(notice);
      this.#ports.notifier.tell(actions, notice);
    }
  }

  #writes(me: FleetSession, own: OwnAnswers): FleetRound["writes"] {
    const holding = new Map(this.firing().map(({ id }) => [id, false]));
    for (const { alert } of this.held()) holding.set(alert.id, true);
    // Answers come first, because their announcements wait for the write.
    const writes = this.#answers.writes(own, me, this.#living, holding);
    const write = (key: string, after: number, said: unknown): void =>
      void writes.push({ key, after, text: said === undefined ? undefined : JSON.stringify(said) });
    const now = this.#ports.clock.now();
    for (const [id, silence] of this.#silenced) write(`silence/${id}`, this.#silences.get(id)?.version ?? 0, silence);
    for (const silence of this.#ports.silences.list())
      if (silence.until > now && !this.#silences.has(silence.id) && !this.#silenced.has(silence.id))
        write(`silence/${silence.id}`, 0, silence);
    for (const [id, { version, said }] of this.#silences)
      if (!this.#ports.silences.has(id) && said.until < now) write(`silence/${id}`, version, undefined);
    const firing = new Map(this.#ports.book.firing().map((alert) => [placeOf(alert), alert]));
    for (const place of new Set([...this.#alerts.keys(), ...firing.keys(), ...this.#ended.keys()])) {
      if (writes.length >= writesAtOnce) break;
      const known = this.#alerts.get(place);
      const next = this.#next(place, known?.said, firing.get(place), me);
      if (next !== known?.said) write(keyOf(place), known?.version ?? 0, next);
    }
    return writes;
  }

  /** Returns the next note of an alert; undefined where the note is to be removed. @param local the alert, where it fires here. */
  #next(
    place: string,
    said: SharedAlert | undefined,
    local: Alert | undefined,
    me: FleetSession,
  ): SharedAlert | undefined {
    const ended = this.#ended.get(place);
    if (said === undefined || said.alert.state === "cleared") {
      if (local !== undefined) return this.#begun(place, said, local, me);
      // It began and ended while the others were not reached.
      if (ended?.isTold === false)
        return this.#over(this.#begun(place, said, { ...ended.alert, state: "firing" }, me), ended);
      this.#ended.delete(place);
      return said && this.#settled(this.#taken(said, me, false));
    }
    if (said.sees[me.name] !== me.session) this.#ended.delete(place);
    let next = this.#seen(said, local !== undefined, me);
    next = this.#taken(next, me, local !== undefined);
    next = this.#withSaid(next);
    // It ended for the last living collector. What dead ones saw is unknown.
    const isLast = said.sees[me.name] === me.session && next.sees[me.name] === undefined;
    if (isLast && !this.#isSeen(next)) return this.#over(next, ended);
    if (!this.#isMine(next)) return next;
    return this.#settled(this.#again(this.#unseen(next, ended)));
  }

  #begun(place: string, before: SharedAlert | undefined, local: Alert, me: FleetSession): SharedAlert {
    // The earlier alert has ended under its id.
    const id = before?.alert.id === local.id ? this.#ports.newId() : local.id;
    const isTold = this.#toldAlone.has(place);
    const isHeld = local.untold === true || (!isTold && this.#ports.isHeld(local));
    const alert: Alert = { ...local, id, ...(isHeld && { untold: true }) };
    const act = this.#ports.actOf(local.rule);
    const began = isTold ? [] : [{ notice: noticeOf("firing", alert), actions: isHeld ? [] : act }];
    const isHeldByOther = before !== undefined && this.#living.has(before.holder.session);
    const holder = isHeldByOther ? before.holder : { name: me.name, session: me.session };
    const sees = { [me.name]: me.session };
    return { alert, act, holder, sees, pending: [...(before?.pending ?? []), ...began] };
  }

  /** Adds this collector to those for which the alert fires, or removes it. */
  #seen(said: SharedAlert, fires: boolean, { name, session }: FleetSession): SharedAlert {
    const { [name]: mine, ...others } = said.sees;
    if (fires === (mine === session) || (!fires && mine === undefined)) return said;
    if (fires) return { ...said, sees: { ...others, [name]: session } };
    // An earlier run of this collector saw it. What this run sees is not known yet.
    return mine === session ? { ...said, sees: others } : said;
  }

  /** Takes an alert whose holder is dead. Collectors for which it fires come first, because they have its evidence. */
  #taken(said: SharedAlert, me: FleetSession, fires: boolean): SharedAlert {
    if (this.#living.has(said.holder.session)) return said;
    const isSeen = said.alert.state === "firing" && this.#isSeen(said);
    return fires || !isSeen ? { ...said, holder: { name: me.name, session: me.session } } : said;
  }

  #withSaid(said: SharedAlert): SharedAlert {
    const mine = this.#said.get(said.alert.id);
    const alert = mine === undefined ? said.alert : withSaid(said.alert, mine);
    return alert === said.alert ? said : { ...said, alert };
  }

  /** Ends an alert that no living collector has seen for long. */
  #unseen(said: SharedAlert, ended: Ended | undefined): SharedAlert {
    const now = this.#ports.clock.now();
    const { unseenSince, ...rest } = said;
    if (this.#isSeen(said)) return unseenSince === undefined ? said : rest;
    if (unseenSince === undefined) return { ...said, unseenSince: now };
    return now - unseenSince < unseenMs ? said : this.#over(said, ended, "the collectors that saw it are gone");
  }

  /** Adds a further notice when a silence or snooze has ended. */
  #again(said: SharedAlert): SharedAlert {
    const { alert, act, pending } = said;
    const { clock, isHeld } = this.#ports;
    const notice = alert.state === "cleared" ? undefined : againOf(alert, clock.now(), isHeld);
    if (notice === undefined) return said;
    return { ...said, alert: notice.alert, pending: [...pending, { notice, actions: act }] };
  }

  #over(said: SharedAlert, ended: Ended | undefined, because?: string): SharedAlert {
    const alert = endedAs(said.alert, ended?.alert, this.#ports.clock.now(), because);
    const isTold = alert.untold === true || ended?.isTold === true;
    const end = { notice: noticeOf("cleared", alert), actions: isTold ? [] : said.act };
    return { ...said, alert, sees: {}, pending: [...said.pending, end] };
  }

  /** Removes the notices that actions have taken. Returns undefined when the alert is over and all notices are sent. */
  #settled(said: SharedAlert): SharedAlert | undefined {
    if (!this.#isMine(said) || (said.pending.length === 0 && said.alert.state === "firing")) return said;
    const { notifier } = this.#ports;
    const left = said.pending.flatMap(({ notice, actions }): Pending[] => {
      if (!this.#given.has(notice.id)) return [{ notice, actions }];
      const waiting = actions.filter((action) => notifier.holds(action, notice.id));
      return waiting.length === 0 ? [] : [{ notice, actions: waiting }];
    });
    if (left.length === 0 && said.alert.state === "cleared") return undefined;
    const count = (all: readonly Pending[]): number => all.reduce((sum, { actions }) => sum + 1 + actions.length, 0);
    return count(left) === count(said.pending) ? said : { ...said, pending: left };
  }
}
