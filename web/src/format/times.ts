import { formatDuration } from "./numbers.ts";

const pad = (value: number): string => String(value).padStart(2, "0");

/** A time of day in the browser's zone: `14:03:22`; with the date when it is another day than `now`. */
export function formatTime(ms: number, now: number): string {
  const at = new Date(ms);
  const time = `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
  return at.toDateString() === new Date(now).toDateString() ? time : `${formatDate(ms)} ${time}`;
}

/** A day in the browser's zone: `2026-03-01`. */
export function formatDate(ms: number): string {
  const at = new Date(ms);
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
}

/** How long ago: `just now`, `5 min ago`. */
export function formatAge(ms: number, now: number): string {
  const seconds = (now - ms) / 1000;
  if (seconds < 2) return "just now";
  return `${formatDuration(seconds < 60 ? Math.round(seconds) : seconds)} ago`;
}

/** A time on an axis whose marks are this many seconds apart. */
export function formatAxisTime(ms: number, stepSeconds: number): string {
  const at = new Date(ms);
  const isMidnight = at.getHours() === 0 && at.getMinutes() === 0 && at.getSeconds() === 0;
  if (stepSeconds >= 86_400 || isMidnight) return `${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  const time = `${pad(at.getHours())}:${pad(at.getMinutes())}`;
  return stepSeconds < 60 ? `${time}:${pad(at.getSeconds())}` : time;
}
