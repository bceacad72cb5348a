/** A schedule of a report, as plain data. Times are minutes of the day in local time. */
export type Schedule =
  | { readonly kind: "hourly"; readonly minute: number }
  | { readonly kind: "weekdays"; readonly days: readonly number[]; readonly times: readonly number[] }
  | { readonly kind: "monthly"; readonly day: number | "last"; readonly times: readonly number[] };

/** The period of a report: the calendar unit before it is due, or a span up to then, milliseconds. */
export type Period = "hour" | "day" | "week" | "month" | number;

export const scheduleWords =
  "expected `hourly :15`, `daily 07:00`, `weekdays 07:00`, `mon,wed-fri 07:00`, `monthly 1 07:00` or `monthly last 07:00`; up to 24 times as `07:00,19:00`";
export const periodWords = "expected hour, day, week, month, or a span such as 90m, 24h or 7d, up to 400d";

const dayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const mostTimes = 24;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const longestSpan = 400 * dayMs;
/** The days to search: the 31st recurs within 62 days, in a leap year, too. */
const daysAhead = 70;

/** Parses a schedule. @returns undefined for other words. */
export function readSchedule(text: string): Schedule | undefined {
  const [word = "", ...rest] = text.trim().split(/ +/);
  if (word === "hourly") {
    const [, minute] = /^:([0-5]\d)$/.exec(rest[0] ?? ":00") ?? [];
    return minute === undefined || rest.length > 1 ? undefined : { kind: "hourly", minute: Number(minute) };
  }
  const times = readTimes(rest.at(-1) ?? "");
  if (times === undefined) return undefined;
  if (word === "monthly") {
    const day = rest[0] === "last" ? "last" : Number(/^[1-9]\d?$/.exec(rest[0] ?? "")?.[0]);
    return rest.length === 2 && (day === "last" || day <= 31) ? { kind: "monthly", day, times } : undefined;
  }
  const days = readDays(word);
  return rest.length === 1 && days !== undefined ? { kind: "weekdays", days, times } : undefined;
}

function readTimes(text: string): readonly number[] | undefined {
  const parts = text.split(",");
  if (parts.length > mostTimes || !parts.every((part) => /^(?:[01]\d|2[0-3]):[0-5]\d$/.test(part))) return undefined;
  const minutes = parts.map((part) => 60 * Number(part.slice(0, 2)) + Number(part.slice(3)));
  return [...new Set(minutes)].toSorted((a, b) => a - b);
}

function readDays(word: string): readonly number[] | undefined {
  if (word === "daily") return [0, 1, 2, 3, 4, 5, 6];
  if (word === "weekdays") return [1, 2, 3, 4, 5];
  const days = new Set<number>();
  for (const part of word.split(",")) {
    const [first = "", last = first, ...more] = part.split("-");
    const [from, to] = [dayNames.indexOf(first), dayNames.indexOf(last)];
    if (from < 0 || to < 0 || more.length > 0) return undefined;
    for (let day = from; ; day = (day + 1) % 7) {
      days.add(day);
      if (day === to) break;
    }
  }
  return [...days];
}

/** Parses a period. @returns undefined for other words. */
export function readPeriod(text: string): Period | undefined {
  if (text === "hour" || text === "day" || text === "week" || text === "month") return text;
  const [, digits, unit] = /^([1-9]\d{0,5})([mhd])$/.exec(text) ?? [];
  const span = Number(digits) * (unit === "m" ? minuteMs : unit === "h" ? hourMs : dayMs);
  return span <= longestSpan ? span : undefined;
}

/** A calendar day; months start with 1. */
interface Day {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

/** Converts between instants and the local time of a time zone. */
export class ZoneClock {
  readonly #format: Intl.DateTimeFormat;

