import { createApiServer } from "../api/index.ts";
import { createUdmEnricher } from "../enrich/index.ts";
import { createFlowListener } from "../flow/index.ts";
import type { Enricher, Sink } from "../record/index.ts";
import { createHealth, createMetrics, startComponents, stopComponents } from "../report/index.ts";
import type { Clock, Component, Log, Metrics } from "../report/index.ts";
import { createUdmFileStore } from "../udm/index.ts";
import { createProcessMetrics } from "./process-metrics.ts";
import { missingForMetadataApi, type Settings } from "./settings/index.ts";

export interface CollectorOptions {
  readonly settings: Settings;
  readonly log: Log;
  readonly clock: Clock;
  readonly version: string;
  /** Further takers of records, beside the outputs of the settings. */
  readonly sinks?: readonly Sink[];
}

/** The whole collector. It joins the rooms and does nothing else. */
export interface Collector extends Component {
  /** The metrics that /metrics shows. */
  readonly metrics: Metrics;
  /** The port of the API, once started. */
  apiPort(): number;
  /** The ports on which flows are received, once started. */
  flowPorts(): readonly number[];
  /** SIGHUP: reads the certificates again, and the metadata file unless the collector owns it in good order. */
  reload(): void;
  /** SIGUSR2: opens the output files again, after they were renamed. */
  reopen(): void;
}
