import { apiError, type ExploreOperations } from "../api/index.ts";
import { answerCsv, ExploreError, flowsCsv, readFlowsQuery, readQuery } from "../explore/index.ts";
import type { Clock } from "../report/index.ts";
import type { ExploreOutput } from "./threads/explore-output.ts";

/** The questions of the API to Explore. */
export function exploreOperations(explore: ExploreOutput, clock: Clock): ExploreOperations {
  return {
    status: () => explained(() => explore.status()),
    query: (body, format, signal) =>
      explained(async () => {
        const answer = await explore.query(readQuery(body, clock.now(), format === "json" ? "auto" : "none"), signal);
        return format === "json" ? answer : Buffer.from(answerCsv(answer));
      }),
    flows: (body, format, signal) =>
      explained(async () => {
        const query = readFlowsQuery(body, clock.now());
        const answer = await explore.flows(query, signal);
        return format === "json" ? answer : Buffer.from(flowsCsv(answer, query.fields));
      }),
  };
}

/** @throws ConnectError in place of an ExploreError. */
async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ExploreError)) throw error;
    const { code, message, field } = error;
    const violations = field === undefined ? [] : [{ field, description: message }];
    // Who has gone does not read it.
    const shown = code === "canceled" ? "unavailable" : code;
    throw apiError(shown, "EXPLORE_REFUSED", message, { violations });
  }
}
