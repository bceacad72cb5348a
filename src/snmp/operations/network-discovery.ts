import { readFile } from "node:fs/promises";
import { type CandidateSource, type Network, hostsIn, readNetworks } from "../sweep/networks.ts";
import { type FoundDiff, createFoundDevices, settleFound, type PolledIdentity } from "../sweep/found-devices.ts";
import {
  type RefusedAddress,
  type SweepTarget,
  createSendPace,
  sweep,
  type SweepParts,
  type SweepResult,
  type SweepMeasures,
  createSweepMeasures,
  systemPing,
} from "../sweep/sweep.ts";
import { createMetrics, type Clock, type Log, type Metrics, type Progress } from "../../base/report/index.ts";
import { type Definitions, formatFinding, type Severity } from "../definitions/definitions.ts";
import { createSnmpClient } from "../session/snmp-client.ts";
import { SnmpError } from "../session/snmp-error.ts";
import type { OpenUdpSocket } from "../session/sockets.ts";
import { makeFolder } from "../../base/file/index.ts";

/** How networks are searched for devices. */
export interface DiscoverySettings {
  /** The file of the networks. */
  readonly networksPath: string;
  /** Where the files of devices go. */
  readonly devicesDirectory: string;
  /** Between the runs that begin by themselves; 0 is none. */
  readonly intervalMs: number;
  /** Of all ranges together. */
  readonly maxAddresses: number;
  /** The most messages in a second. */
  readonly perSecond: number;
  /** The most addresses that are asked at the same time. */
  readonly maxInFlight: number;
  /** Whose addresses are asked, too, where a network allows them. */
  readonly candidates: readonly CandidateSource[];
  /** How often it is looked for addresses that were named; default 5 s. */
  readonly lookMs?: number;
}

export interface DiscoveryRequest {
  /** Writes nothing. */
  readonly isDryRun: boolean;
  /** Names of networks; empty: all. */
  readonly networks: readonly string[];
}

/** What a run over networks did. Times are RFC 3339. Never holds a secret. */
export interface DiscoveryReport extends FoundDiff {
  readonly startedAt: string;
  readonly durationSeconds: number;
  readonly isDryRun: boolean;
  readonly networks: readonly string[];
  /** How many the ranges have. */
  readonly addresses: number;
  readonly probed: number;
  /** Agents that answered and took no credential; the first thousand. */
  readonly refused: readonly RefusedAddress[];
  /** Why what was found is not polled. */
  readonly problem?: string;
}

interface DiscoveryProgress {
  readonly isDryRun: boolean;
  readonly networks: readonly string[];
  readonly startedAt: string;
  readonly addresses: number;
  readonly probed: number;
  /** Devices that answered. */
  readonly answered: number;
}

export interface DiscoveryView {
  readonly running?: DiscoveryProgress;
  readonly last?: DiscoveryReport;
  /** Why the last run came to nothing. */
  readonly lastFailure?: { readonly time: string; readonly message: string };
  /** When the next run begins by itself. */
  readonly nextRun?: string;
}

export type DiscoveryStart =
  | { readonly ok: true; readonly ended: Promise<DiscoveryReport> }
  /** `busy`: another run is under way. `invalid`: the file, or a name of a network. */
  | { readonly ok: false; readonly reason: "busy" | "invalid"; readonly problems: readonly string[] };

