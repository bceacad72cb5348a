import type { EmbeddedExploreConfig, ExploreErrorCode } from "../../explore/index.ts";
import type { LentLines } from "../../output/index.ts";
import type { LogLevel } from "../../report/index.ts";

/** What the thread of Explore is given. */
export interface ExploreThreadData {
  readonly explore: EmbeddedExploreConfig;
  readonly logLevel: LogLevel;
}

/** Lines on their way to it, and which part of its inbox is full. */
export interface ExploreLines {
  readonly lent: readonly LentLines[];
  readonly backlog: number;
}

/** A question; the number is for {@link ExploreThreadData}'s call `cancel`. */
export interface Asked<Query> {
  readonly number: number;
  readonly query: Query;
}

/** What comes of it. An error that is the question's own crosses as plain data. */
export type Answered<Answer> =
  | { readonly answer: Answer }
  | { readonly refused: { readonly code: ExploreErrorCode; readonly message: string; readonly field?: string } };

/** What the thread reports by itself. */
export type ExploreNote =
  /** Loans of lines that it needs no more. */
  | { readonly returned: readonly number[] }
  /** What is wrong with the store; null: it works. */
  | { readonly fault: string | null };
