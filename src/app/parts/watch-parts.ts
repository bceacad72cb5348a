import { join, resolve } from "node:path";
import type { OutputMetrics } from "../../output/index.ts";
import type { Sink } from "../../record/index.ts";
import type { Reporting } from "../../base/report/index.ts";
import type { Settings } from "../settings/index.ts";
import { createRecordFeed } from "../threads/record-feed.ts";
import { WatchOutput } from "../threads/watch-output.ts";
import { decodingThreads } from "./flow-parts.ts";

const queueBytes = 64 * 2 ** 20;

/** Makes what watches flows by rules; undefined where there are none. @param sink is given a record of each alert. */
export function createWatch(
  settings: Settings,
  sink: Pick<Sink, "write">,
  metrics: OutputMetrics,
  reporting: Reporting,
): WatchOutput | undefined {
  if (settings.SVC_WATCH_RULES_PATH === "") return undefined;
  const state = settings.SVC_STATE_DIRECTORY_PATH;
  if (state === "") reporting.log.info({}, "alerts are not kept over a restart: SVC_STATE_DIRECTORY_PATH is empty");
  const options = {
    rulesPath: resolve(settings.SVC_WATCH_RULES_PATH),
    mayRun: settings.SVC_WATCH_COMMANDS_ENABLE,
    directory: state === "" ? undefined : join(resolve(state), "watch"),
    maxKeys: settings.SVC_WATCH_MAX_KEYS,
  };
  // Every record is looked at, but where the thread does not keep up.
  const rates = { whole: 0, sampled: 0 };
  const feed = createRecordFeed("watch", Math.max(1, decodingThreads(settings)), queueBytes, rates);
  return new WatchOutput(options, feed, sink, metrics, settings.SVC_LOG_LEVEL, reporting);
}
