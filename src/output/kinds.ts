import { clickHouse } from "./clickhouse/settings.ts";
import type { ValuesOf } from "../base/settings/index.ts";
import type { CommonRows } from "./delivery/settings.ts";
import { cribl, http } from "./http/settings.ts";
import { kafka } from "./kafka/settings.ts";
import { loki } from "./loki/settings.ts";
import { nats } from "./nats/settings.ts";
import { otlp } from "./otlp/settings.ts";
import type { OwnSettings } from "./output-kind.ts";
import { parquet } from "./parquet/settings.ts";
import { elasticsearch, opensearch } from "./search/settings.ts";
import { splunk } from "./splunk/settings.ts";
import { syslog } from "./syslog/settings.ts";
import { victoriaLogs } from "./victoria-logs/settings.ts";

/** All outputs to stores, in the order of the settings page. A command that has settings loads these files and those they share, but no adapter. */
export const outputKinds = [
  elasticsearch,
  opensearch,
  http,
  cribl,
  clickHouse,
  splunk,
  loki,
  victoriaLogs,
  otlp,
  kafka,
  nats,
  syslog,
  parquet,
] as const;

export { fileRows, monitorRows, stdoutRows } from "./local/settings.ts";

export type StoreKind = (typeof outputKinds)[number];

/** The word for an output to a store in the names of its settings. */
export type StoreWord = StoreKind["word"];

/** The values of the settings that all outputs to stores have. */
export type CommonValues = ValuesOf<CommonRows>;

/** The settings of an output to a store by its word, as its thread has them. */
export type SettingsOf<Word extends StoreWord> = OwnSettings<Extract<StoreKind, { word: Word }>["rows"]>;
