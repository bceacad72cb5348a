import type { TimeChoice } from "./time-choice.ts";

/** Ranges to choose from. */
export const presets: readonly TimeChoice[] = [
  { kind: "last", count: 15, unit: "m" },
  { kind: "last", count: 1, unit: "h" },
  { kind: "last", count: 6, unit: "h" },
  { kind: "last", count: 24, unit: "h" },
  { kind: "last", count: 7, unit: "d" },
  { kind: "last", count: 30, unit: "d" },
  { kind: "last", count: 90, unit: "d" },
  { kind: "named", name: "today" },
  { kind: "named", name: "yesterday" },
  { kind: "named", name: "this week" },
  { kind: "named", name: "last week" },
  { kind: "named", name: "this month" },
  { kind: "named", name: "last month" },
];

/** A range that is as long again and has the other in its middle, ending now at most; milliseconds. */
export function zoomedOut(from: number, to: number, now: number): TimeChoice {
  const end = Math.min(now, to + (to - from) / 2);
  return wholeSeconds(end - (to - from) * 2, end);
}

/** The range before or after one, by half its length. */
export function moved(from: number, to: number, direction: -1 | 1, now: number): TimeChoice {
  const end = Math.min(now, to + (direction * (to - from)) / 2);
  return wholeSeconds(end - (to - from), end);
}

/** A range of whole seconds, one at least: as it is drawn over a chart, its ends have no meaning below that. */
export function wholeSeconds(from: number, to: number): TimeChoice {
  const start = Math.max(0, Math.floor(from / 1000));
  return { kind: "fixed", from: start * 1000, to: Math.max(start + 1, Math.round(to / 1000)) * 1000 };
}
