import {
  isOfOurTime,
  namedSpan,
  spanLength,
  spanMs,
  timeNames,
  weekdays,
  type SpanUnit,
  type TimeChoice,
  type TimeName,
} from "./time-choice.ts";
import { shortened } from "./shortened.ts";
import { dayOf, instantOf, monthOf, offsetOf, wallTimeOf, type WallTime } from "./zone.ts";

/** What is wrong with a text of time, and where. */
export interface TimeFault {
  readonly fault: string;
  /** Place in the text. */
  readonly at: number;
}

const unitWords: readonly (readonly [SpanUnit, RegExp, string])[] = [
  ["s", /^s(?:ec(?:ond)?s?)?$/, "second"],
  ["m", /^m(?:in(?:ute)?s?)?$/, "minute"],
  ["h", /^h(?:(?:ou)?rs?)?$/, "hour"],
  ["d", /^d(?:ays?)?$/, "day"],
];

/** A choice as one would type it; {@link readTime} reads it again. */
export function timeText(choice: TimeChoice, zone: string): string {
  switch (choice.kind) {
    case "last": {
      const word = unitWords.find(([unit]) => unit === choice.unit)?.[2] ?? "";
      return choice.count === 1 ? `last ${word}` : `last ${String(choice.count)} ${word}s`;
    }
    case "since":
      return `since ${pointText(choice.from, zone)}`;
    case "fixed":
      return rangeText(choice.from, choice.to, zone);
    case "named":
      return choice.name;
    case "unknown":
      break;
  }
  return `${choice.from} to ${choice.to}`;
}

function rangeText(from: number, to: number, zone: string): string {
  const [start, end] = [wallTimeOf(from, zone), wallTimeOf(to, zone)];
  const isDays = isMidnight(from, start, zone) && isMidnight(to, end, zone);
  if (isDays && start.day === 1 && instantOf(monthOf(start, 1), zone) === to) return dateText(start).slice(0, 7);
  if (isDays && instantOf(dayOf(start, 1), zone) === to) return dateText(start);
  if (isDays) return `${dateText(start)} to ${dateText(dayOf(end, -1))}`;
  const isShort = dateText(start) === dateText(end) && isPlain(from, zone) && isPlain(to, zone);
  return `${pointText(from, zone)} to ${isShort ? clockText(end) : pointText(to, zone)}`;
}

const isMidnight = (at: number, wall: WallTime, zone: string): boolean => instantOf(dayOf(wall), zone) === at;
/** Whether the clocks show it once, so that it needs no offset. */
const isPlain = (at: number, zone: string): boolean => instantOf(wallTimeOf(at, zone), zone) === at;
const pad = (value: number, length = 2): string => String(value).padStart(length, "0");
const dateText = ({ year, month, day }: WallTime): string => `${pad(year, 4)}-${pad(month)}-${pad(day)}`;

function clockText({ hour, minute, second, ms }: WallTime): string {
  const rest = ms > 0 ? `:${pad(second)}.${pad(ms, 3)}` : second > 0 ? `:${pad(second)}` : "";
  return `${pad(hour)}:${pad(minute)}${rest}`;
}

function pointText(at: number, zone: string): string {
  const wall = wallTimeOf(at, zone);
  if (isPlain(at, zone)) return `${dateText(wall)} ${clockText(wall)}`;
  const offset = offsetOf(at, zone) / 1000;
  const [size, sign] = [Math.abs(offset), offset < 0 ? "-" : "+"];
  const seconds = size % 60 === 0 ? "" : `:${pad(size % 60)}`;
  return `${dateText(wall)}T${clockText(wall)}${sign}${pad(Math.floor(size / 3600))}:${pad(Math.floor(size / 60) % 60)}${seconds}`;
}

/**
 * Reads a time as people say it: `last 2 hours`, `yesterday 14:00`, `2026-11-20 8–9`, `last monday`, `since 8:00`, RFC 3339. A time of day alone is the
 * hour that begins then, one with seconds the minute.
 *
 * @param now milliseconds since the epoch. @param zone of times without one.
 */
