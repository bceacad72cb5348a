import { reversedField, reversedFilter, reversedMeasure } from "../format/reversed.ts";
import type { QueryValues } from "../navigation/place.ts";
import type { SavedViewsAnswer } from "./answers.gen.ts";
import type { ExploreAnswer } from "./explore-answer.ts";
import { isCounted, type ExploreQuestion } from "./explore.ts";

/** How an answer is drawn; what is asked for it does not change. */
export const shapes = [
  ["stacked", "Stacked"],
  ["lines", "Lines"],
  ["share", "100 %"],
  ["grid", "Grid"],
] as const;
export type Shape = (typeof shapes)[number][0];

export interface Look {
  readonly shape: Shape;
  /** Whether the other way is drawn below. */
  readonly isBothWays: boolean;
  /** Whether the table has the 95th percentile and the maximum. */
  readonly hasPeaks: boolean;
}

export function readLook(query: URLSearchParams): Look {
  return {
    shape: shapes.find(([name]) => name === query.get("shape"))?.[0] ?? "stacked",
    isBothWays: query.get("ways") === "both",
    hasPeaks: query.get("peaks") === "true",
  };
}

/** What the address says of it: only what is not as at first. */
export function writeLook({ shape, isBothWays, hasPeaks }: Partial<Look>): QueryValues {
  return {
    ...(shape !== undefined && { shape: shape === "stacked" ? undefined : shape }),
    ...(isBothWays !== undefined && { ways: isBothWays ? "both" : undefined }),
    ...(hasPeaks !== undefined && { peaks: hasPeaks ? "true" : undefined }),
  };
}

type SavedLook = Pick<SavedViewsAnswer["views"][number], "shape" | "bothWays" | "peaks">;

/** As views have it. */
export const savedLook = ({ shape, isBothWays, hasPeaks }: Look): SavedLook => ({
  shape,
  bothWays: isBothWays,
  peaks: hasPeaks,
});

export const lookOf = ({ shape, bothWays, peaks }: SavedLook): Look => ({
  shape,
  isBothWays: bothWays,
  hasPeaks: peaks,
});

/** How an answer is drawn: different values have no sum, so they are lines. */
export const drawnShape = (shape: Shape, unit: ExploreAnswer["unit"]): Shape =>
  isCounted(unit) && shape !== "grid" ? "lines" : shape;

/** The question for the flows of the other way. */
export function otherWay(question: ExploreQuestion): ExploreQuestion {
  return {
    ...question,
    filter: reversedFilter(question.filter),
    dimensions: question.dimensions.map(reversedField),
    measure: reversedMeasure(question.measure),
    compare: false,
    // The largest of one way are seldom those of the other.
    limit: 100,
  };
}

const granularities: Readonly<Record<number, string>> = { 10: "10s", 60: "1m", 300: "5m", 3600: "1h", 86_400: "1d" };

/** The question for the sum of all over as many values before those of an answer; undefined where there is none. */
export function timeBefore(question: ExploreQuestion, answer: ExploreAnswer): ExploreQuestion | undefined {
  const { times = [], granularitySeconds, total, missingBefore } = answer;
  const first = Date.parse(times[0] ?? "");
  const granularity = granularities[granularitySeconds];
  if (total.previous === undefined || missingBefore !== undefined || Number.isNaN(first) || granularity === undefined) {
    return undefined;
  }
  const from = new Date(first - times.length * granularitySeconds * 1000).toISOString();
  return { ...question, dimensions: [], compare: false, granularity, from, to: new Date(first).toISOString() };
}
