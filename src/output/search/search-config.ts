import type { TlsConfig } from "../delivery/tls-options.ts";

/** What the settings say of an output to Elasticsearch or OpenSearch; plain data. */
export interface SearchOutputConfig {
  readonly kind: "search";
  readonly product: "elasticsearch" | "opensearch";
  readonly urls: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsConfig;
  readonly isCompressed: boolean;
  readonly maxConnections: number;
  /** `rollover`: a data stream; else plain indices, named after the UTC day or month of `@timestamp`. */
  readonly period: "rollover" | "daily" | "monthly";
  /** Begins the names of indices and of the template. */
  readonly prefix: string;
  /** Ends the names of indices; empty: none. */
  readonly suffix: string;
  /** How indices are called: as netgloss does, or as NetObserv does with the names of its own schema or of ECS. */
  readonly naming: "netgloss" | "codex" | "ecs";
  /** Absent: the operator makes the index templates. */
  readonly template: SearchTemplateConfig | undefined;
}

export interface SearchTemplateConfig {
  /** Whether one that exists is replaced. */
  readonly overwrite: boolean;
  readonly shards: number;
  readonly replicas: number;
  /** As Elasticsearch writes it: `10s`. */
  readonly refreshInterval: string;
  readonly codec: string;
  /** The lifecycle policy of data streams, made if it does not exist; empty: none. */
  readonly policy: string;
  /** Ingest pipelines; `_none`: none. */
  readonly defaultPipeline: string;
  readonly finalPipeline: string;
}
