import {
  briefOf,
  noticeOf,
  oneLine,
  resumedOf,
  type Alert,
  type AlertEvent,
  type AlertFilter,
  type BriefAlert,
  type Notice,
} from "./alerts.ts";
import type { Top } from "./close-look.ts";
import type { Verdict } from "./rule-watch.ts";
import type { Rule } from "./rule.ts";

/** The source of the evidence of a key. */
export interface Evidence {
  top(key: readonly string[]): Top;
  series(key: readonly string[]): readonly number[];
  readonly stepMs: number;
}

/** The alerts to show, and their number by state. */
export type AlertList = ReturnType<AlertBook["list"]>;

/** The alerts to show, where the evidence may be left out. */
export type FoundAlerts = Omit<AlertList, "alerts"> & { readonly alerts: readonly (BriefAlert & Partial<Alert>)[] };

/** Maximum number of alerts that have not ended. A second limit applies to ended alerts, which are kept for people to read. */
const maxAlerts = 10_000;
const maxCleared = 1000;
/** Each alert has several kilobytes of evidence, and pages poll the list. */
const maxShown = 1000;
const all: AlertFilter = () => true;

/** Returns the unit of what a rule measures. */
function unitOf({ measure, when }: Rule): string {
  if (when.kind === "silent") return "seconds";
  if (when.kind === "new") return "";
  switch (measure.kind) {
    case "distinct":
      return `different ${measure.column.field}`;
    case "changes":
      return `changes of ${measure.column.field}`;
    case "value":
      return measure.column.field;
    case "rate":
      return `${measure.column.field}/s`;
    case "share":
    case "utilisation":
      return "%";
    case "records":
    case "beats":
      return measure.kind;
    case "bits":
    case "packets":
    case "flows":
      break;
  }
  return `${measure.kind}/s`;
}

/** The alerts of all rules: those that begin, go on and have ended. */
export class AlertBook {
  readonly #newId: () => string;
  /** Open alerts by rule and key. */
  readonly #open = new Map<string, Alert>();
  /** The place of each alert, by its id. */
  readonly #places = new Map<string, string>();
  #cleared: Alert[] = [];
  /** The number of alerts for which there was no room. */
  refused = 0;

  /** @param newId returns an id that no other alert has. */
  constructor(newId: () => string) {
    this.#newId = newId;
  }

  /** Restores the alerts of an earlier run. */
  restore(alerts: readonly Alert[]): void {
    for (const alert of alerts) {
      if (alert.state === "cleared") this.#cleared.push(alert);
      else if (alert.state === "firing") this.#put(placeOf(alert), alert);
    }
  }

