import type { ExporterTraffic, ExporterView } from "../../flow/index.ts";
import type { DeviceCounters, RefusedTraps } from "../../snmp/index.ts";
import type { OutputView } from "../views/outputs-view.ts";

/** A fleet that the collector should be a member of but is not. All facts in this file are plain data, with times in milliseconds since the epoch. */
export interface LeftFleet {
  readonly fleet: string;
  readonly member: string;
  readonly reason: string;
}

export interface Facts {
  readonly now: number;
  /** The time at which the collector began to receive. */
  readonly startedAt: number;
  /** True if flows are received. */
  readonly enabled: boolean;
  /** Traps that were refused for their credentials or their time; undefined: none are received. */
  readonly refusedTraps?: readonly RefusedTraps[] | undefined;
  /** The fleet that the collector should be a member of but is not; undefined: it is, or works alone. */
  readonly leftFleet?: LeftFleet | undefined;
  /** The open flow ports. */
  readonly ports: readonly PortFacts[];
  /** The open ports for IPFIX over TCP and TLS. */
  readonly streamPorts: readonly number[];
  /** Other programs' sockets at our ports, and at ports that exporters often send to. */
  readonly otherSockets: readonly OtherSocket[];
  /** The counters of the host since the start; undefined where it has none. */
  readonly host: HostCounters | undefined;
  /** Interfaces that drop datagrams whose way back is another one (rp_filter 1). */
  readonly strictInterfaces: readonly string[];
  readonly counts: FlowCounts;
  readonly exporters: readonly ExporterView[];
  /** The names by metadata of exporters, relays and the requested address, by address. */
  readonly names: ReadonlyMap<string, string>;
  /** The enabled outputs; absent: they are not examined. */
  readonly outputs?: readonly OutputFacts[];
  /** Exporters that are also polled by SNMP, with both measurements of their interfaces' traffic. */
  readonly measured: readonly MeasuredExporter[];
}

/** The state of an output as it reports it. */
export type OutputFacts = OutputView;

/** The traffic through the interfaces of an exporter by its flows and by the device's counters. */
export interface MeasuredExporter {
  readonly traffic: ExporterTraffic;
  readonly counters: DeviceCounters;
}

/** A flow port as the kernel sees it. */
export interface PortFacts {
  readonly port: number;
  /** Datagrams dropped because the receive buffer was full; undefined where the kernel has no count. */
  readonly drops: number | undefined;
  /** Bytes received and not read yet. */
  readonly queued: number | undefined;
}

/** A UDP socket of another program. */
export interface OtherSocket {
  readonly port: number;
  /** True if it is bound to one address: at one of our ports it receives the datagrams for that address. */
  readonly isSpecific: boolean;
  /** Process id and name, where the collector may see it. */
  readonly owner: string | undefined;
  readonly uid: number;
}

/** Counters of UDP and IP, of all programs of the host or container. */
export interface HostCounters {
  /** Datagrams to closed ports. */
  readonly noPorts: number;
  readonly bufferErrors: number;
  readonly checksumErrors: number;
  /** Packets dropped because the way back to their sender is another interface. */
  readonly reversePathFilter: number;
}

/** The counts of the collector since the start. */
export interface FlowCounts {
  readonly datagrams: number;
  /** Datagrams dropped because the queues of decoding threads were full. */
  readonly queueDrops: number;
  /** Records that the outputs' thread did not take in time. */
  readonly lineDrops: number;
  /** Whole datagrams that were not decoded, by reason. */
  readonly refused: Readonly<Record<string, number>>;
}
