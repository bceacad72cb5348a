import { scalar } from "../../base/yaml/index.ts";

/** A part of the week in which no notices are sent; plain data. */
export interface QuietTime {
  /** Days on which it begins; 0 is Sunday. */
  readonly days: readonly number[];
  /** Minutes of the day. An end that is not after the start is on the next day. */
  readonly from: number;
  readonly to: number;
}

const dayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const everyDay = [0, 1, 2, 3, 4, 5, 6];
const dayMinutes = 1440;

function readDays(text: string | undefined): readonly number[] | undefined {
  if (text === undefined) return everyDay;
  const days = new Set<number>();
  for (const part of text.split(",")) {
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

function readMinutes(text: string): number | undefined {
  const [, hours, minutes] = /^(\d\d):(\d\d)$/.exec(text) ?? [];
  const all = 60 * Number(hours) + Number(minutes);
  return Number(minutes) < 60 && all <= dayMinutes ? all : undefined;
}

/** The shape of a time such as `22:00-07:00` or `sat-sun 00:00-24:00`. */
export const quietTime = scalar("a time such as 22:00-07:00 or sat-sun 00:00-24:00", (text): QuietTime | undefined => {
  const [, dayText, start = "", end = ""] = /^(?:([a-z,-]{3,60}) )?([\d:]{5})-([\d:]{5})$/.exec(text) ?? [];
  const [days, from, to] = [readDays(dayText), readMinutes(start), readMinutes(end)];
  return days === undefined || from === undefined || to === undefined ? undefined : { days, from, to };
});

/** The shape of the name of a time zone. */
export const timeZone = scalar("the name of a time zone such as Europe/Berlin", (text) => {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: text }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
});

/** Reports whether a time is in the quiet hours, by the local time of a zone. */
export class QuietHours {
  readonly #times: readonly QuietTime[];
  readonly #format: Intl.DateTimeFormat;

  constructor(times: readonly QuietTime[], zone: string) {
    this.#times = times;
    const parts = { weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
    this.#format = new Intl.DateTimeFormat("en-US", { timeZone: zone, ...parts });
  }

  /** @param at milliseconds since the epoch. */
  isQuiet(at: number): boolean {
    if (this.#times.length === 0) return false;
    const parts = Object.fromEntries(this.#format.formatToParts(at).map(({ type, value }) => [type, value]));
    const day = dayNames.indexOf(String(parts["weekday"]).toLowerCase());
    const minute = 60 * Number(parts["hour"]) + Number(parts["minute"]);
    return this.#times.some(({ days, from, to }) => {
      if (from < to) return days.includes(day) && minute >= from && minute < to;
      return (days.includes(day) && minute >= from) || (days.includes((day + 6) % 7) && minute < to);
    });
  }
}