export function readTime(text: string, now: number, zone: string): TimeChoice | TimeFault {
  const reader = new TimeReader(text, now, zone);
  try {
    return reader.read();
  } catch (error) {
    if (error instanceof Misread) return { fault: error.message, at: error.at };
    throw error;
  }
}

class Misread extends Error {
  readonly at: number;
  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

/** What a text names: from it to its end when it stands alone. */
interface Point {
  readonly from: number;
  readonly to: number;
  /** Whether it ends a range with its end, as a day does, and not with its begin, as a time of day does. */
  readonly isWhole: boolean;
  /** The day that an end without one is of. */
  readonly day: WallTime;
  readonly isNow?: boolean;
  readonly name?: TimeName;
}

const tooLong = "it reaches back more than a hundred years";
const notOfOurTime = "times are from 1970 to 2199";
/** Characters of a word that is no time, as it is named. */
const longestWord = 40;
const separator = /^(?:\s*(?:–|—|\.\.+|\/)\s*|\s+(?:to|until|till|-)\s+|-(?=\d))/;
const dayPattern = /^(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?![\d-])|^(\d{4})-(\d{1,2})-(\d{1,2})(?=-\d)/;
const clockPattern = /^(\d{1,2})(?::(\d{2})(?::(\d{2})(?:[.,](\d{1,3})\d*)?)?)?(?!\d)(?: ?([ap])\.?m\b\.?)?/;
const offsetPattern = /^ ?(?:(z|utc|gmt)\b|([+-])(\d{2}):?(\d{2})(?::(\d{2}))?(?!\d))/;

class TimeReader {
  readonly #text: string;
  readonly #now: number;
  readonly #zone: string;
  #at: number;

  constructor(text: string, now: number, zone: string) {
    this.#text = text.toLowerCase().trimEnd();
    this.#at = text.length - text.trimStart().length;
    this.#now = now;
    this.#zone = zone;
  }