  /** Returns the alerts to keep over a restart. */
  kept(): readonly Alert[] {
    return [...this.firing(), ...this.#cleared];
  }

  /**
   * Returns the number of alerts by state, and the first of them: firing, then pending, then ended, each newest first.
   *
   * @param elsewhere alerts that fire for other collectors, and may fire here as well.
   */
  list(elsewhere: readonly Alert[] = [], passes: AlertFilter = all, limit = maxShown) {
    const open = [...this.#open.values()];
    const pending = open.filter(({ state }) => state === "pending");
    const newest = (a: Alert, b: Alert): number => (b.clearedAt ?? b.since) - (a.clearedAt ?? a.since);
    const here = this.firing();
    const ids = new Set(here.map(({ id }) => id));
    const firing = [...here, ...elsewhere.filter(({ id }) => !ids.has(id))];
    const firingIds = new Set(firing.map(({ id }) => id));
    const cleared = this.#cleared.filter(({ id }) => !firingIds.has(id));
    const found = [firing, pending, cleared].map((some) => some.filter(passes));
    return {
      firing: firing.length,
      pending: pending.length,
      cleared: cleared.length,
      matched: found.reduce((sum, { length }) => sum + length, 0),
      alerts: found.flatMap((some) => some.toSorted(newest)).slice(0, Math.min(limit, maxShown)),
    };
  }

  /** Returns the alerts that have not ended. */
  open(): Iterable<Alert> {
    return this.#open.values();
  }

  /** Returns the alert with an id, even if it has ended. */
  find(id: string): Alert | undefined {
    return this.change(id, (alert) => alert);
  }

  /** Returns the number of alerts in a state. */
  count(state: "pending" | "firing"): number {
    let count = 0;
    for (const alert of this.#open.values()) if (alert.state === state) count++;
    return count;
  }

  /** Returns the firing alerts of a rule, or of all rules. */
  firing(rule?: string): readonly Alert[] {
    return [...this.#open.values()].filter(
      (alert) => alert.state === "firing" && (rule === undefined || alert.rule === rule),
    );
  }

  isFiring(rule: string, key: readonly string[]): boolean {
    return this.#open.get(placeOfKey(rule, key))?.state === "firing";
  }

  /**
   * Applies all verdicts of one judgement of a rule.
   *
   * @param ahead milliseconds by which the wall clock is ahead of the clock of verdicts.
   * @returns the alerts that began or ended.
   */
  judge(rule: Rule, verdicts: Iterable<Verdict>, evidence: Evidence, now: number, ahead: number): Notice[] {
    const notices: Notice[] = [];
    const pending = new Set<string>();
    for (const verdict of verdicts) {
      const place = placeOfKey(rule.name, verdict.key);
      const known = this.#open.get(place);
      if (known === undefined && this.#open.size >= maxAlerts) {
        if (verdict.state === "firing") this.refused++;
        continue;
      }
      if (verdict.state === "pending") pending.add(place);
      const alert = goesOn(known, verdict, evidence) ?? this.#alertOf(rule, verdict, known, evidence, now, ahead);
      if (alert.state === "cleared") {
        this.#drop(place, alert);
        this.#keep(alert);
        notices.push(noticeOf("cleared", alert));
      } else {
        this.#put(place, alert);
        if (alert.state === "firing" && known?.state !== "firing") notices.push(noticeOf("firing", alert));
      }
    }
    for (const [place, alert] of this.#open)
      if (alert.rule === rule.name && alert.state === "pending" && !pending.has(place)) this.#drop(place, alert);
    return notices;
  }

  /** Ends the alerts of rules that no longer exist. */
  end(isThere: (rule: string) => boolean, because: string, now: number): Notice[] {
    const notices: Notice[] = [];
    for (const [place, alert] of this.#open) {
      if (isThere(alert.rule)) continue;
      this.#drop(place, alert);
      if (alert.state !== "firing") continue;
      const ended: Alert = { ...alert, state: "cleared", clearedAt: now, because };
      this.#keep(ended);
      notices.push(noticeOf("cleared", ended));
    }
    return notices;
  }

  /** Changes what people noted about an alert that has not ended. @returns the alert, unchanged where it has ended; undefined for an unknown id. */
  change(id: string, changed: (alert: Alert) => Alert): Alert | undefined {
    const place = this.#places.get(id);
    const alert = place === undefined ? undefined : this.#open.get(place);
    if (place === undefined || alert === undefined) return this.#cleared.find((each) => each.id === id);
    const after = changed(alert);
    this.#open.set(place, after);
    return after;
  }

  /** Gives a firing alert the id that it has elsewhere, and what people noted about it there. */
  adopt(place: string, { id, acknowledged, snoozed, untold }: Alert): void {
    const known = this.#open.get(place);
    if (known?.state !== "firing") return;
    const isSaid = acknowledged === undefined || known.acknowledged !== undefined;
    if (known.id === id && isSaid && known.snoozed === snoozed && known.untold === untold) return;
    this.#drop(place, known);
    this.#put(place, {
      ...resumedOf(known),
      id,
      ...(acknowledged && { acknowledged }),
      ...(snoozed && { snoozed }),
      ...(untold && { untold }),
    });
  }

  /** Keeps an alert that ended elsewhere. */
  keepEnded(alert: Alert): void {
    this.#cleared = this.#cleared.filter(({ id }) => id !== alert.id);
    this.#keep(alert);
  }

  #alertOf(
    rule: Rule,
    verdict: Verdict,
    known: Alert | undefined,
    evidence: Evidence,
    now: number,
    ahead: number,
  ): Alert {
    const { key, value, since, note = known?.note } = verdict;
    const limit = known?.firedAt === undefined ? verdict.limit : known.limit;
    const isNew = known?.firedAt === undefined && verdict.state === "firing";
    const state = verdict.state === "clear" ? "cleared" : verdict.state;
    const top = state === "cleared" ? (known?.top ?? {}) : evidence.top(key);
    const begun = {
      id: known?.id ?? this.#newId(),
      rule: rule.name,
      key: Object.fromEntries(rule.by.map(({ field }, i) => [field, key[i] ?? ""])),
      since: known?.firedAt === undefined ? Math.round(since + ahead) : known.since,
      peak: Math.max(known?.peak ?? -Infinity, verdict.peak, value),
      unit: unitOf(rule),
      top: Object.keys(top).length > 0 ? top : (known?.top ?? {}),
      series: isNew || known === undefined ? { stepMs: evidence.stepMs, values: evidence.series(key) } : known.series,
      ...(Number.isFinite(limit) && { limit: limit as number }),
      ...(note !== undefined && { note }),
      ...(known?.acknowledged && { acknowledged: known.acknowledged }),
      ...(known?.snoozed && { snoozed: known.snoozed }),
      ...(known?.untold && { untold: known.untold }),
    };
    const firedAt = known?.firedAt ?? (isNew ? now : undefined);
    const alert = {
      ...begun,
      state,
      value,
      ...(firedAt !== undefined && { firedAt }),
      ...(state === "cleared" && { clearedAt: now }),
    } as const;
    return {
      ...alert,
      text: known?.firedAt === undefined || known.text === "" ? say(rule, alert, verdict.limit) : known.text,
    };
  }

  #put(place: string, alert: Alert): void {
    this.#open.set(place, alert);
    this.#places.set(alert.id, place);
  }

