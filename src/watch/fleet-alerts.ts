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

/** Notices of an alert that actions have not taken yet. */
interface Pending {
  readonly notice: Notice;
  readonly actions: readonly string[];
}

/** An alert of the fleet, as its note has it. */
interface SharedAlert {
  /** Under the id that it has on all collectors. */
  readonly alert: Alert;
  /** The actions of its rule. */
  readonly act: readonly string[];
  /** Who tells of it, and answers it. */
  readonly holder: FleetSession;
  /** For whom it fires: sessions by the names of collectors. */
  readonly sees: Readonly<Record<string, string>>;
  /** Since when all of those are dead, milliseconds since the epoch. */
  readonly unseenSince?: number;
  readonly pending: readonly Pending[];
}

/** An alert that is over here. */
interface Ended {
  readonly alert: Alert;
  /** Whether receivers were told, without the fleet. */
  readonly isTold: boolean;
}

/** What alerts of a fleet are made with. */
export interface FleetPorts {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly newId: () => string;
  readonly book: AlertBook;
  readonly silences: Silences;
  readonly notifier: Pick<Notifier, "tell" | "holds" | "takeBack">;
  /** Whether nobody is to be told of an alert now. */
  readonly isHeld: (alert: Alert) => boolean;
  /** The actions of a rule. */
  readonly actOf: (rule: string) => readonly string[];
  /** Tells of a notice as a collector without a fleet does. */
  readonly tellAlone: (notices: readonly Notice[]) => void;
  /** Is given each begin and end of which this collector tells. */
  readonly onNotice: (notice: Notice) => void;
  /** Is called when what is to be kept has changed. */
  readonly changed: () => void;
}

/** Writes of one round: the renewal of the lease waits for its end. */
const writesAtOnce = 300;
/** How long an alert goes on whose collectors all died: its traffic comes to others, or they come back. */
const unseenMs = 5 * 60_000;

function keyOf(place: string): string {
  return `alert/${hash("sha256", place, "hex").slice(0, 40)}`;
}

/**
 * The alerts of a fleet. An alert of one rule and key is one note, which all collectors see: for whom it fires, and which notices are still to be
 * sent. One of them holds it: it tells the receivers and answers. When the holder dies, another one takes the note, with what is still to be sent.
 * Notes replace a version that their writer has seen, so there is one holder and one begin, however many collectors see it at a time.
 *
 * Who cannot reach the others goes on alone: it tells of what it sees itself.
 */
export class FleetAlerts {
  readonly #ports: FleetPorts;
  /** By rule and key. */
  readonly #alerts = new Map<string, Known<SharedAlert>>();
  readonly #silences = new Map<string, Known<Silence>>();
  readonly #answers: FleetAnswers;
  /** The rule and key of a note. */
  readonly #places = new Map<string, string>();
  #since = 0;
  #isComplete = false;
  #me: FleetSession | undefined;
  #living: ReadonlySet<string> = new Set();
  #isAlone = false;
  /** Of which it has told alone, by rule and key. */
  readonly #toldAlone = new Set<string>();
  readonly #ended = new Map<string, Ended>();
  /** What people said here of an alert, by its id, until its note says it. */
  readonly #said = new Map<string, Said>();
  /** Silences that were begun or ended here, until their notes say it. */
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

  /** True while the others are not reached: it tells of all that it sees itself. */
  get isAlone(): boolean {
    return this.#isAlone;
  }

  /** Takes what has begun and ended here. */
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

