import { readFile } from "node:fs/promises";
import { type CandidateSource, type Network, hostsIn, readNetworks } from "../sweep/networks.ts";
import { type FoundDiff, FoundDevices, settleFound, type PolledIdentity } from "../sweep/found-devices.ts";
import {
  type RefusedAddress,
  type SweepTarget,
  SendPace,
  sweep,
  type SweepParts,
  type SweepResult,
  SweepMeasures,
  systemPing,
} from "../sweep/sweep.ts";
import { createMetrics, type Clock, type Log, type Metrics, type Progress } from "../../base/report/index.ts";
import { type Definitions, formatFinding, type Severity } from "../definitions/definitions.ts";
import { SnmpClient } from "../session/snmp-client.ts";
import { SnmpError } from "../session/snmp-error.ts";
import type { OpenUdpSocket } from "../session/sockets.ts";
import { makeFolder } from "../../base/file/index.ts";

/** The settings for the search of networks for devices. */
export interface DiscoverySettings {
  /** The path of the file of networks. */
  readonly networksPath: string;
  /** The directory for the files of devices. */
  readonly devicesDirectory: string;
  /** The interval between automatic runs; 0 means none. */
  readonly intervalMs: number;
  /** The most addresses of all ranges together. */
  readonly maxAddresses: number;
  /** The most messages per second. */
  readonly perSecond: number;
  /** The most addresses to probe at the same time. */
  readonly maxInFlight: number;
  /** The sources whose addresses are probed, too, if a network allows them. */
  readonly candidates: readonly CandidateSource[];
  /** The interval between looks for addresses from these sources; default 5 s. */
  readonly lookMs?: number;
}

export interface DiscoveryRequest {
  /** True if nothing is written. */
  readonly isDryRun: boolean;
  /** The names of networks; empty for all. */
  readonly networks: readonly string[];
}

/** The result of a run over networks. Times are RFC 3339. Never contains a secret. */
export interface DiscoveryReport extends FoundDiff {
  readonly startedAt: string;
  readonly durationSeconds: number;
  readonly isDryRun: boolean;
  readonly networks: readonly string[];
  /** The number of addresses in the ranges. */
  readonly addresses: number;
  readonly probed: number;
  /** The agents that answered and accepted no credential; the first thousand. */
  readonly refused: readonly RefusedAddress[];
  /** The reason why found devices are not polled. */
  readonly problem?: string;
}

interface DiscoveryProgress {
  readonly isDryRun: boolean;
  readonly networks: readonly string[];
  readonly startedAt: string;
  readonly addresses: number;
  readonly probed: number;
  /** The number of devices that answered. */
  readonly answered: number;
}

export interface DiscoveryView {
  readonly running?: DiscoveryProgress;
  readonly last?: DiscoveryReport;
  /** The reason why the last run failed. */
  readonly lastFailure?: { readonly time: string; readonly message: string };
  /** The time of the next automatic run. */
  readonly nextRun?: string;
}

export type DiscoveryStart =
  | { readonly ok: true; readonly ended: Promise<DiscoveryReport> }
  /** `busy`: another run is running. `invalid`: the file or the name of a network has a fault. */
  | { readonly ok: false; readonly reason: "busy" | "invalid"; readonly problems: readonly string[] };

interface NetworksInUse {
  readonly networks: readonly Network[];
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

interface SweepWatch extends Pick<SweepParts, "reached"> {
  /** Called for each device that was found. */
  readonly answered: () => void;
}

interface NetworkSweepsParts {
  readonly settings: Pick<DiscoverySettings, "perSecond" | "maxInFlight">;
  readonly definitions: () => Definitions;
  readonly measures: Pick<SweepMeasures, "sent" | "tried" | "ended">;
  /** Aborts all sweeps. */
  readonly stopping: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  readonly openSocket?: OpenUdpSocket | undefined;
  readonly ping?: SweepParts["ping"];
}

/** The sweeps of one collector, with a client of their own and one pace for all. */
class NetworkSweeps {
  readonly #parts: NetworkSweepsParts;
  readonly #settings: Pick<DiscoverySettings, "perSecond" | "maxInFlight">;
  readonly #definitions: () => Definitions;
  readonly #measures: Pick<SweepMeasures, "sent" | "tried" | "ended">;
  readonly #stopping: AbortSignal;
  readonly #pace: SendPace;
  // A sweep expects silence, which would distort the metrics of polling; so it has its own client.
  readonly #client: SnmpClient;

