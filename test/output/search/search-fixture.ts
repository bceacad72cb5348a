import type { SearchOutputConfig } from "../../../src/output/index.ts";
import { noTls } from "../http/http-fixture.ts";

export const searchTemplate: NonNullable<SearchOutputConfig["template"]> = {
  overwrite: true,
  shards: 1,
  replicas: 0,
  refreshInterval: "1s",
  codec: "best_compression",
  policy: "netgloss",
  defaultPipeline: "_none",
  finalPipeline: "_none",
};

export function searchConfig(url: string, given: Partial<SearchOutputConfig> = {}): SearchOutputConfig {
  return {
    kind: "search",
    product: "elasticsearch",
    urls: [url],
    headers: {},
    tls: noTls,
    isCompressed: false,
    maxConnections: 4,
    period: "rollover",
    prefix: "netgloss",
    suffix: "",
    naming: "netgloss",
    template: searchTemplate,
    ...given,
  };
}
