import type { ExploreProfileAnswer, ExploreStatusAnswer, SavedViewsAnswer } from "./answers.gen.ts";
import type { ApiCall } from "./call.ts";
import type { ExploreAnswer } from "./explore-answer.ts";

export type ExploreStatus = ExploreStatusAnswer;
/** A field that Explore keeps. */
export type ExploreField = ExploreStatus["fields"][number];

export type Measure = SavedViewsAnswer["views"][number]["measure"];
/** When bytes and packets count. */
export type When = "flowed" | "received";
/** What an address says of when bytes and packets count; when they flowed, unless it says otherwise. */
export const readWhen = (query: URLSearchParams): When => (query.get("when") === "received" ? "received" : "flowed");

/** What the address says for it: only what is not as at first. */
export const writeWhen = (when: When): string | undefined => (when === "flowed" ? undefined : when);

export interface ExploreQuestion {
  readonly from: string;
  readonly to: string;
  readonly filter: string;
  readonly dimensions: readonly string[];
  readonly measure: Measure;
  readonly when: When;
  readonly limit: number;
  readonly granularity: string;
  readonly compare?: boolean;
}

export const exploreStatusCall: ApiCall = { path: "api/v1/explore/status" };
export const exploreQueryCall = (question: ExploreQuestion): ApiCall => ({
  path: "api/v1/explore/query",
  body: question,
});

export type Profile = ExploreProfileAnswer;

/** What a value does; each part is a question of its own, so that the first is shown while the others are answered. */
export const profileCall = (
  of: { readonly field: string; readonly value: string; readonly from: string; readonly to: string },
  part: "traffic" | "rankings" | "seen",
): ApiCall => ({ path: "api/v1/explore/profile", body: { ...of, parts: [part] } });

/** Since when there is something to look back at. */
export function keptSince({ from, rollups }: ExploreStatus): string | undefined {
  const since = [from, rollups?.from].filter((each) => each !== undefined);
  return since.toSorted((a, b) => Date.parse(a) - Date.parse(b))[0];
}

const units: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * The begin of a range that ends now: where the store begins, when that is later. Averages are then those of the time that is kept, and a chart of the
 * first minutes is not empty.
 */
export function keptFrom(from: string, storeFrom: string | undefined, now: number): string {
  const [, count, unit = ""] = /^-(\d+)([mhd])$/.exec(from) ?? [];
  const begin = Date.parse(storeFrom ?? "");
  if (count === undefined || Number.isNaN(begin) || storeFrom === undefined) return from;
  return begin > now - Number(count) * (units[unit] ?? 0) ? storeFrom : from;
}

type AnswerUnit = ExploreAnswer["unit"];

/** Whether it counts different values: those of several keys have no sum. */
export const isCounted = (unit: AnswerUnit): unit is "addresses" | "ports" => unit === "addresses" || unit === "ports";

/** The unit of an answer as numbers are shown with it; what is counted stands above them. */
export function shownUnit(
  unit: AnswerUnit,
): Exclude<AnswerUnit, "packet/s" | "addresses" | "ports"> | "packets/s" | "" {
  if (isCounted(unit)) return "";
  return unit === "packet/s" ? "packets/s" : unit;
}
