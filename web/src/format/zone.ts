/** What a clock on the wall shows. `month` is 1 to 12; hours and so on may be beyond their bounds and carry over, as those of `Date.UTC`. */
export interface WallTime {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly ms: number;
}

/** The zone of the browser, by its IANA name. */
export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

let chosen: string | undefined;
/** The zone in which times are shown: the browser's, until somebody chooses another. */
export const shownZone = (): string => chosen ?? ownZone();
/** Chooses it; undefined is the browser's. */
export const setShownZone = (zone: string | undefined): void => void (chosen = zone);

/** The name of a zone as IANA writes it: `europe/berlin` is `Europe/Berlin`, `z` is `UTC`. @returns undefined for what is no zone. */
export function zoneNamed(text: string): string | undefined {
  const name = text.trim();
  if (/^(?:utc|z|gmt)$/i.test(name)) return "UTC";
  // An offset is no zone here: it says nothing of summer.
  if (!/^[a-z]/i.test(name)) return undefined;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

const formats = new Map<string, Intl.DateTimeFormat>();
function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const numeric = "numeric";
  const made = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    era: "short",
    year: numeric,
    month: numeric,
    day: numeric,
    hour: numeric,
    minute: numeric,
    second: numeric,
  });
  formats.set(zone, made);
  return made;
}

/** Milliseconds that the clocks of a zone are ahead of UTC at a time. */
export function offsetOf(at: number, zone: string): number {
  if (zone === "UTC") return 0;
  const parts: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
  for (const { type, value } of formatOf(zone).formatToParts(at)) parts[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000;
}

/** What the clocks of a zone show at a time. */
export function wallTimeOf(at: number, zone: string): WallTime {
  const shifted = new Date(at + offsetOf(at, zone));
  return {
    year: shifted.getUTCFullYear(),
    month: shifted.getUTCMonth() + 1,
    day: shifted.getUTCDate(),
    hour: shifted.getUTCHours(),
    minute: shifted.getUTCMinutes(),
    second: shifted.getUTCSeconds(),
    ms: shifted.getUTCMilliseconds(),
  };
}

const dayMs = 86_400_000;

/**
 * The time at which the clocks of a zone show this: the earlier of two when they are put back. What they skip when they are put forward counts as if they
 * had not been.
 */
export function instantOf(wall: WallTime, zone: string): number {
  const { year, month, day, hour, minute, second, ms } = wall;
  const asUtc = Date.UTC(year, month - 1, day, hour, minute, second, ms);
  const offsets = [offsetOf(asUtc - dayMs, zone), offsetOf(asUtc + dayMs, zone)];
  const times = offsets.map((offset) => asUtc - offset).filter((at, index) => offsetOf(at, zone) === offsets[index]);
  return times.length > 0 ? Math.min(...times) : asUtc - (offsets[0] ?? 0);
}

/** The same day at midnight, so many days later. */
export const dayOf = ({ year, month, day }: WallTime, daysLater = 0): WallTime =>
  wallTimeOf(Date.UTC(year, month - 1, day + daysLater), "UTC");

/** The begin of a month, so many months later. */
export const monthOf = ({ year, month }: WallTime, monthsLater = 0): WallTime =>
  wallTimeOf(Date.UTC(year, month - 1 + monthsLater, 1), "UTC");

/** Which day of its week a day is: 0 is Monday. */
export const weekdayOf = ({ year, month, day }: WallTime): number =>
  (new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7;