  /** @throws RangeError for an unknown zone. */
  constructor(zone: string) {
    this.#format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      calendar: "gregory",
      numberingSystem: "latn",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
      hourCycle: "h23",
    });
  }

  /** Returns the clock of a zone. @throws RangeError for an unknown zone. */
  static of(zone: string): ZoneClock {
    return new ZoneClock(zone);
  }

  /** Finds the first time at which a report is due after another time, milliseconds since the epoch. */
  next(schedule: Schedule, after: number): number {
    if (schedule.kind === "hourly") return this.#nextHourly(schedule.minute, after);
    const { times } = schedule;
    const today = this.dayOf(after);
    // When the clock is set back over midnight, a time of the day before recurs.
    for (let ahead = -1; ahead <= daysAhead; ahead++) {
      const day = addDays(today, ahead);
      if (!isOn(schedule, day)) continue;
      const due = times.map((minutes) => this.instantOf(day, minutes)).find((instant) => instant > after);
      if (due !== undefined) return due;
    }
    throw new RangeError("the schedule has no next time");
  }

  /** Returns the range of a report that is due at a time. */
  range(period: Period, due: number): { readonly from: number; readonly to: number } {
    if (typeof period === "number") return { from: due - period, to: due };
    if (period === "hour") {
      const { minute, second } = this.#fieldsAt(due);
      const to = due - minute * minuteMs - second * 1000 - (due % 1000);
      return { from: to - hourMs, to };
    }
    const today = this.dayOf(due);
    const weekday = weekdayOf(today);
    const end =
      period === "day" ? today : period === "week" ? addDays(today, -((weekday + 6) % 7)) : { ...today, day: 1 };
    const begin = period === "day" ? addDays(end, -1) : period === "week" ? addDays(end, -7) : monthBefore(end);
    return { from: this.instantOf(begin, 0), to: this.instantOf(end, 0) };
  }

  dayOf(at: number): Day {
    const { year, month, day } = this.#fieldsAt(at);
    return { year, month, day };
  }

  /** Finds the instant of a local time, in minutes of a day: the first one where there are two. For a skipped time, it is later by the gap. */
  instantOf({ year, month, day }: Day, minutes: number): number {
    const wall = Date.UTC(year, month - 1, day, 0, minutes);
    const offsets = [this.offsetAt(wall - dayMs), this.offsetAt(wall + dayMs)];
    const fitting = offsets.map((offset) => wall - offset).filter((at) => at + this.offsetAt(at) === wall);
    return fitting.length > 0 ? Math.min(...fitting) : wall - (offsets[0] as number);
  }

  /** Finds the next hourly time. The offsets of zones are whole minutes, except long ago. */
  #nextHourly(minute: number, after: number): number {
    let at = Math.floor(after / minuteMs) * minuteMs + minuteMs;
    const missing = (minute - this.#fieldsAt(at).minute + 60) % 60;
    at += missing * minuteMs;
    // An offset may have changed by a part of an hour meanwhile.
    for (let tries = 0; tries < 120 && this.#fieldsAt(at).minute !== minute; tries++) at += minuteMs;
    return at;
  }

  /** Returns the offset of local time from UTC, milliseconds. */
  offsetAt(at: number): number {
    const { year, month, day, hour, minute, second } = this.#fieldsAt(at);
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000;
  }

  #fieldsAt(at: number): Day & { readonly hour: number; readonly minute: number; readonly second: number } {
    const parts = Object.fromEntries(this.#format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = parts;
    return { year, month, day, hour, minute, second };
  }
}

function isOn(schedule: Exclude<Schedule, { readonly kind: "hourly" }>, day: Day): boolean {
  if (schedule.kind === "weekdays") return schedule.days.includes(weekdayOf(day));
  const last = new Date(Date.UTC(day.year, day.month, 0)).getUTCDate();
  return day.day === (schedule.day === "last" ? last : Math.min(schedule.day, last));
}

const weekdayOf = ({ year, month, day }: Day): number => new Date(Date.UTC(year, month - 1, day)).getUTCDay();

function addDays({ year, month, day }: Day, days: number): Day {
  const at = new Date(Date.UTC(year, month - 1, day + days));
  return { year: at.getUTCFullYear(), month: at.getUTCMonth() + 1, day: at.getUTCDate() };
}

const monthBefore = ({ year, month }: Day): Day =>
  month === 1 ? { year: year - 1, month: 12, day: 1 } : { year, month: month - 1, day: 1 };
