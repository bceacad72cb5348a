import type { ExploreQueryAnswer } from "./answers.gen.ts";

/** What is answered to a question of Explore, and its parts. */
export type ExploreAnswer = ExploreQueryAnswer;
export type ExploreRow = ExploreAnswer["rows"][number];
export type ExploreValue = ExploreAnswer["total"];
/** A value for one dimension. */
export type KeyValue = ExploreRow["key"][number];
/** What is not kept, up to a time; fields that keep sums by minute from answering. */
export type MissingPart = NonNullable<ExploreAnswer["missing"]>;
