import type { SettingsOf } from "../../../src/output/index.ts";

export type ClickHouseSettings = SettingsOf<"CLICKHOUSE">;

export function clickHouseServer(url: string, given: Partial<ClickHouseSettings> = {}): Partial<ClickHouseSettings> {
  return { ADDRESSES: [url], USERNAME: "netgloss", PASSWORD: "secret", ...given };
}
