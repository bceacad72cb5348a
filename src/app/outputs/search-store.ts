import type { StoreConfig } from "../../output/index.ts";
import type { Settings } from "../settings/index.ts";
import { basicAuthorization, urlOf } from "./store-server.ts";

type SearchStoreConfig = Extract<StoreConfig, { kind: "search" }>;

/** Elasticsearch or OpenSearch. @param policy of the life of indices; empty: none. */
export function searchStore(
  word: "ELASTICSEARCH" | "OPENSEARCH",
  settings: Settings,
  policy: string,
): SearchStoreConfig {
  const of = <Name extends string>(name: Name): `SVC_OUTPUT_${typeof word}_${Name}` => `SVC_OUTPUT_${word}_${name}`;
  return {
    kind: "search",
    product: word === "ELASTICSEARCH" ? "elasticsearch" : "opensearch",
    urls: settings[of("ADDRESSES")].map((address) => urlOf(address, settings[of("TLS_ENABLE")], "")),
    headers: basicAuthorization(settings[of("USERNAME")], settings[of("PASSWORD")]),
    tls: {
      caPath: settings[of("TLS_CA_CERT_FILEPATH")] || settings[of("CLIENT_CA_CERT_FILEPATH")],
      certPath: settings[of("CLIENT_CERT_FILEPATH")],
      keyPath: settings[of("CLIENT_KEY_FILEPATH")],
      skipVerification: settings[of("TLS_SKIP_VERIFICATION")],
    },
    isCompressed: settings[of("COMPRESSION")] === "gzip",
    maxConnections: settings[of("REQUESTS_IN_FLIGHT")],
    period: settings[of("INDEX_PERIOD")],
    prefix: settings[of("INDEX_PREFIX")],
    suffix: settings[of("INDEX_SUFFIX")],
    naming: settings[of("INDEX_NAMING")] === "netgloss" ? "netgloss" : settings[of("ECS_ENABLE")] ? "ecs" : "codex",
    template: settings[of("INDEX_TEMPLATE_ENABLE")]
      ? {
          overwrite: settings[of("INDEX_TEMPLATE_OVERWRITE")],
          shards: settings[of("INDEX_TEMPLATE_SHARDS")],
          replicas: settings[of("INDEX_TEMPLATE_REPLICAS")],
          refreshInterval: settings[of("INDEX_TEMPLATE_REFRESH_INTERVAL")],
          codec: settings[of("INDEX_TEMPLATE_CODEC")],
          policy,
          defaultPipeline: settings[of("INDEX_TEMPLATE_PIPELINE_DEFAULT")],
          finalPipeline: settings[of("INDEX_TEMPLATE_PIPELINE_FINAL")],
        }
      : undefined,
  };
}
