import type { Clock } from "../base/report/index.ts";
import type { ClickHouseOutputConfig } from "./clickhouse/clickhouse-config.ts";
import { createClickHouseOutput } from "./clickhouse/clickhouse-output.ts";
import { fieldNames, type NameOf } from "./delivery/field-names.ts";
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
  /** Whether lines have the names of the Elastic Common Schema. */
  readonly isEcs?: boolean;
}

type Factories = {
  readonly [Kind in StoreConfig["kind"]]: (
    config: Extract<StoreConfig, { kind: Kind }>,
    context: { readonly clock: Clock; readonly nameOf: NameOf },
  ) => OutputAdapter;
};

/** The one table of outputs to stores. */
const factories: Factories = {
  http: (config, { clock }) => createHttpOutput(config, clock),
  kafka: (config, { nameOf }) => createKafkaOutput({ ...config, keyFields: config.keyFields.map(nameOf) }),
  search: (config, { clock, nameOf }) => createSearchOutput(config, clock, nameOf),
  clickhouse: (config, { clock, nameOf }) => createClickHouseOutput(config, clock, nameOf),
  splunk: (config, { clock, nameOf }) => createSplunkOutput(config, clock, nameOf),
  loki: (config, { clock, nameOf }) =>
    createLokiOutput({ ...config, labelFields: config.labelFields.map(nameOf) }, clock),
  victoria_logs: (config, { clock, nameOf }) =>
    createVictoriaLogsOutput({ ...config, streamFields: config.streamFields.map(nameOf) }, clock),
  nats: (config, { nameOf }) => createNatsOutput({ ...config, keyFields: config.keyFields.map(nameOf) }),
  syslog: (config, { clock }) => createSyslogOutput(config, clock),
  otlp: (config, { clock, nameOf }) =>
    createOtlpOutput({ ...config, attributeFields: config.attributeFields.map(nameOf) }, clock),
};

/** @throws Error when this Node or host cannot do what the configuration asks for. */
export function createAdapter(config: StoreConfig, context: AdapterContext): OutputAdapter {
  const { clock, isEcs = false } = context;
  const create = factories[config.kind] as (config: StoreConfig, context: object) => OutputAdapter;
  return create(config, { clock, nameOf: fieldNames(isEcs) });
}
