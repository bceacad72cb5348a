import { dayOf, instantOf, monthOf, wallTimeOf, weekdayOf, type WallTime } from "./zone.ts";

/** A range of time as somebody chose it. Times are milliseconds since the epoch. */
export type TimeChoice =
  /** Up to now, and going on: `last 15 minutes`. */
  | { readonly kind: "last"; readonly count: number; readonly unit: SpanUnit }
  | { readonly kind: "since"; readonly from: number }
  | { readonly kind: "fixed"; readonly from: number; readonly to: number }
  /** Of the calendar: it moves with the day on which it is read. */
  | { readonly kind: "named"; readonly name: TimeName }
  /** What an address says and these pages do not know; the server says what is wrong with it. */
  | { readonly kind: "unknown"; readonly from: string; readonly to: string };

export type SpanUnit = "s" | "m" | "h" | "d";
export const spanMs: Readonly<Record<SpanUnit, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The longest span up to now, a century: calendars of zones are no use before it, and dates of programs end. */
const longestSpanMs = 36_525 * spanMs.d;
/** How long a span is in milliseconds; undefined: longer than a century. */
export function spanLength(count: number, unit: SpanUnit): number | undefined {
  const ms = count * spanMs[unit];
  return ms <= longestSpanMs ? ms : undefined;
}

export const weekdays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const;
type Weekday = (typeof weekdays)[number];
const calendarUnits = ["hour", "week", "month", "year"] as const;
type CalendarUnit = (typeof calendarUnits)[number];
export type TimeName =
  | "today"
  | "yesterday"
  | `this ${CalendarUnit}`
  | `last ${"week" | "month" | "year"}`
  | `last ${Weekday}`;

export const timeNames: readonly TimeName[] = [
  "today",
  "yesterday",
  ...calendarUnits.map((unit) => `this ${unit}` as const),
  ...(["week", "month", "year"] as const).map((unit) => `last ${unit}` as const),
  ...weekdays.map((day) => `last ${day}` as const),
];

/** From and to, as a query has them: RFC 3339, a span before now, `now`. */
export interface AskedTime {
  readonly from: string;
  readonly to: string;
}

/** What an address says of the time; the last hour when it says nothing. */
export function choiceOf(from = "-1h", to = "now"): TimeChoice {
  const [, count, unit] = /^-(\d{1,9})([smhd])$/.exec(from) ?? [];
  if (count !== undefined && to === "now" && spanLength(Number(count), unit as SpanUnit) !== undefined)
    return { kind: "last", count: Number(count), unit: unit as SpanUnit };
  const name = timeNames.find((each) => each === from);
  if (name !== undefined && to === "now") return { kind: "named", name };
  const [start, end] = [readRfc3339(from), readRfc3339(to)];
  if (start !== undefined && to === "now") return { kind: "since", from: start };
  if (start !== undefined && end !== undefined && start < end) return { kind: "fixed", from: start, to: end };
  return { kind: "unknown", from, to };
}

/** What an address says for a choice. */
export function addressOf(choice: TimeChoice): AskedTime {
  switch (choice.kind) {
    case "last":
      return { from: `-${String(choice.count)}${choice.unit}`, to: "now" };
    case "since":
      return { from: rfc3339(choice.from), to: "now" };
    case "fixed":
      return { from: rfc3339(choice.from), to: rfc3339(choice.to) };
    case "named":
      return { from: choice.name, to: "now" };
    case "unknown":
      break;
  }
  return { from: choice.from, to: choice.to };
}

/** What is asked for a choice. What lasts beyond now is asked up to now. */
export function askedOf(choice: TimeChoice, now: number, zone: string): AskedTime {
  const { from, to } = choice.kind === "named" ? namedSpan(choice.name, now, zone) : { ...addressOf(choice) };
  const end = typeof to === "number" ? to : readRfc3339(to);
  return {
    from: typeof from === "number" ? rfc3339(from) : from,
    to: end === undefined ? (to as string) : end > now ? "now" : rfc3339(end),
  };
}

/** First and last time of a choice, milliseconds since the epoch; undefined where it is unknown. */
export function boundsOf(
  choice: TimeChoice,
  now: number,
  zone: string,
): { readonly from: number; readonly to: number } | undefined {
  switch (choice.kind) {
    case "last":
      return { from: now - choice.count * spanMs[choice.unit], to: now };
    case "since":
      return { from: choice.from, to: now };
    case "fixed":
      return { from: choice.from, to: Math.min(now, choice.to) };
    case "named": {
      const { from, to } = namedSpan(choice.name, now, zone);
      return { from, to: Math.min(now, to) };
    }
    case "unknown":
      break;
  }
  return undefined;
}

/** From and to of a part of the calendar in a zone, milliseconds since the epoch; the end may lie beyond now. */
export function namedSpan(name: TimeName, now: number, zone: string): { readonly from: number; readonly to: number } {
  const wall = wallTimeOf(now, zone);
  const [start, end] = namedWalls(name, wall);
  return { from: instantOf(start, zone), to: instantOf(end, zone) };
}

function namedWalls(name: TimeName, now: WallTime): readonly [WallTime, WallTime] {
  const today = dayOf(now);
  if (name === "today") return [today, dayOf(now, 1)];
  if (name === "yesterday") return [dayOf(now, -1), today];
  const isLast = name.startsWith("last ");
  const word = name.slice(5);
  const weekday = weekdays.findIndex((each) => each === word);
  if (weekday >= 0) {
    // The one before today: on a Monday, "last monday" is that of the week before.
    const back = (weekdayOf(now) - weekday + 6) % 7;
    return [dayOf(now, -1 - back), dayOf(now, -back)];
  }
  const back = isLast ? -1 : 0;
  if (word === "hour")
    return [
      { ...today, hour: now.hour },
      { ...today, hour: now.hour + 1 },
    ];
  if (word === "week") {
    const monday = -weekdayOf(now) + 7 * back;
    return [dayOf(now, monday), dayOf(now, monday + 7)];
  }
  if (word === "month") return [monthOf(now, back), monthOf(now, back + 1)];
  const january = { ...now, month: 1 };
  return [monthOf(january, 12 * back), monthOf(january, 12 * (back + 1))];
}

/** RFC 3339 in UTC, without a fraction of a second where there is none. */
export const rfc3339 = (ms: number): string => new Date(ms).toISOString().replace(".000Z", "Z");

/** 1970 to 2199 in any zone. */
const [beforeFirst, behindLast] = [Date.UTC(1969, 11, 31), Date.UTC(2200, 0, 2)];
/** Whether a time is of the years that these pages know, milliseconds since the epoch. */
export const isOfOurTime = (ms: number): boolean => ms > beforeFirst && ms < behindLast;

const rfcPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/i;

function readRfc3339(text: string): number | undefined {
  const ms = rfcPattern.test(text) ? Date.parse(text) : Number.NaN;
  return isOfOurTime(ms) ? ms : undefined;
}
