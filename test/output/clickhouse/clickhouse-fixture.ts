import type { ClickHouseOutputConfig, RecordBatch } from "../../../src/output/index.ts";
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

/** A batch of lines, as the core makes it. */
export function batchOf(lines: readonly string[], number = 0): RecordBatch {
  const chunk = Buffer.from(lines.map((line) => `${line}\n`).join(""));
  return {
    id: { instance: "abc", number },
    chunks: [chunk],
    count: lines.length,
    byteLength: chunk.length,
    oldestAt: 0,
  };
}
