export {
  createEmbeddedExplore,
  type EmbeddedExplore,
  type EmbeddedExploreConfig,
  type FlowsAnswer,
} from "./embedded-explore.ts";
export { ExploreError, type ExploreErrorCode } from "./explore-error.ts";
export { answerCsv, flowsCsv } from "./query/csv.ts";
export type { ExploreAnswer } from "./query/answer.ts";
export { readFlowsQuery, readQuery, type ExploreQuery, type FlowsQuery } from "./query/explore-query.ts";
export type { ExploreStatus } from "./status.ts";
