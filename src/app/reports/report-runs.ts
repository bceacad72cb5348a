import type { Report, ReportRun } from "../../server/index.ts";
import { BrokenState, type StateForm } from "../views/kept-state.ts";
import type { SavedState } from "../views/saved-items.ts";
import { readPeriod, ZoneClock } from "./schedule.ts";

/** A pending or sent report. Times are milliseconds since the epoch. */
export interface Run {
  readonly id: string;
  readonly report: string;
  readonly due: number;
  /** The start of the data's time range. */
  readonly from: number;
  readonly to: number;
  readonly by: string;
  /** The session of the collector that sends it. */
  readonly holder: string;
  readonly state: ReportRun["state"];
  readonly deliveries: readonly { readonly action: string; readonly sentAt?: number; readonly fault?: string }[];
  readonly fault?: string;
}

/** The runs of all reports, the newest first. */
export type ReportRuns = readonly Run[];

const version = 1;
const mostRuns = 50;
/** The most runs of deleted reports, in all. */
const mostGone = 1000;
const dayMs = 86_400_000;
const goneMs = 7 * dayMs;

/** The text form of the runs of reports. */
export const runsForm: StateForm<ReportRuns> = {
  empty: [],
  format: (runs) => `${JSON.stringify({ version, runs }, undefined, 1)}\n`,
  parse(text) {
    try {
      const { version: found, runs } = JSON.parse(text) as { version?: number; runs?: ReportRuns };
      const isRun = ({ id, report, due, from, to, holder, deliveries }: Run): boolean =>
        [id, report, holder].every((each) => typeof each === "string") &&
        [due, from, to].every((each) => Number.isFinite(each)) &&
        Array.isArray(deliveries);
      if (found === version && Array.isArray(runs) && runs.every(isRun)) return runs;
    } catch {
      // Treat it like a file of another form.
    }
    throw new BrokenState(`it is no file of runs of reports of version ${version}`);
  },
};

export function rangeOf({ period, zone }: Report, due: number): { readonly from: number; readonly to: number } {
  return ZoneClock.of(zone).range(readPeriod(period) ?? dayMs, due);
}

export const timeText = (at: number): string => new Date(at).toISOString();

export const isOf =
  ({ id }: Report, at: number) =>
  ({ report, due }: Run): boolean =>
    report === id && due === at;

/** Returns the part of ids that distinguishes this collector from others whose mail may go to the same people. */
export const tagOf = (session: string): string => session.slice(0, 8);

export function runOf(report: Report, due: number, holder: string) {
  const minute = timeText(due).slice(0, 16).replaceAll(/[-:]/g, "");
  return {
    id: `${report.id}-${minute}-${tagOf(holder)}`,
    report: report.id,
    due,
    ...rangeOf(report, due),
    by: "",
    holder,
    state: "waiting" as const,
    deliveries: report.actions.map((action) => ({ action })),
  };
}

/**
 * Keeps the last runs of each report, and those that wait; of deleted reports only those of some days. A report that another collector has just
 * created is not known here, and its sent runs must not be forgotten.
 */
export function keptRuns(runs: ReportRuns, { report: reports }: SavedState, now: number): ReportRuns {
  const counts = new Map<string, number>();
  let gone = 0;
  return runs.filter(({ report, state, due }) => {
    const count = (counts.get(report) ?? 0) + 1;
    counts.set(report, count);
    if (state === "waiting") return true;
    return count <= mostRuns && (reports.has(report) || (now - due < goneMs && gone++ < mostGone));
  });
}

export function shownRun({ id, due, from, to, by, state, deliveries, fault }: Run): ReportRun {
  return {
    id,
    due: timeText(due),
    from: timeText(from),
    to: timeText(to),
    by,
    state,
    deliveries: deliveries.map((each) => ({
      action: each.action,
      sentAt: each.sentAt === undefined ? undefined : timeText(each.sentAt),
      fault: each.fault,
    })),
    fault,
  };
}
