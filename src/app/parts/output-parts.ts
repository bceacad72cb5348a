import { resolve } from "node:path";
import type { EmbeddedExploreConfig } from "../../explore/index.ts";
import { compileLineFilter, type Sink } from "../../record/index.ts";
import {
  createLineFilter,
  FileSink,
  filteredSink,
  MonitorSink,
  OutputMetrics,
  RollupSink,
  StdoutSink,
} from "../../output/index.ts";
import type { Component, Reporting } from "../../base/report/index.ts";
import { filterOf } from "../shaping.ts";
import { type BeforeStore, storeOutputs } from "../outputs/store-outputs.ts";
import { rollupFields } from "../shaping.ts";
import type { Settings } from "../settings/index.ts";
import { thinningOf } from "../shaping.ts";
import { DeliveringOutput } from "../threads/delivering-output.ts";
import { createRecordFeed } from "../threads/record-feed.ts";
import { ExploreOutput } from "../threads/explore-output.ts";
import { decodingThreads } from "./flow-parts.ts";

/** Outputs to files and pipes, and outputs to stores, with the steps before them. */
export interface Outputs {
  /** The receivers of records. */
  readonly sinks: readonly Sink[];
  /** Components to start and stop: outputs of this host, and those to stores, which are stopped together. */
  readonly local: readonly Component[];
  readonly toStores: readonly Component[];
  readonly stores: readonly DeliveringOutput[];
  readonly explore?: ExploreOutput;
  /** Their metrics, for other receivers of records. */
  readonly metrics: OutputMetrics;
  /** Opens files again, because they may have been renamed. */
  reopen(): void;
}

export function createOutputs(settings: Settings, reporting: Reporting): Outputs {
  const sinks: Sink[] = [];
  const metrics = new OutputMetrics(reporting.metrics);
  const shared = { ...reporting, metrics };
  /** Adds an output to the sinks, after its filter and its rollup. @returns the component to start and stop for it. */
  const take = (output: Sink & Component, name: string, before: BeforeStore, filterName = name): Component => {
    const { rollupFields: names, filter, thinRate } = before;
    const parsed = filterOf(filterName, filter);
    const rolledUp =
      names.length === 0
        ? output
        : new RollupSink(output, {
            fields: rollupFields(name, names),
            maxGroups: settings.SVC_PROCESSOR_ROLLUP_MAX_GROUPS,
            intervalMs: 1000 * settings.SVC_PROCESSOR_ROLLUP_INTERVAL,
            clock: reporting.clock,
            report: metrics.rollup(name),
          });
    const lineFilter = createLineFilter({
      matches: parsed && compileLineFilter(parsed),
      filtered: (records) => metrics.filtered(name, records),
      thinning: thinningOf(settings, {
        maxRate: thinRate,
        byExporter: false,
        clock: reporting.clock,
        thinned: (records) => metrics.thinned(name, records),
      }),
    });
    sinks.push(lineFilter === undefined ? rolledUp : filteredSink(rolledUp, lineFilter));
    return rolledUp;
  };
  const local: Component[] = [];
  let file: FileSink | undefined;
  if (settings.SVC_OUTPUT_FILE_ENABLE) {
    file = new FileSink({
      ...shared,
      path: settings.SVC_OUTPUT_FILE_PATH,
      maxBytes: settings.SVC_OUTPUT_FILE_MAX_SIZE,
      maxFiles: settings.SVC_OUTPUT_FILE_MAX_BACKUPS,
      queueBytes: settings.SVC_OUTPUT_FILE_QUEUE_SIZE,
    });
    const before = {
      rollupFields: settings.SVC_OUTPUT_FILE_ROLLUP_FIELDS,
      filter: settings.SVC_OUTPUT_FILE_FILTER,
      thinRate: settings.SVC_OUTPUT_FILE_THIN_RATE,
    };
    local.push(take(file, "file", before, "SVC_OUTPUT_FILE_FILTER"));
  }
  if (settings.SVC_OUTPUT_STDOUT_ENABLE) {
    const stdout = new StdoutSink({
      ...shared,
      isPretty: settings.SVC_OUTPUT_STDOUT_FORMAT === "json_pretty",
      maxRate: settings.SVC_OUTPUT_STDOUT_RATE,
      queueBytes: settings.SVC_OUTPUT_STDOUT_QUEUE_SIZE,
    });
    const before = {
      rollupFields: settings.SVC_OUTPUT_STDOUT_ROLLUP_FIELDS,
      filter: settings.SVC_OUTPUT_STDOUT_FILTER,
      thinRate: 0,
    };
    local.push(take(stdout, "stdout", before, "SVC_OUTPUT_STDOUT_FILTER"));
  }
  if (settings.SVC_OUTPUT_MONITOR_ENABLE) {
    const monitor = new MonitorSink(1000 * settings.SVC_OUTPUT_MONITOR_INTERVAL, reporting);
    sinks.push(monitor);
    local.push(monitor);
  }
  const stores: DeliveringOutput[] = [];
  const toStores = storeOutputs(settings).map(({ before, ...own }) => {
    const store = new DeliveringOutput(own, metrics, settings.SVC_LOG_LEVEL, reporting);
    stores.push(store);
    return take(store, own.context.name, before);
  });
  return {
    sinks,
    local,
    toStores,
    stores,
    metrics,
    reopen: () => file?.reopen(),
    ...(settings.SVC_EXPLORE_ENABLE &&
      settings.SVC_EXPLORE_STORE === "duckdb" && { explore: createExplore(settings, reporting, metrics) }),
  };
}

function createExplore(settings: Settings, reporting: Reporting, outputMetrics: OutputMetrics): ExploreOutput {
  const { rates } = exploreConfig(settings);
  const feed = createRecordFeed(
    "explore",
    Math.max(1, decodingThreads(settings)),
    settings.SVC_EXPLORE_QUEUE_SIZE,
    rates,
  );
  return new ExploreOutput(exploreConfig(settings), feed, outputMetrics, settings.SVC_LOG_LEVEL, reporting);
}

/** Returns the options for Explore's embedded store. */
export function exploreConfig(settings: Settings): EmbeddedExploreConfig {
  return {
    directory: resolve(settings.SVC_EXPLORE_PATH),
    maxBytes: settings.SVC_EXPLORE_MAX_SIZE,
    maxHours: settings.SVC_EXPLORE_MAX_AGE,
    rates: { whole: settings.SVC_EXPLORE_MAX_RATE, sampled: settings.SVC_EXPLORE_SAMPLED_RATE },
    rollups: {
      maxDays: settings.SVC_EXPLORE_ROLLUP_MAX_AGE,
      maxBytes: settings.SVC_EXPLORE_ROLLUP_MAX_SIZE,
      fields: settings.SVC_EXPLORE_ROLLUP_FIELDS,
    },
    memoryBytes: settings.SVC_EXPLORE_MEMORY,
    fields: settings.SVC_EXPLORE_FIELDS,
    maxMetadataFields: settings.SVC_EXPLORE_METADATA_FIELDS,
    timeoutMs: 1000 * settings.SVC_EXPLORE_TIMEOUT,
  };
}