  constructor(parts: NetworkSweepsParts) {
    this.#parts = parts;
    const { settings, definitions, measures, stopping, clock, log, openSocket } = parts;
    this.#settings = settings;
    this.#definitions = definitions;
    this.#measures = measures;
    this.#stopping = stopping;
    this.#pace = new SendPace(clock, settings.perSecond);
    this.#client = new SnmpClient({ metrics: createMetrics(), log, clock }, openSocket);
  }

  async run(targets: Iterable<SweepTarget>, watch: SweepWatch): Promise<SweepResult> {
    const failed = new AbortController();
    const signal = AbortSignal.any([this.#stopping, failed.signal]);
    try {
      return await sweep(
        {
          client: this.#client,
          definitions: this.#definitions(),
          turn: async () => {
            await this.#pace.turn(signal).catch((error: Error) => {
              throw new SnmpError("closed", error.message);
            });
            this.#measures.sent();
          },
          tried: (result) => this.#measures.tried(result),
          ended: (result) => {
            this.#measures.ended(result);
            if (result === "found") watch.answered();
          },
          ping: this.#parts.ping ?? systemPing,
          signal,
          maxInFlight: this.#settings.maxInFlight,
          reached: watch.reached,
        },
        targets,
      );
    } finally {
      failed.abort(new Error("the run has ended"));
    }
  }

  close(): void {
    this.#client.close();
  }
}

/** Returns the targets. An address in several networks belongs to the first of them. */
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

interface NetworkDiscoveryParts {
  readonly settings: DiscoverySettings;
  readonly definitions: () => Definitions | undefined;
  readonly polled: () => Iterable<PolledIdentity>;
  /** Reports whether automatic runs take place here, if several collectors share the devices. */
  readonly leads?: (() => boolean) | undefined;
  /** Puts the files of devices to use. @returns the reason of a failure; undefined for success. */
  readonly apply: () => Promise<string | undefined>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly progress: Progress;
  readonly openSocket?: OpenUdpSocket | undefined;
  readonly ping?: SweepParts["ping"];
}

/** The delay of the first run, which gives precedence to the start of polling. */
const firstRunMs = 10_000;
const longestTimer = 2 ** 31 - 1;

/** Finds devices in networks. */
export class NetworkDiscovery {
  readonly #parts: NetworkDiscoveryParts;
  readonly #settings: DiscoverySettings;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #found: FoundDevices;
  readonly #measures: SweepMeasures;
  readonly #stopping = new AbortController();
  #running: { -readonly [Key in keyof DiscoveryProgress]: DiscoveryProgress[Key] } | undefined;
  #last: DiscoveryReport | undefined;
  #lastFailure: DiscoveryView["lastFailure"];
  #nextRunAt: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The end of the writes so far: they run one at a time, and a stop waits for them. */
  #writing: Promise<unknown> = Promise.resolve();
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #sweeps: NetworkSweeps;

