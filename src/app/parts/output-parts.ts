import { resolve } from "node:path";
import { compileLineFilter, type Filter, type Sink } from "../../record/index.ts";
import {
  type OutputMetrics,
  createFileSink,
  createLineFilter,
  createMonitorSink,
  createOutputMetrics,
  createStdoutSink,
  filteredSink,
  rollupSink,
} from "../../output/index.ts";
import type { Component, Reporting } from "../../base/report/index.ts";
import { filterOf } from "../shaping.ts";
import { storeOutputs } from "../outputs/store-outputs.ts";
import { rollupFields } from "../shaping.ts";
import type { Settings } from "../settings/index.ts";
import { thinningOf } from "../shaping.ts";
import { DeliveringOutput } from "../threads/delivering-output.ts";
import { createExploreFeed } from "../threads/explore-feed.ts";
import { ExploreOutput } from "../threads/explore-output.ts";
import { decodingThreads } from "./flow-parts.ts";

/** A part that takes records and has a life. */
export type Output = Sink & Component & { reopen?(): void };

/** Those to files and pipes, and those to stores. */
export function createOutputs(
  settings: Settings,
  reporting: Reporting,
): {
  readonly outputs: readonly Output[];
  readonly stores: readonly DeliveringOutput[];
  readonly explore?: ExploreOutput;
} {
  const outputs: Output[] = [];
  const outputMetrics = createOutputMetrics(reporting.metrics);
  const shared = { ...reporting, metrics: outputMetrics };
  const filtered = <T extends Output>(output: T, name: string, filter: Filter | undefined, thinRate = 0): T => {
    const lineFilter = createLineFilter({
      matches: filter && compileLineFilter(filter),
      filtered: (records) => outputMetrics.filtered(name, records),
      thinning: thinningOf(settings, {
        maxRate: thinRate,
        byExporter: false,
        clock: reporting.clock,
        thinned: (records) => outputMetrics.thinned(name, records),
      }),
    });
    return lineFilter === undefined ? output : filteredSink(output, lineFilter);
  };
  const rolledUp = <T extends Output>(output: T, name: string, names: readonly string[]): T => {
    if (names.length === 0) return output;
    const fields = rollupFields(name, names);
    return rollupSink(output, {
      fields,
      maxGroups: settings.SVC_PROCESSOR_ROLLUP_MAX_GROUPS,
      intervalMs: 1000 * settings.SVC_PROCESSOR_ROLLUP_INTERVAL,
      clock: reporting.clock,
      report: outputMetrics.rollup(name),
    });
  };
  if (settings.SVC_OUTPUT_FILE_ENABLE) {
    const file = createFileSink({
      ...shared,
      path: settings.SVC_OUTPUT_FILE_PATH,
      maxBytes: settings.SVC_OUTPUT_FILE_MAX_SIZE,
      maxFiles: settings.SVC_OUTPUT_FILE_MAX_BACKUPS,
      queueBytes: settings.SVC_OUTPUT_FILE_QUEUE_SIZE,
    });
    const filter = filterOf("SVC_OUTPUT_FILE_FILTER", settings.SVC_OUTPUT_FILE_FILTER);
    const fields = settings.SVC_OUTPUT_FILE_ROLLUP_FIELDS;
    outputs.push(filtered(rolledUp(file, "file", fields), "file", filter, settings.SVC_OUTPUT_FILE_THIN_RATE));
  }
  if (settings.SVC_OUTPUT_STDOUT_ENABLE) {
    const stdout = createStdoutSink({
      ...shared,
      isPretty: settings.SVC_OUTPUT_STDOUT_FORMAT === "json_pretty",
      maxRate: settings.SVC_OUTPUT_STDOUT_RATE,
      queueBytes: settings.SVC_OUTPUT_STDOUT_QUEUE_SIZE,
    });
    const filter = filterOf("SVC_OUTPUT_STDOUT_FILTER", settings.SVC_OUTPUT_STDOUT_FILTER);
    const fields = settings.SVC_OUTPUT_STDOUT_ROLLUP_FIELDS;
    outputs.push(filtered(rolledUp(stdout, "stdout", fields), "stdout", filter));
  }
  if (settings.SVC_OUTPUT_MONITOR_ENABLE) {
    outputs.push(createMonitorSink({ ...reporting, intervalMs: 1000 * settings.SVC_OUTPUT_MONITOR_INTERVAL }));
  }
  const stores = storeOutputs(settings).map(({ before, ...store }) => {
    const output = new DeliveringOutput(store, outputMetrics, settings.SVC_LOG_LEVEL, reporting);
    const { name } = store.delivery;
    const filter = filterOf(name, before.filter);
    return filtered(rolledUp(output, name, before.rollupFields), name, filter, before.thinRate);
  });
  return {
    outputs,
    stores,
    ...(settings.SVC_EXPLORE_ENABLE &&
      settings.SVC_EXPLORE_STORE === "duckdb" && { explore: createExplore(settings, reporting, outputMetrics) }),
  };
}

function createExplore(settings: Settings, reporting: Reporting, outputMetrics: OutputMetrics): ExploreOutput {
  const rates = { whole: settings.SVC_EXPLORE_MAX_RATE, sampled: settings.SVC_EXPLORE_SAMPLED_RATE };
  const feed = createExploreFeed(Math.max(1, decodingThreads(settings)), settings.SVC_EXPLORE_QUEUE_SIZE, rates);
  const config = {
    directory: resolve(settings.SVC_EXPLORE_PATH),
    maxBytes: settings.SVC_EXPLORE_MAX_SIZE,
    maxHours: settings.SVC_EXPLORE_MAX_AGE,
    rates,
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
  return new ExploreOutput(config, feed, outputMetrics, settings.SVC_LOG_LEVEL, reporting);
}