interface NetworksInUse {
  readonly networks: readonly Network[];
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** Sweeps of one collector: a client of their own, one pace for all. */
interface NetworkSweeps {
  run(targets: Iterable<SweepTarget>, watch: SweepWatch): Promise<SweepResult>;
  close(): void;
}

interface SweepWatch extends Pick<SweepParts, "reached"> {
  /** A device was found. */
  readonly answered: () => void;
}

interface NetworkSweepsParts {
  readonly settings: Pick<DiscoverySettings, "perSecond" | "maxInFlight">;
  readonly definitions: () => Definitions;
  readonly measures: Pick<SweepMeasures, "sent" | "tried" | "ended">;
  /** Ends all sweeps. */
  readonly stopping: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  readonly openSocket?: OpenUdpSocket | undefined;
  readonly ping?: SweepParts["ping"];
}

function createNetworkSweeps(parts: NetworkSweepsParts): NetworkSweeps {
  const { settings, definitions, measures, stopping, clock, log, openSocket } = parts;
  const pace = createSendPace(clock, settings.perSecond);
  // Silence is what a sweep expects: it would drown what the metrics of polling say.
  const client = createSnmpClient({
    metrics: createMetrics(),
    log,
    clock,
    ...(openSocket !== undefined && { openSocket }),
  });
  return {
    async run(targets, watch) {
      const failed = new AbortController();
      const signal = AbortSignal.any([stopping, failed.signal]);
      try {
        return await sweep(
          {
            client,
            definitions: definitions(),
            async turn() {
              await pace.turn(signal).catch((error: Error) => {
                throw new SnmpError("closed", error.message);
              });
              measures.sent();
            },
            tried: (result) => measures.tried(result),
            ended(result) {
              measures.ended(result);
              if (result === "found") watch.answered();
            },
            ping: parts.ping ?? systemPing,
            signal,
            maxInFlight: settings.maxInFlight,
            reached: watch.reached,
          },
          targets,
        );
      } finally {
        failed.abort(new Error("the run has ended"));
      }
    },
    close: () => client.close(),
  };
}

/** An address that several networks have is asked by the first of them. */
function targetsOf(networks: readonly Network[]): SweepTarget[] {
  const targets = new Map<string, SweepTarget>();
  for (const network of networks) {
    for (const address of hostsIn(network.ranges, network.excludes)) {
      const key = `${address} ${network.port}`;
      if (!targets.has(key)) targets.set(key, { address, network });
    }
  }
  return [...targets.values()];
}

/** Finds devices in networks. */
export interface NetworkDiscovery {
  /** Begins a run. Its report rejects when the run fails or is stopped. */
  run(request: DiscoveryRequest): Promise<DiscoveryStart>;
  /** Probes addresses that something else named, outside of runs. What is found is written down. */
  probe(targets: readonly SweepTarget[]): Promise<SweepResult & { readonly diff: FoundDiff }>;
  /** @returns the networks of the file, or what is wrong with it, and what of it has no effect. */
  networks(): Promise<NetworksInUse>;
  view(): DiscoveryView;
  /** Makes the directory, and begins runs by itself from then on. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface NetworkDiscoveryParts {
  readonly settings: DiscoverySettings;
  readonly definitions: () => Definitions | undefined;
  readonly polled: () => Iterable<PolledIdentity>;
  /** Whether runs begin by themselves here, when several collectors share the devices. */
  readonly leads?: (() => boolean) | undefined;
  /** Puts the files of devices to use. @returns why they are not; undefined: they are. */
  readonly apply: () => Promise<string | undefined>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly progress: Progress;
  readonly openSocket?: OpenUdpSocket | undefined;
  readonly ping?: SweepParts["ping"];
}

/** The first run leaves polling its start. */
const firstRunMs = 10_000;
const longestTimer = 2 ** 31 - 1;

export function createNetworkDiscovery(parts: NetworkDiscoveryParts): NetworkDiscovery {
  const { settings, clock, log } = parts;
  const found = createFoundDevices(settings.devicesDirectory);
  const measures = createSweepMeasures(parts.metrics);
  const stopping = new AbortController();
  let running: { -readonly [Key in keyof DiscoveryProgress]: DiscoveryProgress[Key] } | undefined;
  let last: DiscoveryReport | undefined;
  let lastFailure: DiscoveryView["lastFailure"];
  let nextRunAt: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  /** Writing is done by one at a time, and what runs is waited for. */
  let writing: Promise<unknown> = Promise.resolve();
  const underWay = new Set<Promise<unknown>>();

  const definitions = (): Definitions => {
    const current = parts.definitions();
    if (current === undefined) throw new Error("SNMP has not started");
    return current;
  };
  const sweeps = createNetworkSweeps({ ...parts, definitions, measures, stopping: stopping.signal });
  const settle = (
    { devices }: SweepResult,
    swept: readonly Network[],
    how: { readonly isDryRun: boolean; readonly isRun: boolean },
  ): Promise<{ readonly diff: FoundDiff; readonly problem: string | undefined }> => {
    const settled = writing.then(async () => {
      const now = clock.now();
      const diff = await settleFound(
        { found, definitions: definitions(), polled: parts.polled, now },
        devices,
        swept,
        how,
      );
      const isWritten = !how.isDryRun && (diff.new.length > 0 || diff.changed.length > 0);
      return { diff, problem: isWritten ? await parts.apply() : undefined };
    });
    writing = settled.catch(() => {});
    return settled;
  };
  const count = (diff: FoundDiff): void => {
    measures.found("new", diff.new.length);
    measures.found("changed", diff.changed.length);
    measures.found("gone", diff.gone.length);
    measures.found("duplicate", diff.duplicates.length);
  };

  const read: NetworkDiscovery["networks"] = async () => {
    let bytes: Uint8Array;
    try {
      bytes = await readFile(settings.networksPath);
    } catch (error) {
      return { networks: [], problems: [`${settings.networksPath}: ${(error as Error).message}`], warnings: [] };
    }
    const { networks, findings } = readNetworks(settings.networksPath, bytes, settings.maxAddresses);
    const of = (wanted: Severity): string[] =>
      findings.filter(({ severity }) => severity === wanted).map(formatFinding);
    return { networks, problems: of("error"), warnings: of("warning") };
  };

  async function carryOut({ isDryRun }: DiscoveryRequest, networks: readonly Network[]): Promise<DiscoveryReport> {
    const startedAt = clock.now();
    const start = clock.monotonic();
    const targets = targetsOf(networks);
    const names = networks.map(({ name }) => name);
    const task = parts.progress.begin({ kind: "discover-networks", subject: names.join(", ") });
    task.step("probing", "addresses", targets.length);
    running = {
      isDryRun,
      networks: names,
      startedAt: timeText(startedAt),
      addresses: targets.length,
      probed: 0,
      answered: 0,
    };
    const current = running;
    let result: "done" | "failed" | "stopped" = "failed";
    try {
      const swept = await sweeps.run(targets, {
        reached(addresses) {
          current.probed = addresses;
          task.reached(addresses);
        },
        answered: () => void current.answered++,
      });
      if (swept.isStopped) {
        result = "stopped";
        throw new Error("the collector is stopping");
      }
      const { diff, problem } = await settle(swept, networks, { isDryRun, isRun: true });
      if (!isDryRun) count(diff);
      result = "done";
      const { probed, refused } = swept;
      const durationSeconds = Math.round(clock.monotonic() - start) / 1000;
      last = {
        startedAt: current.startedAt,
        durationSeconds,
        isDryRun,
        networks: names,
        addresses: targets.length,
        probed,
        ...diff,
        refused,
        ...(problem !== undefined && { problem }),
      };
      lastFailure = undefined;
      logRun(last);
      return last;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      lastFailure = { time: timeText(clock.now()), message };
      if (result === "failed") log.error({ networks: names, error: message }, "discovery of networks failed");
      throw error;
    } finally {
      running = undefined;
      task.end();
      measures.run(result, clock.now(), clock.monotonic() - start);
      plan(settings.intervalMs);
    }
  }

  function logRun(report: DiscoveryReport): void {
    const { networks, addresses, durationSeconds: seconds, problem, isDryRun } = report;
    const counts = {
      new: report.new.length,
      changed: report.changed.length,
      gone: report.gone.length,
      duplicates: report.duplicates.length,
      refused: report.refused.length,
      known: report.known,
    };
    log.info({ networks, addresses, seconds, isDryRun, ...counts }, "networks were searched for SNMP devices");
    if (problem !== undefined) log.error({ problem }, "devices that were found are not polled");
  }

  const run: NetworkDiscovery["run"] = async (request) => {
    const { networks, problems, warnings } = await read();
    if (warnings.length > 0) log.warn({ warnings: warnings.slice(0, 5) }, "a part of the networks file has no effect");
    if (problems.length > 0) return { ok: false, reason: "invalid", problems };
    const unknown = request.networks.filter((name) => networks.every((network) => network.name !== name));
    if (unknown.length > 0) {
      const known = networks.map(({ name }) => name).join(", ");
      const problem = `${settings.networksPath} has no network ${unknown.join(", ")}: it has ${known}`;
      return { ok: false, reason: "invalid", problems: [problem] };
    }
    if (running !== undefined || stopping.signal.aborted) {
      return { ok: false, reason: "busy", problems: ["a discovery of networks is under way"] };
    }
    const wanted = networks.filter(({ name }) => request.networks.length === 0 || request.networks.includes(name));
    return { ok: true, ended: track(carryOut(request, wanted)) };
  };

  function track<T>(work: Promise<T>): Promise<T> {
    const tracked = work.catch(() => {}).finally(() => underWay.delete(tracked));
    underWay.add(tracked);
    return work;
  }

  function plan(delayMs: number): void {
    clearTimeout(timer);
    nextRunAt = undefined;
    if (settings.intervalMs === 0 || stopping.signal.aborted) return;
    nextRunAt = clock.now() + delayMs;
    timer = setTimeout(() => void runByItself(), Math.min(delayMs, longestTimer));
    timer.unref();
  }

  async function runByItself(): Promise<void> {
    if (nextRunAt !== undefined && clock.now() < nextRunAt - 1) return plan(nextRunAt - clock.now());
    if (parts.leads?.() === false) return plan(settings.intervalMs);
    const started = await run({ isDryRun: false, networks: [] });
    if (started.ok) return void (await started.ended.catch(() => {}));
    if (started.reason === "invalid") {
      lastFailure = { time: timeText(clock.now()), message: started.problems.join("; ") };
      log.error({ problems: started.problems.slice(0, 5) }, "networks cannot be searched for SNMP devices");
    }
    plan(settings.intervalMs);
  }

  return {
    run,
    networks: read,
    async probe(targets) {
      const swept = await track(sweeps.run(targets, { reached() {}, answered() {} }));
      const { diff, problem } = await settle(swept, [], { isDryRun: false, isRun: false });
      count(diff);
      if (problem !== undefined) log.error({ problem }, "devices that were found are not polled");
      return { ...swept, diff };
    },
    view: () => ({
      ...(running !== undefined && { running: { ...running } }),
      ...(last !== undefined && { last }),
      ...(lastFailure !== undefined && { lastFailure }),
      ...(nextRunAt !== undefined && { nextRun: timeText(nextRunAt) }),
    }),
    async start() {
      await makeFolder(settings.devicesDirectory);
      if (settings.intervalMs === 0) return;
      const { lastRun } = await found.memory();
      const left = lastRun === undefined ? 0 : lastRun + settings.intervalMs - clock.now();
      plan(Math.max(firstRunMs, left));
    },
    async stop() {
      clearTimeout(timer);
      stopping.abort(new Error("the collector is stopping"));
      sweeps.close();
      await Promise.allSettled([...underWay, writing]);
    },
  };
}

function timeText(milliseconds: number): string {
  return new Date(Math.round(milliseconds)).toISOString();
}
