import type { Top } from "./close-look.ts";

/** An alert of one rule and one key; plain data, as shown, kept and sent. */
export interface Alert {
  readonly id: string;
  readonly rule: string;
  /** The fields of the rule's `by` with their values. */
  readonly key: Readonly<Record<string, string>>;
  readonly state: "pending" | "firing" | "cleared";
  /** When the observed condition began, in milliseconds since the epoch. */
  readonly since: number;
  readonly firedAt?: number;
  readonly clearedAt?: number;
  readonly value: number;
  readonly peak: number;
  /** The limit when it fired, in the unit of the value. */
  readonly limit?: number;
  readonly unit: string;
  readonly text: string;
  /** The largest values of some fields in the records behind the alert, each with its share, 0 to 1. */
  readonly top: Top;
  /** Earlier values, one for each step, oldest first. */
  readonly series: { readonly stepMs: number; readonly values: readonly number[] };
  readonly acknowledged?: { readonly by: string; readonly at: number };
  /** Who snoozed it, and until when, in milliseconds since the epoch. */
  readonly snoozed?: { readonly by: string; readonly until: number };
  /** Present while it fires and a silence kept all notices back. */
  readonly untold?: true;
  /** The silence that covers it now. */
  readonly silence?: { readonly id: string; readonly until: number };
  /** An explanation of the value or the limit, where it is not obvious. */
  readonly note?: string;
  /** Why it ended, where its value is not the reason. */
  readonly because?: string;
}

/** Reports whether an alert passes. */
export type AlertFilter = (alert: Alert) => boolean;

/** An alert without its evidence, which is most of its size. */
export type BriefAlert = Omit<Alert, "top" | "series">;

/** Something that happened to an alert. */
export interface AlertEvent {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /**
   * The state that it has now. `gone`: it was pending and the condition no longer holds. `acknowledged`, `snoozed`, `silenced`: by a person. `resumed`:
   * a silence or snooze has ended.
   */
  readonly change: Alert["state"] | "gone" | "acknowledged" | "snoozed" | "silenced" | "resumed";
  /** The alert after the change. */
  readonly alert: BriefAlert;
}

/** A message to receivers: an alert began or ended, or many alerts of one rule did. */
export interface Notice {
  /** An id that stays the same when the notice is sent again. */
  readonly id: string;
  readonly kind: "firing" | "cleared" | "summary";
  /** The alert. In a summary, the one with the greatest value. */
  readonly alert: Alert;
  /** In a summary, the number of alerts that began without a notice of their own. */
  readonly began?: number;
  /** In a summary, the number of alerts that ended without a notice of their own. */
  readonly ended?: number;
}

/** Returns the text of a notice for people. */
export function textOf({ kind, alert, began = 0, ended = 0 }: Notice): string {
  if (kind !== "summary") return `${kind === "firing" ? "ALERT" : "over"}: ${alert.text}`;
  return `MORE of ${alert.rule}: ${began} further began, ${ended} ended; the largest: ${alert.text}`;
}

/** Returns an alert that no rule has found, for a message that is sent like a notice. */
export function madeAlert(id: string, rule: string, text: string, now: number): Alert {
  const evidence = { top: {}, series: { stepMs: 0, values: [] } };
  const begun = { state: "firing", since: now, firedAt: now, value: 0, peak: 0, unit: "" } as const;
  return { id, rule, key: {}, text, ...begun, ...evidence };
}

/** Returns the record of an alert that began or ended. */
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

/** Returns an alert as ended. @param last the alert as known to the collector for which it fired last. @param because the reason, where its value is not. */
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

/** The part of an alert that people set. */
export type Said = Pick<Alert, "acknowledged" | "snoozed">;

/** Returns an alert with what somebody noted: the first to acknowledge it, and the last snooze. Returns the same object where nothing changes. */
export function withSaid(alert: Alert, { acknowledged, snoozed }: Said): Alert {
  const isKnown = alert.acknowledged !== undefined || acknowledged === undefined;
  const isSnoozed = snoozed === undefined || alert.snoozed?.until === snoozed.until;
  if (isKnown && isSnoozed) return alert;
  return { ...alert, ...(!isKnown && { acknowledged }), ...(!isSnoozed && { snoozed }) };
}

/** Returns an alert whose notices are no longer held back. */
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
 * Returns a further notice of an alert that still fires when its silence or snooze ends. It has an id of its own, or receivers would take it for a
 * repetition.
 *
 * @returns undefined where there is nothing to send, or something holds it back.
 */
export function againOf(alert: Alert, now: number, isHeld: (alert: Alert) => boolean): Notice | undefined {
  const { id, snoozed, untold } = alert;
  const isOver = snoozed !== undefined && snoozed.until <= now;
  if ((untold === undefined && !isOver) || isHeld(alert)) return undefined;
  const again = untold === undefined ? snoozed?.until : "told";
  return { id: `${id}-firing-${again}`, kind: "firing", alert: resumedOf(alert) };
}

/** Returns a value from a device or an exporter as a single line for a text. Control characters cannot add lines or reverse the text around it. */
export function oneLine(value: string): string {
  return value.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, " ");
}

/** Returns the alert without its evidence. */
export function briefOf({ top: _top, series: _series, ...brief }: Alert): BriefAlert {
  return brief;
}
