import type { FilterCompletionAnswer } from "./answers.gen.ts";
import { callApi } from "./call.ts";

export type Completion = FilterCompletionAnswer;
export type CompletionItem = Completion["items"][number];

/** What a filter is over: flow records, or entries of the metadata. */
export type FilteredThing = "records" | "metadata";

/** Asks what may stand at the cursor of a filter. */
export const completeFilter = (
  of: FilteredThing,
  filter: string,
  cursor: number,
  signal: AbortSignal,
): Promise<Completion> =>
  callApi<Completion>({ path: "api/v1/filter/completion", body: { filter, cursor, of } }, { signal, timeoutMs: 5000 });