  /** What is to be written, as one of the collectors that live. */
  round(me: FleetSession, own: OwnAnswers): FleetRound {
    this.#me = me;
    const mayWrite = this.#isComplete && this.#living.has(me.session);
    return { since: this.#since, writes: mayWrite ? this.#writes(me, own) : [] };
  }

  /** Takes what the others wrote; undefined: they were not reached, but this collector still counts as living. */
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

  /** The others are not reached, and this collector does not count as living any more: it tells what nobody may have told. */
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

  /** Takes the answers whose routes may be announced. @returns when the others know those that are to be announced, or cannot. */
  async keepAnswers(answers: readonly Answer[]): Promise<void> {
    if (!this.#isAlone) await this.#answers.keep(answers, this.#me);
  }

  /** The actions that are not to answer an alert here: others do, or somebody has ended an answer by them. */
  answered(alert: string): readonly string[] {
    return this.#answers.answered(alert, this.#me, this.#isAlone);
  }

  /** Nobody waits for the others any more. */
  leave(): void {
    this.#answers.leave();
  }

  /** Alerts that fire somewhere in the fleet. */
  firing(): readonly Alert[] {
    return [...this.#alerts.values()].flatMap(({ said }) => (said.alert.state === "firing" ? [said.alert] : []));
  }

  /** Those that this collector tells of, and answers. */
  held(): readonly { readonly alert: Alert; readonly act: readonly string[] }[] {
    return [...this.#alerts.values()].flatMap(({ said }) =>
      said.alert.state === "firing" && this.#isMine(said) ? [said] : [],
    );
  }

  /** Notes what somebody says of an alert. @returns the alert, where the fleet has it; undefined where it has not. */
  say(id: string, said: Said): Alert | undefined {
    const known = this.firing().find((alert) => alert.id === id);
    if (known === undefined) return undefined;
    const all = { ...this.#said.get(id), ...said };
    this.#said.set(id, all);
    return withSaid(known, all);
  }

  /** Notes a silence that was begun or ended here. */
  silenced(silence: Silence): void {
    this.#silenced.set(silence.id, silence);
  }

  /** Tells whether the note of an alert keeps a notice, by its id: then a file need not. */
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

  /** Whether it fires for one that lives. */
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
      // Of a note that came and went between two exchanges the place is not known.
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
    // Another one sends them now.
    if (!this.#isMine(said))
      for (const { notice, actions } of said.pending)
        if (this.#given.delete(notice.id)) this.#ports.notifier.takeBack(actions, notice.id);
    changed();
  }

  /** Gives alerts here the ids, and what people said, of those of the fleet. */
  #adopt(): void {
    for (const [place, { said }] of this.#alerts) {
      if (said.alert.state === "firing") this.#ports.book.adopt(place, this.#withSaid(said).alert);
      this.#toldAlone.delete(place);
    }
  }

  /** Hands the notices of an alert to the actions, where it is held here. */
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
    // Answers first: they wait for it.
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

  /** What the note of an alert is to say; undefined: there is to be none. @param local the alert, where it fires here. */
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
    // Over for the last one that lives: of what the dead saw, nobody knows more.
    const isLast = said.sees[me.name] === me.session && next.sees[me.name] === undefined;
    if (isLast && !this.#isSeen(next)) return this.#over(next, ended);
    if (!this.#isMine(next)) return next;
    return this.#settled(this.#again(this.#unseen(next, ended)));
  }

  #begun(place: string, before: SharedAlert | undefined, local: Alert, me: FleetSession): SharedAlert {
    // What it was before has ended under its id.
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

  /** Adds this collector to those for whom it fires, or takes it away. */
  #seen(said: SharedAlert, fires: boolean, { name, session }: FleetSession): SharedAlert {
    const { [name]: mine, ...others } = said.sees;
    if (fires === (mine === session) || (!fires && mine === undefined)) return said;
    if (fires) return { ...said, sees: { ...others, [name]: session } };
    // An earlier run of this collector saw it: what it does see is not known yet.
    return mine === session ? { ...said, sees: others } : said;
  }

  /** Takes an alert whose holder is dead. Those for whom it fires come first: they know what it is made of. */
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

  /** Ends an alert that nobody living has seen for long. */
  #unseen(said: SharedAlert, ended: Ended | undefined): SharedAlert {
    const now = this.#ports.clock.now();
    const { unseenSince, ...rest } = said;
    if (this.#isSeen(said)) return unseenSince === undefined ? said : rest;
    if (unseenSince === undefined) return { ...said, unseenSince: now };
    return now - unseenSince < unseenMs ? said : this.#over(said, ended, "the collectors that saw it are gone");
  }

  /** Tells again of what was held back, or to be left alone for a time, when that is over. */
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

  /** Without the notices that actions have taken; undefined when it is over, and all is told. */
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
