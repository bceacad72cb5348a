export { createEmbeddedExplore, type EmbeddedExplore, type EmbeddedExploreConfig } from "./embedded-explore.ts";
export type { FlowsAnswer } from "./query/answer.ts";
export {
  createClickHouseExplore,
  type AskClickHouse,
  type ClickHouseExplore,
} from "./clickhouse/clickhouse-explore.ts";
export { tableParquet } from "./duckdb/parquet.ts";
export { columnOf, exploreColumns, isMetadataName } from "./column.ts";
export { ExploreError, type ExploreErrorCode } from "./column.ts";
export { answerTable, flowsTable, type AnswerTable } from "./query/answer.ts";
export { tableCsv } from "./query/answer.ts";
export type { ExploreAnswer } from "./query/answer.ts";
export { readFlowsQuery, readQuery, type ExploreQuery, type FlowsQuery } from "./query/explore-query.ts";
export type { ExploreStatus } from "./status.ts";
