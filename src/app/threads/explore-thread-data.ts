import type { EmbeddedExploreConfig, ExploreErrorCode } from "../../explore/index.ts";
import type { LogLevel } from "../../base/report/index.ts";
import type { ExploreFeed } from "./explore-feed.ts";

/** What the thread of Explore is given. */
export interface ExploreThreadData {
  readonly explore: EmbeddedExploreConfig;
  /** Where it finds records. */
  readonly feed: ExploreFeed;
  readonly logLevel: LogLevel;
}

/** A question; the number is for {@link ExploreThreadData}'s call `cancel`. */
export interface Asked<Query> {
  readonly number: number;
  readonly query: Query;
}

/** The result. An error that is the question's own crosses as plain data. */
export type Answered<Answer> =
  | { readonly answer: Answer }
  | { readonly refused: { readonly code: ExploreErrorCode; readonly message: string; readonly field?: string } };

/** What the thread reports by itself: what is wrong with the store; null: it works. */
export interface ExploreNote {
  readonly fault: string | null;
}
