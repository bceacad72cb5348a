import { formatAddress, parseAddress, unmapAddress } from "../../ip/index.ts";
import type { ExporterTraffic, ExporterView } from "../../flow/index.ts";
import type { DeviceCounters } from "../../snmp/index.ts";
import type { Clock, Component, FamilyReading, Metrics } from "../../report/index.ts";
import { diagnose } from "./diagnose.ts";
import type { Diagnosis } from "./diagnosis.ts";
import type { Facts, FlowCounts, HostCounters } from "./facts.ts";
import {
  countedSince,
  hostFiles,
  readHostCounters,
  readSockets,
  readStrictInterfaces,
  type HostFiles,
} from "./read-host.ts";

export interface DoctorOptions {
  /** Whether flows are received. */
  readonly enabled: boolean;
  /** The flow ports that are open. */
  readonly ports: () => readonly number[];
  /** Those of TCP and TLS. */
  readonly streamPorts: () => readonly number[];
  readonly exporters: () => Promise<readonly ExporterView[]>;
  /** What metadata calls the exporter of an address. */
  readonly nameOf?: (address: string) => string | undefined;
  /** What flows say passed the interfaces of exporters. */
  readonly traffic: () => Promise<readonly ExporterTraffic[]>;
  /** What the device of an address counted; undefined: it is not polled. */
  readonly counters: (address: string) => DeviceCounters | undefined;
  readonly metrics: Pick<Metrics, "everything">;
  /** The outputs that are on. */
  readonly outputs?: () => Promise<NonNullable<Facts["outputs"]>>;
  /** Traps that were refused. */
  readonly refusedTraps?: () => Facts["refusedTraps"];
  /** The fleet that the collector should be a member of and is not. */
  readonly leftFleet?: () => Facts["leftFleet"];
  readonly clock: Clock;
  /** Default: those of this host. */
  readonly files?: HostFiles;
}

/** What the diagnosis of a collector, or of one exporter, is answered with. */
export interface DoctorAnswer {
  /** Whether neither a problem nor a warning was found. */
  readonly healthy: boolean;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly ports: readonly number[];
  /** How many exporters were looked at. */
  readonly exporters: number;
  readonly diagnoses: readonly Diagnosis[];
}

/** Says why flows are missing or wrong. Starts before the ports open: it compares the host's counters with those of then. */
export interface Doctor extends Component {
  /** @returns undefined when the text is no address. */
  diagnose(address?: string): Promise<DoctorAnswer | undefined>;
}

export function createDoctor(options: DoctorOptions): Doctor {
  const { enabled, metrics, clock, files = hostFiles } = options;
  let startedAt = clock.now();
  let before: HostCounters | undefined;

  const gather = async (asked: string | undefined): Promise<Facts> => {
    const sockets = readSockets(options.ports(), files);
    const exporters = await options.exporters();
    return {
      now: clock.now(),
      startedAt,
      enabled,
      refusedTraps: options.refusedTraps?.(),
      leftFleet: options.leftFleet?.(),
      ports: sockets.ports,
      streamPorts: options.streamPorts(),
      otherSockets: sockets.others,
      host: countedSince(before, readHostCounters(files)),
      strictInterfaces: readStrictInterfaces(files),
      outputs: (await options.outputs?.()) ?? [],
      counts: flowCounts(await metrics.everything()),
      exporters,
      names: namesOf(exporters, asked),
      measured: (await options.traffic()).flatMap((traffic) => {
        const counters = options.counters(traffic.address);
        return counters === undefined ? [] : [{ traffic, counters }];
      }),
    };
  };

  const namesOf = (exporters: readonly ExporterView[], asked: string | undefined): ReadonlyMap<string, string> => {
    const addresses = exporters.flatMap(({ address, relay }) => [address, relay]);
    const named = [...new Set([...addresses, asked])].flatMap((address): [string, string][] => {
      const name = address === undefined ? undefined : options.nameOf?.(address);
      return address === undefined || name === undefined ? [] : [[address, name]];
    });
    return new Map(named);
  };

  return {
    name: "doctor",
    async start() {
      startedAt = clock.now();
      before = readHostCounters(files);
    },
    async stop() {},
    async diagnose(text) {
      const address = text === undefined ? undefined : parseAddress(text);
      if (text !== undefined && address === undefined) return undefined;
      const canonical = address && formatAddress(unmapAddress(address));
      const facts = await gather(canonical);
      const diagnoses = diagnose(facts, canonical);
      return {
        healthy: diagnoses.every(({ severity }) => severity === "note"),
        at: facts.now,
        ports: facts.ports.map(({ port }) => port),
        exporters: facts.exporters.filter((one) => canonical === undefined || one.address === canonical).length,
        diagnoses,
      };
    },
  };
}

type MetricSample = FamilyReading["samples"] extends Iterable<infer Sample> ? Sample : never;

/** Reasons for which a whole datagram is not decoded, whatever is in it. */
const refusals: ReadonlySet<unknown> = new Set(["unknown_protocol", "unsupported", "disabled"]);

/** The counts of flows by the collector's metrics. */
export function flowCounts(families: readonly FamilyReading[]): FlowCounts {
  const samplesOf = (name: string): MetricSample[] =>
    families.flatMap((family) => (family.name === name ? [...family.samples] : []));
  const sum = (name: string): number => samplesOf(name).reduce((total, [, value]) => total + value, 0);
  const refused: Record<string, number> = {};
  for (const [labels, value] of samplesOf("netgloss_flow_drops_total")) {
    const reason = labels["reason"];
    if (refusals.has(reason)) refused[String(reason)] = (refused[String(reason)] ?? 0) + value;
  }
  return {
    datagrams: sum("netgloss_flow_datagrams_total"),
    queueDrops: sum("netgloss_flow_queue_drops_total"),
    lineDrops: sum("netgloss_flow_lines_dropped_total"),
    refused,
  };
}
