import type { Top } from "./close-look.ts";

/** An alert of one rule and one key; plain data, as it is shown, kept and sent. */
export interface Alert {
  readonly id: string;
  readonly rule: string;
  /** The fields of the rule's `by` with their values. */
  readonly key: Readonly<Record<string, string>>;
  readonly state: "pending" | "firing" | "cleared";
  /** When what it is about began, milliseconds since the epoch. */
  readonly since: number;
  readonly firedAt?: number;
  readonly clearedAt?: number;
  readonly value: number;
  readonly peak: number;
  /** What the value was compared with when it fired, in its unit. */
  readonly limit?: number;
  readonly unit: string;
  readonly text: string;
  /** The largest values of some fields of the records that it is about, with their share, 0 to 1. */
  readonly top: Top;
  /** The values before it, one for each step, oldest first. */
  readonly series: { readonly stepMs: number; readonly values: readonly number[] };
  readonly acknowledged?: { readonly by: string; readonly at: number };
  /** Who wants to hear no more of it until a time, milliseconds since the epoch. */
  readonly snoozed?: { readonly by: string; readonly until: number };
  /** Of an alert that fires: nobody was told, because of a silence. */
  readonly untold?: true;
  /** The silence that it has at present. */
  readonly silence?: { readonly id: string; readonly until: number };
  /** How the value, or the limit, was come by, where that is not plain. */
  readonly note?: string;
  /** Why it ended, where its value did not. */
  readonly because?: string;
}

/** Tells which alerts pass. */
export type AlertFilter = (alert: Alert) => boolean;

/** An alert without its evidence, which is most of it. */
export type BriefAlert = Omit<Alert, "top" | "series">;

/** Something that happened to an alert. */
export interface AlertEvent {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /**
   * A state that it has now; `gone`: it was pending, and the condition holds no more. Acknowledged, snoozed, silenced: by a person; `resumed`:
   * a silence or a snooze of it is over.
   */
  readonly change: Alert["state"] | "gone" | "acknowledged" | "snoozed" | "silenced" | "resumed";
  /** As it is after that. */
  readonly alert: BriefAlert;
}

/** A message to receivers: an alert has begun or ended, or many of one rule have. */
export interface Notice {
  /** The same when it is sent again. */
  readonly id: string;
  readonly kind: "firing" | "cleared" | "summary";
  /** Of a summary the one with the greatest value. */
  readonly alert: Alert;
  /** Of a summary: how many alerts began that have no notice of their own. */
  readonly began?: number;
  /** The same of those that ended. */
  readonly ended?: number;
}

/** The words of a notice for people. */
export function textOf({ kind, alert, began = 0, ended = 0 }: Notice): string {
  if (kind !== "summary") return `${kind === "firing" ? "ALERT" : "over"}: ${alert.text}`;
  return `MORE of ${alert.rule}: ${began} further began, ${ended} ended; the largest: ${alert.text}`;
}

/** An alert that no rule has found: for what is sent as a notice is. */
export function madeAlert(id: string, rule: string, text: string, now: number): Alert {
  const evidence = { top: {}, series: { stepMs: 0, values: [] } };
  const begun = { state: "firing", since: now, firedAt: now, value: 0, peak: 0, unit: "" } as const;
  return { id, rule, key: {}, text, ...begun, ...evidence };
}

/** The record of an alert that has begun or ended. */
export function recordOf(notice: Notice, now: number): string {
  const { kind, alert } = notice;
  const { id, rule, value, peak, unit, since, key } = alert;
  return `${JSON.stringify({
    "@timestamp": new Date(now).toISOString(),
    "alert.id": id,
    "alert.rule.name": rule,
    "alert.state.name": kind,
    "alert.text": kind === "summary" ? textOf(notice) : alert.text,
    "alert.value": value,
    "alert.peak": peak,
    "alert.unit": unit,
    "alert.start.timestamp": new Date(since).toISOString(),
    "alert.key": Object.entries(key).map(([field, given]) => `${field}=${given}`),
  })}\n`;
}

/** An alert that is over. @param last as the collector knows it for which it fired last. @param because why, where its value is not. */
export function endedAs(alert: Alert, last: Alert | undefined, now: number, because = last?.because): Alert {
  return {
    ...alert,
    state: "cleared",
    clearedAt: now,
    peak: Math.max(alert.peak, last?.peak ?? -Infinity),
    value: last?.value ?? alert.value,
    ...(because !== undefined && { because }),
  };
}

/** What people say of an alert. */
export type Said = Pick<Alert, "acknowledged" | "snoozed">;

/** An alert with what somebody says of it: who has seen it first, and the last one who wants to hear no more. The same where that is in it. */
export function withSaid(alert: Alert, { acknowledged, snoozed }: Said): Alert {
  const isKnown = alert.acknowledged !== undefined || acknowledged === undefined;
  const isSnoozed = snoozed === undefined || alert.snoozed?.until === snoozed.until;
  if (isKnown && isSnoozed) return alert;
  return { ...alert, ...(!isKnown && { acknowledged }), ...(!isSnoozed && { snoozed }) };
}

/** Returns an alert whose notices are held back no more. */
export function resumedOf(alert: Alert): Alert {
  const told: { -readonly [Name in keyof Alert]: Alert[Name] } = { ...alert };
  delete told.untold;
  delete told.snoozed;
  return told;
}

/** Returns the notice that an alert has begun or ended. */
export function noticeOf(kind: Notice["kind"], alert: Alert): Notice {
  return { id: `${alert.id}-${kind}`, kind, alert };
}

/**
 * Returns the notice that tells again of an alert that fires on, when its silence, or the time for which it was to be left alone, is over. It has
 * another id than the first one, or it would be taken for a repetition.
 *
 * @returns undefined where there is nothing to be told, or something holds it back.
 */
export function againOf(alert: Alert, now: number, isHeld: (alert: Alert) => boolean): Notice | undefined {
  const { id, snoozed, untold } = alert;
  const isOver = snoozed !== undefined && snoozed.until <= now;
  if ((untold === undefined && !isOver) || isHeld(alert)) return undefined;
  const again = untold === undefined ? snoozed?.until : "told";
  return { id: `${id}-firing-${again}`, kind: "firing", alert: resumedOf(alert) };
}

/** A value of a device or an exporter as part of a text for people: it makes no lines of its own, and does not turn the others around. */
export function oneLine(value: string): string {
  return value.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, " ");
}

/** The alert without its evidence. */
export function briefOf({ top: _top, series: _series, ...brief }: Alert): BriefAlert {
  return brief;
}
