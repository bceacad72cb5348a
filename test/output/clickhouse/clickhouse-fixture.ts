import type { ClickHouseOutputConfig } from "../../../src/output/index.ts";
import { noTls } from "../http/http-fixture.ts";

export function clickHouseConfig(url: string, given: Partial<ClickHouseOutputConfig> = {}): ClickHouseOutputConfig {
  return {
    kind: "clickhouse",
    urls: [url],
    headers: { "x-clickhouse-user": "netgloss", "x-clickhouse-key": "secret" },
    tls: noTls,
    maxConnections: 4,
    isCompressed: false,
    database: "default",
    tablePrefix: "netgloss_",
    isTableMade: true,
    ttlDays: 30,
    ...given,
  };
}
