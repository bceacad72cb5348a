import type { FilterCompletionAnswer } from "./answers.gen.ts";
import { callApi } from "./call.ts";

export type Completion = FilterCompletionAnswer;
export type CompletionItem = Completion["items"][number];

/** Asks what may stand at the cursor of a filter over records. */
export const completeFilter = (filter: string, cursor: number, signal: AbortSignal): Promise<Completion> =>
  callApi<Completion>({ path: "api/v1/filter/completion", body: { filter, cursor } }, { signal, timeoutMs: 5000 });
