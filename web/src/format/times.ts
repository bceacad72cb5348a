import { formatDuration } from "./numbers.ts";
import { shownZone, wallTimeOf } from "./zone.ts";

const pad = (value: number): string => String(value).padStart(2, "0");

/** A time of day in the zone that is shown: `14:03:22`; with the date when it is another day than `now`. */
export function formatTime(ms: number, now: number): string {
  const { hour, minute, second } = wallTimeOf(ms, shownZone());
  const time = `${pad(hour)}:${pad(minute)}:${pad(second)}`;
  return formatDate(ms) === formatDate(now) ? time : `${formatDate(ms)} ${time}`;
}

/** A day in the zone that is shown: `2026-03-01`. */
function formatDate(ms: number): string {
  const { year, month, day } = wallTimeOf(ms, shownZone());
  return `${year}-${pad(month)}-${pad(day)}`;
}

/** A range in the zone that is shown: `2026-03-01 08:00:00 to 09:00:00`. */
export function formatRange(from: number, to: number): string {
  const clock = (ms: number): string => formatTime(ms, ms);
  const isOneDay = formatDate(from) === formatDate(to);
  return `${formatDate(from)} ${clock(from)} to ${isOneDay ? "" : `${formatDate(to)} `}${clock(to)}`;
}

/** How long ago: `just now`, `5 min ago`. */
export function formatAge(ms: number, now: number): string {
  const seconds = (now - ms) / 1000;
  if (seconds < 2) return "just now";
  return `${formatDuration(seconds < 60 ? Math.round(seconds) : seconds)} ago`;
}

/** A time on an axis whose marks are this many seconds apart. */
export function formatAxisTime(ms: number, stepSeconds: number): string {
  const { month, day, hour, minute, second } = wallTimeOf(ms, shownZone());
  const isMidnight = hour === 0 && minute === 0 && second === 0;
  if (stepSeconds >= 86_400 || isMidnight) return `${pad(month)}-${pad(day)}`;
  const time = `${pad(hour)}:${pad(minute)}`;
  return stepSeconds < 60 ? `${time}:${pad(second)}` : time;
}