  read(): TimeChoice {
    const begin = this.#at;
    if (begin >= this.#text.length) throw new Misread('a time such as "last hour" or "yesterday 14:00" is missing', 0);
    const choice = this.#choice();
    if (this.#at < this.#text.length) throw this.#misread();
    if ((choice.kind === "since" || choice.kind === "fixed") && choice.from >= this.#now)
      throw new Misread("it begins after now: nothing is known of it yet", begin);
    const times = choice.kind === "since" ? [choice.from] : choice.kind === "fixed" ? [choice.from, choice.to] : [];
    if (!times.every(isOfOurTime)) throw new Misread(notOfOurTime, begin);
    return choice;
  }

  #choice(): TimeChoice {
    if (this.#take(/^(?:since|from)\s+/) !== undefined) {
      const start = this.#point();
      return this.#range(start) ?? { kind: "since", from: start.from };
    }
    const span = this.#span();
    if (span !== undefined) return span;
    const start = this.#point();
    const range = this.#range(start);
    if (range !== undefined) return range;
    if (start.name !== undefined) return { kind: "named", name: start.name };
    if (start.to <= start.from) throw new Misread("it needs an end: since …, or … to …", this.#at);
    return { kind: "fixed", from: start.from, to: start.to };
  }

  /** `last 2 hours`, `past day`, `2 h`, `-15m`. */
  #span(): TimeChoice | undefined {
    const found = /^(?:(?:last|past|previous)\s+(?:(\d{1,9})\s*)?|-?(\d{1,9})\s*)([a-z]+)(?!\S)(?!\s+ago\b)/.exec(
      this.#rest(),
    );
    const [whole = "", counted, plain, word = ""] = found ?? [];
    const count = Number(counted ?? plain ?? 1);
    const unit = unitWords.find(([, pattern]) => pattern.test(word))?.[0];
    const isWeeks = /^w(?:eeks?)?$/.test(word);
    // "last week" is one of the calendar, "past week" and "last 1 week" are seven days.
    const isCalendar = isWeeks && counted === undefined && plain === undefined && !whole.startsWith("past");
    if (found === null || (unit === undefined && !isWeeks) || isCalendar || this.#isRange(whole.length))
      return undefined;
    if (count === 0) throw new Misread("a time of no length", this.#at);
    const asked = { kind: "last", count: isWeeks ? count * 7 : count, unit: unit ?? "d" } as const;
    if (spanLength(asked.count, asked.unit) === undefined) throw new Misread(tooLong, this.#at);
    this.#at += whole.length;
    return asked;
  }

  #isRange(behind: number): boolean {
    return separator.test(this.#text.slice(this.#at + behind));
  }

  #range(start: Point): TimeChoice | undefined {
    const begin = this.#at;
    if (this.#take(separator) === undefined) return undefined;
    const end = this.#point(start.day, start.from);
    if (end.isNow === true) return { kind: "since", from: start.from };
    const to = end.isWhole ? end.to : end.from;
    if (to <= start.from) throw new Misread("it ends before it begins", begin);
    return { kind: "fixed", from: start.from, to };
  }

  /** @param day of a time without one; today, or yesterday where it would lie ahead. @param after begin of the range that it ends. */
  #point(day?: WallTime, after?: number): Point {
    return this.#instant() ?? this.#named() ?? this.#date() ?? this.#timeOfDay(day, after) ?? this.#nothing();
  }

  #nothing(): never {
    throw this.#misread();
  }

  #misread(): Misread {
    const word = shortened(/^\s*(\S*)/.exec(this.#rest())?.[1] ?? "", longestWord);
    const examples = '"last 2 hours", "yesterday 14:00", "2026-11-20 8–9"';
    return new Misread(
      word === ""
        ? `a time is missing at the end, such as ${examples}`
        : `"${word}" is no time here; one is written as ${examples}`,
      this.#at,
    );
  }

  /** `now`, `2 hours ago`, `-2h`. */
  #instant(): Point | undefined {
    if (this.#take(/^now(?![a-z\d])/) !== undefined) return this.#plainPoint(this.#now, true);
    const [whole, before, after, word = ""] =
      /^(?:-(\d{1,9})|(\d{1,9})(?=\s*[a-z]+\s+ago\b))\s*([a-z]+)(?:\s+ago\b)?(?![a-z\d])/.exec(this.#rest()) ?? [];
    const unit = unitWords.find(([, pattern]) => pattern.test(word))?.[0];
    if (whole === undefined || unit === undefined) return undefined;
    const back = spanLength(Number(before ?? after), unit);
    if (back === undefined) throw new Misread(tooLong, this.#at);
    this.#at += whole.length;
    return this.#plainPoint(this.#now - back, false);
  }

  #plainPoint(at: number, isNow: boolean): Point {
    return { from: at, to: at, isWhole: false, isNow, day: dayOf(wallTimeOf(at, this.#zone)) };
  }

  /** `yesterday`, `monday`, `last month`, with a time of day behind a day. */
  #named(): Point | undefined {
    const word = /^(?:last |this |previous )?\s*[a-z]+/.exec(this.#rest())?.[0];
    const name = word === undefined ? undefined : nameOf(word.replaceAll(/\s+/g, " "));
    if (word === undefined || name === undefined) return undefined;
    this.#at += word.length;
    const { from, to } = namedSpan(name, this.#now, this.#zone);
    const day = dayOf(wallTimeOf(from, this.#zone));
    const isDay = name.endsWith("day");
    return (isDay ? this.#clockBehind(day) : undefined) ?? { from, to, isWhole: true, day, name };
  }

  /** `2026-11-20`, `2026-11`, with a time of day behind a day. */
  #date(): Point | undefined {
    const found = dayPattern.exec(this.#rest());
    if (found === null) return undefined;
    const begin = this.#at;
    const [year, month, day] = [found[1] ?? found[4], found[2] ?? found[5], found[3] ?? found[6]].map(Number);
    const wall = wallTimeOf(
      Date.UTC(year ?? 0, (month ?? 1) - 1, found[3] === undefined && found[6] === undefined ? 1 : day),
      "UTC",
    );
    const isMonth = found[3] === undefined && found[6] === undefined;
    if (wall.month !== month || (!isMonth && wall.day !== day)) throw new Misread(`there is no day ${found[0]}`, begin);
    // A day more: an offset may lead there. In the end it is the time that counts.
    if (wall.year < 1969 || wall.year > 2200) throw new Misread(notOfOurTime, begin);
    this.#at += found[0].length;
    if (isMonth) return this.#wholePoint(wall, monthOf(wall, 1));
    return this.#clockBehind(wall) ?? this.#wholePoint(wall, dayOf(wall, 1));
  }

  #wholePoint(start: WallTime, end: WallTime): Point {
    return { from: instantOf(start, this.#zone), to: instantOf(end, this.#zone), isWhole: true, day: start };
  }

  #clockBehind(day: WallTime): Point | undefined {
    const begin = this.#at;
    const [between] = /^(?:t|\s+(?:at\s+)?)(?=\d)/.exec(this.#rest()) ?? [];
    if (between === undefined) return undefined;
    this.#at += between.length;
    const point = this.#clock(day, between === "t");
    if (point === undefined) this.#at = begin;
    return point;
  }

  #timeOfDay(day: WallTime | undefined, after: number | undefined): Point | undefined {
    const begin = this.#at;
    const today = dayOf(wallTimeOf(this.#now, this.#zone));
    const point = this.#clock(day ?? today, false);
    const isWrong =
      day === undefined
        ? point !== undefined && point.from >= this.#now
        : point !== undefined && point.from <= (after ?? 0);
    if (!isWrong) return point;
    this.#at = begin;
    return this.#clock(day === undefined ? dayOf(today, -1) : dayOf(day, 1), false);
  }

  /** @param isRfc whether "-02:00" behind it is an offset, and not the end of a range. */
  #clock(day: WallTime, isRfc: boolean): Point | undefined {
    const found = clockPattern.exec(this.#rest());
    if (found === null) return undefined;
    const [whole, hours = "", minutes = "0", seconds = "0", fraction = "0", half] = found;
    const given = Number(hours);
    const isTwelve = half !== undefined;
    const hour = isTwelve ? (given % 12) + (half === "p" ? 12 : 0) : given;
    const isEnd = given === 24 && Number(minutes) === 0 && Number(seconds) === 0;
    const isWrong =
      (given > 23 && !isEnd) || Number(minutes) > 59 || Number(seconds) > 59 || (isTwelve && (given > 12 || given < 1));
    if (isWrong) throw new Misread(`${whole} is no time of day`, this.#at);
    this.#at += whole.length;
    const wall = {
      ...day,
      hour,
      minute: Number(minutes),
      second: Number(seconds),
      ms: Number(fraction.padEnd(3, "0")),
    };
    const length = found[3] === undefined ? spanMs.h : spanMs.m;
    const from = this.#atOffset(wall, isRfc);
    return { from, to: from + length, isWhole: false, day: dayOf(wallTimeOf(from, this.#zone)) };
  }

  #atOffset(wall: WallTime, isRfc: boolean): number {
    const found = offsetPattern.exec(this.#rest());
    if (found === null || (found[2] === "-" && !isRfc)) return instantOf(wall, this.#zone);
    const [whole, , sign, hours = "0", minutes = "0", seconds = "0"] = found;
    if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59)
      throw new Misread(`${whole.trim()} is no offset from UTC`, this.#at);
    this.#at += whole.length;
    const offset = Number(hours) * spanMs.h + Number(minutes) * spanMs.m + Number(seconds) * spanMs.s;
    return instantOf(wall, "UTC") - (sign === "-" ? -offset : offset);
  }

  #rest(): string {
    return this.#text.slice(this.#at);
  }

  #take(pattern: RegExp): string | undefined {
    const found = pattern.exec(this.#rest())?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }
}

/** `mon`, `monday` and `last monday` are the same; `previous week` is `last week`. */
function nameOf(words: string): TimeName | undefined {
  const text = words.replace(/^previous /, "last ");
  const name = timeNames.find((each) => each === text);
  if (name !== undefined) return name;
  const word = text.replace(/^last /, "");
  const day = weekdays.find((each) => word.length >= 3 && each.startsWith(word));
  return day === undefined ? undefined : `last ${day}`;
}