  #drop(place: string, { id }: Alert): void {
    this.#open.delete(place);
    this.#places.delete(id);
  }

  #keep(alert: Alert): void {
    this.#cleared.push(alert);
    if (this.#cleared.length > maxCleared) this.#cleared = this.#cleared.slice(-maxCleared);
  }
}

/** Returns the updated alert where it only fires on, which is the usual case each second. Undefined where more has to be done. */
function goesOn(known: Alert | undefined, verdict: Verdict, evidence: Evidence): Alert | undefined {
  if (known?.state !== "firing" || verdict.state !== "firing") return undefined;
  const { key, value, note = known.note } = verdict;
  const peak = Math.max(known.peak, verdict.peak, value);
  const found = evidence.top(key);
  const top = Object.keys(found).length > 0 ? found : known.top;
  if (value === known.value && peak === known.peak && top === known.top && note === known.note) return known;
  return { ...known, value, peak, top, ...(note !== undefined && { note }) };
}

function placeOfKey(rule: string, key: readonly string[]): string {
  return [rule, ...key].join("\0");
}

/** Returns the rule and key of an alert as one text. */
export function placeOf({ rule, key }: Alert): string {
  return placeOfKey(rule, Object.values(key));
}

/** Returns the text of an alert by the template of its rule. An unknown value becomes a question mark. */
function say({ say: template, when }: Rule, alert: Omit<Alert, "text">, compared = 0): string {
  const limit =
    when.kind === "compare"
      ? amountText(compared, alert.unit)
      : `${(when.kind === "silent" ? when.forMs : when.afterMs) / 1000} s`;
  const known: Readonly<Record<string, string>> = {
    rule: alert.rule,
    key: Object.values(alert.key).join(", ") || "all traffic",
    value: amountText(Math.max(alert.value, alert.unit === "seconds" ? 0 : alert.peak), alert.unit),
    limit,
    ...alert.key,
  };
  return template.replaceAll(/\{\{ ?([\w.]{1,100}) ?\}\}/g, (_, name: string) => {
    const top = name.startsWith("top.") ? alert.top[name.slice(4)]?.[0]?.value : undefined;
    return oneLine(top ?? (Object.hasOwn(known, name) ? known[name] : undefined) ?? "?");
  });
}

