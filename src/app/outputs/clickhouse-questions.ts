import {
  ClickHouseExplore,
  ExploreError,
  tableParquet,
  type AskClickHouse,
  type ExploreErrorCode,
} from "../../explore/index.ts";
import { clickHouseColumns, createClickHouseClient, DeliveryError, type SettingsOf } from "../../output/index.ts";
import type { Clock } from "../../base/report/index.ts";
import type { Settings } from "../settings/index.ts";
import { storeOutput } from "./store-outputs.ts";

const advice = "ask for a shorter range, a narrower filter or fewer dimensions";
/** ClickHouse exceptions that a question may cause. */
const exceptions: readonly (readonly [RegExp, ExploreErrorCode, string])[] = [
  [/TIMEOUT_EXCEEDED/, "deadline_exceeded", `the question took longer than SVC_EXPLORE_TIMEOUT grants: ${advice}`],
  [
    /MEMORY_LIMIT_EXCEEDED/,
    "resource_exhausted",
    `the question needs more memory than SVC_EXPLORE_MEMORY grants: ${advice}`,
  ],
  [
    /CANNOT_COMPILE_REGEXP/,
    "invalid_argument",
    "ClickHouse does not take the regular expression: of \\p{…} it knows general categories and scripts",
  ],
];
const maxConnections = 4;

/** Creates queries of the table that the output to ClickHouse fills. */
export function createClickHouseQuestions(settings: Settings, clock: Clock): ClickHouseExplore {
  const store = storeOutput("clickhouse", settings)?.settings as SettingsOf<"CLICKHOUSE">;
  const client = createClickHouseClient(store, maxConnections, clock);
  const ask: AskClickHouse = async (statement, parameters, signal) => {
    const path = `/?${new URLSearchParams(parameters).toString()}`;
    const answer = await client
      .request({ method: "POST", path, body: [Buffer.from(statement)], signal })
      .catch((error: unknown) => {
        signal.throwIfAborted();
        if (error instanceof DeliveryError) throw new ExploreError("unavailable", `ClickHouse: ${error.message}`);
        throw error;
      });
    const text = answer.body.toString();
    if (answer.status === 200 && answer.headers["x-clickhouse-exception-code"] === undefined) return text;
    const known = exceptions.find(([pattern]) => pattern.test(text));
    if (known !== undefined) throw new ExploreError(known[1], known[2]);
    throw new ExploreError("unavailable", `ClickHouse refuses the question: ${text.trim().slice(0, 500)}`);
  };
  return new ClickHouseExplore({
    ask,
    parquet: tableParquet,
    database: store.DATABASE,
    table: `${store.TABLE_PREFIX}flow`,
    columns: clickHouseColumns(),
    fields: settings.SVC_EXPLORE_FIELDS,
    memoryBytes: settings.SVC_EXPLORE_MEMORY,
    timeoutMs: 1000 * settings.SVC_EXPLORE_TIMEOUT,
    clock,
  });
}
