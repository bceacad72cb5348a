import type { Clock } from "../report/index.ts";
import type { ClickHouseOutputConfig } from "./clickhouse/clickhouse-config.ts";
import { createClickHouseOutput } from "./clickhouse/clickhouse-output.ts";
import type { OutputAdapter } from "./delivery/output-adapter.ts";
import { createHttpOutput, type HttpOutputConfig } from "./http/http-output.ts";
import { createLokiOutput, type LokiOutputConfig } from "./loki/loki-output.ts";
import { createOtlpOutput, type OtlpOutputConfig } from "./otlp/otlp-output.ts";
import type { KafkaOutputConfig } from "./kafka/kafka-config.ts";
import { createKafkaOutput } from "./kafka/kafka-output.ts";
import type { NatsOutputConfig } from "./nats/nats-config.ts";
import { createNatsOutput } from "./nats/nats-output.ts";
import type { SearchOutputConfig } from "./search/search-config.ts";
import { createSearchOutput } from "./search/search-output.ts";
import { createSplunkOutput, type SplunkOutputConfig } from "./splunk/splunk-output.ts";
import type { SyslogOutputConfig } from "./syslog/syslog-config.ts";
import { createSyslogOutput } from "./syslog/syslog-output.ts";
import { createVictoriaLogsOutput, type VictoriaLogsOutputConfig } from "./victoria-logs/victoria-logs-output.ts";

/** What the settings say of a store, by its kind; plain data, which may be handed to another thread. */
export type StoreConfig =
  | HttpOutputConfig
  | SearchOutputConfig
  | ClickHouseOutputConfig
  | SplunkOutputConfig
  | LokiOutputConfig
  | VictoriaLogsOutputConfig
  | OtlpOutputConfig
  | KafkaOutputConfig
  | NatsOutputConfig
  | SyslogOutputConfig;

/** What an adapter may use besides its configuration. */
export interface AdapterContext {
  readonly clock: Clock;
}

type Factories = {
  readonly [Kind in StoreConfig["kind"]]: (
    config: Extract<StoreConfig, { kind: Kind }>,
    context: AdapterContext,
  ) => OutputAdapter;
};

/** The one table of outputs to stores. */
const factories: Factories = {
  http: (config, { clock }) => createHttpOutput(config, clock),
  kafka: (config) => createKafkaOutput(config),
  search: (config, { clock }) => createSearchOutput(config, clock),
  clickhouse: (config, { clock }) => createClickHouseOutput(config, clock),
  splunk: (config, { clock }) => createSplunkOutput(config, clock),
  loki: (config, { clock }) => createLokiOutput(config, clock),
  victoria_logs: (config, { clock }) => createVictoriaLogsOutput(config, clock),
  nats: (config) => createNatsOutput(config),
  syslog: (config, { clock }) => createSyslogOutput(config, clock),
  otlp: (config, { clock }) => createOtlpOutput(config, clock),
};

/** @throws Error when this Node or host cannot do what the configuration asks for. */
export function createAdapter(config: StoreConfig, context: AdapterContext): OutputAdapter {
  const create = factories[config.kind] as (config: StoreConfig, context: AdapterContext) => OutputAdapter;
  return create(config, context);
}