  constructor(parts: NetworkDiscoveryParts) {
    this.#parts = parts;
    this.#settings = parts.settings;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#found = new FoundDevices(parts.settings.devicesDirectory);
    this.#measures = new SweepMeasures(parts.metrics);
    this.#sweeps = new NetworkSweeps({
      ...parts,
      definitions: () => this.#definitions(),
      measures: this.#measures,
      stopping: this.#stopping.signal,
    });
  }

  /** @returns the networks of the file, or its faults, and its settings without effect. */
  async networks(): Promise<NetworksInUse> {
    let bytes: Uint8Array;
    try {
      bytes = await readFile(this.#settings.networksPath);
    } catch (error) {
      return { networks: [], problems: [`${this.#settings.networksPath}: ${(error as Error).message}`], warnings: [] };
    }
    const { networks, findings } = readNetworks(this.#settings.networksPath, bytes, this.#settings.maxAddresses);
    const of = (wanted: Severity): string[] =>
      findings.filter(({ severity }) => severity === wanted).map(formatFinding);
    return { networks, problems: of("error"), warnings: of("warning") };
  }

  /** Begins a run. Its report rejects if the run fails or is stopped. */
  async run(request: DiscoveryRequest): Promise<DiscoveryStart> {
    const { networks, problems, warnings } = await this.networks();
    if (warnings.length > 0)
      this.#log.warn({ warnings: warnings.slice(0, 5) }, "a part of the networks file has no effect");
    if (problems.length > 0) return { ok: false, reason: "invalid", problems };
    const unknown = request.networks.filter((name) => networks.every((network) => network.name !== name));
    if (unknown.length > 0) {
      const known = networks.map(({ name }) => name).join(", ");
      const problem = `${this.#settings.networksPath} has no network ${unknown.join(", ")}: it has ${known}`;
      return { ok: false, reason: "invalid", problems: [problem] };
    }
    if (this.#running !== undefined || this.#stopping.signal.aborted) {
      return { ok: false, reason: "busy", problems: ["a discovery of networks is under way"] };
    }
    const wanted = networks.filter(({ name }) => request.networks.length === 0 || request.networks.includes(name));
    return { ok: true, ended: this.#track(this.#carryOut(request, wanted)) };
  }

  /** Probes addresses from other sources, outside of runs. Found devices are written. */
  async probe(targets: readonly SweepTarget[]): Promise<SweepResult & { readonly diff: FoundDiff }> {
    const swept = await this.#track(this.#sweeps.run(targets, { reached() {}, answered() {} }));
    const { diff, problem } = await this.#settle(swept, [], { isDryRun: false, isRun: false });
    this.#count(diff);
    if (problem !== undefined) this.#log.error({ problem }, "devices that were found are not polled");
    return { ...swept, diff };
  }

  view(): DiscoveryView {
    return {
      ...(this.#running !== undefined && { running: { ...this.#running } }),
      ...(this.#last !== undefined && { last: this.#last }),
      ...(this.#lastFailure !== undefined && { lastFailure: this.#lastFailure }),
      ...(this.#nextRunAt !== undefined && { nextRun: timeText(this.#nextRunAt) }),
    };
  }

  /** Creates the directory, and begins automatic runs. */
  async start(): Promise<void> {
    await makeFolder(this.#settings.devicesDirectory);
    if (this.#settings.intervalMs === 0) return;
    const { lastRun } = await this.#found.memory();
    const left = lastRun === undefined ? 0 : lastRun + this.#settings.intervalMs - this.#clock.now();
    this.#plan(Math.max(firstRunMs, left));
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#stopping.abort(new Error("the collector is stopping"));
    this.#sweeps.close();
    await Promise.allSettled([...this.#underWay, this.#writing]);
  }

  #definitions(): Definitions {
    const current = this.#parts.definitions();
    if (current === undefined) throw new Error("SNMP has not started");
    return current;
  }

  #settle(
    { devices }: SweepResult,
    swept: readonly Network[],
    how: { readonly isDryRun: boolean; readonly isRun: boolean },
  ): Promise<{ readonly diff: FoundDiff; readonly problem: string | undefined }> {
    const settled = this.#writing.then(async () => {
      const now = this.#clock.now();
      const diff = await settleFound(
        { found: this.#found, definitions: this.#definitions(), polled: this.#parts.polled, now },
        devices,
        swept,
        how,
      );
      const isWritten = !how.isDryRun && (diff.new.length > 0 || diff.changed.length > 0);
      return { diff, problem: isWritten ? await this.#parts.apply() : undefined };
    });
    this.#writing = settled.catch(() => {});
    return settled;
  }

  #count(diff: FoundDiff): void {
    this.#measures.found("new", diff.new.length);
    this.#measures.found("changed", diff.changed.length);
    this.#measures.found("gone", diff.gone.length);
    this.#measures.found("duplicate", diff.duplicates.length);
  }

  async #carryOut({ isDryRun }: DiscoveryRequest, networks: readonly Network[]): Promise<DiscoveryReport> {
    const startedAt = this.#clock.now();
    const start = this.#clock.monotonic();
    const targets = targetsOf(networks);
    const names = networks.map(({ name }) => name);
    const task = this.#parts.progress.begin({ kind: "discover-networks", subject: names.join(", ") });
    task.step("probing", "addresses", targets.length);
    this.#running = {
      isDryRun,
      networks: names,
      startedAt: timeText(startedAt),
      addresses: targets.length,
      probed: 0,
      answered: 0,
    };
    const current = this.#running;
    let result: "done" | "failed" | "stopped" = "failed";
    try {
      const swept = await this.#sweeps.run(targets, {
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
      const { diff, problem } = await this.#settle(swept, networks, { isDryRun, isRun: true });
      if (!isDryRun) this.#count(diff);
      result = "done";
      const { probed, refused } = swept;
      const durationSeconds = Math.round(this.#clock.monotonic() - start) / 1000;
      this.#last = {
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
      this.#lastFailure = undefined;
      this.#logRun(this.#last);
      return this.#last;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#lastFailure = { time: timeText(this.#clock.now()), message };
      if (result === "failed") this.#log.error({ networks: names, error: message }, "discovery of networks failed");
      throw error;
    } finally {
      this.#running = undefined;
      task.end();
      this.#measures.run(result, this.#clock.now(), this.#clock.monotonic() - start);
      this.#plan(this.#settings.intervalMs);
    }
  }

  #logRun(report: DiscoveryReport): void {
    const { networks, addresses, durationSeconds: seconds, problem, isDryRun } = report;
    const counts = {
      new: report.new.length,
      changed: report.changed.length,
      gone: report.gone.length,
      duplicates: report.duplicates.length,
      refused: report.refused.length,
      known: report.known,
    };
    this.#log.info({ networks, addresses, seconds, isDryRun, ...counts }, "networks were searched for SNMP devices");
    if (problem !== undefined) this.#log.error({ problem }, "devices that were found are not polled");
  }

  #track<T>(work: Promise<T>): Promise<T> {
    const tracked = work.catch(() => {}).finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
    return work;
  }

  #plan(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#nextRunAt = undefined;
    if (this.#settings.intervalMs === 0 || this.#stopping.signal.aborted) return;
    this.#nextRunAt = this.#clock.now() + delayMs;
    this.#timer = setTimeout(() => void this.#runByItself(), Math.min(delayMs, longestTimer));
    this.#timer.unref();
  }

  async #runByItself(): Promise<void> {
    if (this.#nextRunAt !== undefined && this.#clock.now() < this.#nextRunAt - 1)
      return this.#plan(this.#nextRunAt - this.#clock.now());
    if (this.#parts.leads?.() === false) return this.#plan(this.#settings.intervalMs);
    const started = await this.run({ isDryRun: false, networks: [] });
    if (started.ok) return void (await started.ended.catch(() => {}));
    if (started.reason === "invalid") {
      this.#lastFailure = { time: timeText(this.#clock.now()), message: started.problems.join("; ") };
      this.#log.error({ problems: started.problems.slice(0, 5) }, "networks cannot be searched for SNMP devices");
    }
    this.#plan(this.#settings.intervalMs);
  }
}

function timeText(milliseconds: number): string {
  return new Date(Math.round(milliseconds)).toISOString();
}
