import type { SettingsOf } from "../../../src/output/index.ts";

/** Settings that Elasticsearch and OpenSearch have. */
export type SearchSettings = Omit<SettingsOf<"OPENSEARCH">, "INDEX_TEMPLATE_ISM_POLICY">;

export function searchServer(url: string, given: Partial<SearchSettings> = {}): Partial<SearchSettings> {
  return { ADDRESSES: [url], INDEX_TEMPLATE_REFRESH_INTERVAL: "1s", ...given };
}