/** Returns a text such as `512.3 Mbits/s`. */
function amountText(value: number, unit: string): string {
  const power = Math.min(4, Math.max(0, Math.floor(Math.log10(Math.max(1, Math.abs(value))) / 3)));
  const shown = Number((value / 1000 ** power).toPrecision(4));
  return `${shown} ${["", "k", "M", "G", "T"][power] ?? ""}${unit}`;
}

/** The state of an alert when it was last reported. */
interface Reported {
  readonly alert: Alert;
  readonly silence: Alert["silence"];
}

/** Finds what happened to alerts since the last call. */
export class AlertNews {
  readonly #silenceOf: (alert: Alert) => Alert["silence"];
  #reported = new Map<string, Reported>();
  #inForce = "";

  /** @param silenceOf returns the silence that an alert has now. */
  constructor(silenceOf: (alert: Alert) => Alert["silence"]) {
    this.#silenceOf = silenceOf;
  }

  /**
   * Compares all alerts with their state at the last call. It asks for the silence of an alert when the alert begins to fire, and when other silences
   * are in force than before.
   *
   * @param open the alerts that have not ended.
   * @param get returns the alert with an id, even if it has ended.
   * @param inForce a text that differs when other silences are in force.
   */
  take(
    open: Iterable<Alert>,
    get: (id: string) => Alert | undefined,
    inForce: string,
    now: number,
  ): readonly AlertEvent[] {
    const reported = new Map<string, Reported>();
    const events: AlertEvent[] = [];
    const isSame = inForce === this.#inForce;
    this.#inForce = inForce;
    for (const alert of open) {
      const before = this.#reported.get(alert.id);
      const isAsked = !isSame || before?.alert.state !== alert.state;
      const silence = isAsked ? this.#silenceOf(alert) : before.silence;
      reported.set(alert.id, { alert, silence });
      if (before?.alert === alert && before.silence === silence) continue;
      const brief = { ...briefOf(alert), ...(silence !== undefined && { silence }) };
      for (const change of changesOf(before, alert, silence)) events.push({ at: now, change, alert: brief });
    }
    for (const [id, { alert }] of this.#reported) {
      if (reported.has(id)) continue;
      const ended = get(id);
      events.push({ at: now, change: ended === undefined ? "gone" : "cleared", alert: briefOf(ended ?? alert) });
    }
    this.#reported = reported;
    return events;
  }
}

function changesOf(
  before: Reported | undefined,
  alert: Alert,
  silence: Alert["silence"],
): readonly AlertEvent["change"][] {
  const changes: AlertEvent["change"][] = [];
  if (before?.alert.state !== alert.state) changes.push(alert.state);
  if (alert.acknowledged !== undefined && before?.alert.acknowledged === undefined) changes.push("acknowledged");
  const snoozed = before?.alert.snoozed;
  if (alert.snoozed !== undefined && alert.snoozed.until !== snoozed?.until) changes.push("snoozed");
  if (silence !== undefined && silence.id !== before?.silence?.id) changes.push("silenced");
  const isOver = before?.silence !== undefined && silence === undefined;
  if (isOver || (snoozed !== undefined && alert.snoozed === undefined)) changes.push("resumed");
  return changes;
}
