import { apiError, type ExploreOperations } from "../api/index.ts";
import {
  answerTable,
  ExploreError,
  flowsTable,
  readFlowsQuery,
  readQuery,
  tableCsv,
  type AnswerTable,
} from "../explore/index.ts";
import type { Clock } from "../report/index.ts";
import type { ExploreQuestions } from "./threads/explore-output.ts";

/** The questions of the API to Explore. */
export function exploreOperations(explore: ExploreQuestions, clock: Clock): ExploreOperations {
  const file = async (table: AnswerTable, format: "csv" | "parquet"): Promise<Uint8Array> => {
    return format === "csv" ? Buffer.from(tableCsv(table)) : explore.parquet(table);
  };
  return {
    status: (signal) => explained(async () => ({ droppedRows: 0, ...(await explore.status(signal)) })),
    query: (body, format, signal) =>
      explained(async () => {
        const answer = await explore.query(readQuery(body, clock.now(), format === "json" ? "auto" : "none"), signal);
        return format === "json" ? answer : file(answerTable(answer), format);
      }),
    flows: (body, format, signal) =>
      explained(async () => {
        const query = readFlowsQuery(body, clock.now());
        const answer = await explore.flows(query, signal);
        return format === "json" ? answer : file(flowsTable(answer, query.fields), format);
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
