import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { OutputMetrics } from "../../output/index.ts";
import type { ExporterView } from "../../flow/index.ts";
import type { Sink } from "../../record/index.ts";
import { nodeFileIo } from "../../base/file/index.ts";
import type { Component, Reporting } from "../../base/report/index.ts";
import { AnswerJournal, Answers, openSpeaker, type AnswerLimits } from "../../watch/index.ts";
import { readyRulesPath } from "../ready-rules.ts";
import type { Settings } from "../settings/index.ts";
import { createRecordFeed } from "../threads/record-feed.ts";
import type { Fleet } from "../../fleet/index.ts";
import { WatchFleet, WatchOutput, type StateLines } from "../threads/watch-output.ts";
import type { OutputView } from "../views/outputs-view.ts";
import { decodingThreads } from "./flow-parts.ts";

const feedBytes = 64 * 2 ** 20;
/** The interval between searches for withdrawals to be retried, milliseconds. */
const leftOverMs = 1000;

/** The sources of states for rules. */
export interface WatchedStates {
  readonly exporters: () => Promise<readonly ExporterView[]>;
  readonly nameOf: (address: string) => string | undefined;
  readonly outputs: () => Promise<readonly OutputView[]>;
}

/** Returns the counts of an exporter, summed over its domains. */
function countsOf({ domains }: ExporterView): {
  readonly received: number;
  readonly missing: number;
  readonly samples: number;
} {
  const sum = (of: (domain: ExporterView["domains"][number]) => number): number =>
    domains.reduce((total, domain) => total + of(domain), 0);
  return {
    received: sum(({ received }) => received),
    missing: sum(({ missing }) => missing),
    samples: sum(({ missingSamples }) => missingSamples),
  };
}

/** Makes lines of states. An exporter has one if it has sent since the last call. */
export function createStateLines({ exporters, nameOf, outputs }: WatchedStates, now: () => number): StateLines {
  let before = new Map<string, ReturnType<typeof countsOf> & { readonly datagrams: number }>();
  const exporterLines = async (at: string): Promise<readonly string[]> => {
    const all = await exporters();
    const lines = all.flatMap((exporter) => {
      const { address, datagrams, records, domains } = exporter;
      const last = before.get(address);
      if (last?.datagrams === datagrams) return [];
      const { received, missing, samples } = countsOf(exporter);
      const [came, lost] = [received - (last?.received ?? received), missing - (last?.missing ?? missing)];
      const offsets = domains.flatMap(({ clockOffset }) => (clockOffset === undefined ? [] : [Math.abs(clockOffset)]));
      return JSON.stringify({
        "@timestamp": at,
        "flow.export.ip.addr": address,
        "exporter.name": nameOf(address),
        "exporter.datagrams": datagrams,
        "exporter.records": records,
        "exporter.received": received,
        "exporter.missing": missing,
        "exporter.missing_samples": samples,
        // Late datagrams compensate for those that were missing before.
        ...(last !== undefined &&
          came + lost > 0 && { "exporter.loss.pct": (100 * Math.max(0, lost)) / (came + Math.max(0, lost)) }),
        ...(offsets.length > 0 && { "exporter.clock.offset": Math.max(...offsets) }),
      });
    });
    before = new Map(
      all.map((exporter) => [exporter.address, { ...countsOf(exporter), datagrams: exporter.datagrams }]),
    );
    return lines;
  };
  const outputLines = async (at: string): Promise<readonly string[]> =>
    (await outputs()).map(({ name, state, deliveredRecords, droppedRecords, queueBytes }) =>
      JSON.stringify({
        "@timestamp": at,
        "output.name": name,
        "output.state": state,
        "output.delivered.records": deliveredRecords,
        "output.dropped.records": droppedRecords,
        "output.queue.bytes": queueBytes,
      }),
    );
  return async (source) => {
    const at = new Date(now()).toISOString();
    if (source === "exporter") return exporterLines(at);
    return source === "output" ? outputLines(at) : [];
  };
}

/** Returns the limits of announced routes, and how long they last. */
function answerLimits(settings: Settings): AnswerLimits {
  return {
    mode: settings.SVC_WATCH_ANSWERS,
    approvals: settings.SVC_WATCH_ANSWERS_APPROVALS === 2 ? 2 : 1,
    maxRoutes: settings.SVC_WATCH_ANSWERS_MAX_ROUTES,
    never: settings.SVC_WATCH_ANSWERS_NEVER,
    limitMs: 1000 * settings.SVC_WATCH_ANSWERS_TIME_LIMIT,
    allowsCommands: settings.SVC_WATCH_COMMANDS_ENABLE,
  };
}

/**
 * Creates the part that withdraws routes left announced by an earlier run with rules, if there are no rules any more; undefined if there was
 * no such run.
 */
export function createLeftOverRoutes(
  settings: Settings,
  { log, metrics, clock, health }: Reporting,
): Component | undefined {
  const directory = stateOf(settings);
  if (settings.SVC_WATCH_RULES_PATH !== "" || directory === undefined) return undefined;
  if (!existsSync(join(directory, "answers.json"))) return undefined;
  const newId = (): string => randomUUID().replaceAll("-", "");
  const answers = new Answers(answerLimits(settings), {
    clock,
    log,
    metrics,
    newId,
    journal: new AnswerJournal(directory, nodeFileIo, newId()),
    openSpeaker,
    onFault: (detail) =>
      health.set({ name: "watch", ready: true, ...(detail !== undefined && { degraded: true, detail }) }),
  });
  let again: NodeJS.Timeout | undefined;
  return {
    name: "routes left over",
    async start() {
      await answers.start();
      again = setInterval(() => answers.reconcile([]), leftOverMs);
    },
    async stop() {
      clearInterval(again);
      await answers.stop();
    },
  };
}

/** Returns the directory of alerts and answers; undefined where they are not kept. */
function stateOf({ SVC_STATE_DIRECTORY_PATH: state }: Settings): string | undefined {
  return state === "" ? undefined : join(resolve(state), "watch");
}

/**
 * Creates the part that watches by rules; undefined where there are none.
 *
 * @param sink receives a record of each alert. @param isShared true if alerts are shared with a fleet.
 */
export function createWatch(
  settings: Settings,
  states: WatchedStates,
  sink: Pick<Sink, "write">,
  metrics: OutputMetrics,
  isShared: boolean,
  reporting: Reporting,
): WatchOutput | undefined {
  if (settings.SVC_WATCH_RULES_PATH === "") return undefined;
  const state = settings.SVC_STATE_DIRECTORY_PATH;
  if (state === "") reporting.log.info({}, "alerts are not kept over a restart: SVC_STATE_DIRECTORY_PATH is empty");
  const options = {
    rulesPath: resolve(settings.SVC_WATCH_RULES_PATH),
    mayRun: settings.SVC_WATCH_COMMANDS_ENABLE,
    readyRules: readFileSync(readyRulesPath(), "utf8"),
    directory: stateOf(settings),
    maxKeys: settings.SVC_WATCH_MAX_KEYS,
    maxHistory: settings.SVC_WATCH_MAX_HISTORY,
    answers: answerLimits(settings),
    isShared,
  };
  // Examine every record, unless the thread does not keep up.
  const rates = { whole: 0, sampled: 0 };
  const feed = createRecordFeed("watch", Math.max(1, decodingThreads(settings)), feedBytes, rates);
  const lines = createStateLines(states, () => reporting.clock.now());
  return new WatchOutput(options, feed, lines, sink, metrics, settings.SVC_LOG_LEVEL, reporting);
}

/** Creates the part that shares alerts with the other collectors of a fleet; undefined: this one works alone. */
export function createWatchFleet(
  settings: Settings,
  fleet: Fleet | undefined,
  watch: WatchOutput | undefined,
  { clock, log }: Reporting,
): Component | undefined {
  if (fleet === undefined || watch === undefined || !settings.SVC_FLEET_WATCH_ENABLE) return undefined;
  return new WatchFleet({
    thread: () => watch.taker.thread(),
    membership: fleet.membership,
    exchange: (member, round) => fleet.notes.exchange(member, round),
    clock,
    log,
  });
}
