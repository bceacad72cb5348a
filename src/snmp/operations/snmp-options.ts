import type { Enricher, Sink } from "../../record/index.ts";
import type { Clock, Health, Log, Metrics, Progress } from "../../base/report/index.ts";
import type { DefinitionPaths } from "../definitions/definition-files.ts";
import type { TrapSettings } from "../traps/trap-listener.ts";
import type { OpenUdpSocket } from "../session/sockets.ts";
import type { OctetReading } from "../poller/interface-states.ts";
import type { DiscoverySettings } from "./network-discovery.ts";
import type { SnmpNaming } from "../poller/record-writer.ts";

/** A device that this collector polls from now on. */
export interface GivenDevice {
  readonly deviceId: string;
  /** The plan of the collector that polled it before, as text. */
  readonly plan: string | undefined;
  /** The longest possible time since its last poll, in ms; undefined if it was never polled. */
  readonly idleMs: number | undefined;
}

/** The outcome of a rediscovery by another collector. */
export interface RemoteDiscovery {
  readonly ok: boolean;
  readonly error?: string;
}

/** Polls the devices that this collector is given. */
export interface DeviceTaker {
  take(devices: readonly GivenDevice[]): Promise<void>;
  /** Stops polling them at once. @returns their plans as text, if there are any. */
  release(deviceIds: readonly string[]): Promise<ReadonlyMap<string, string | undefined>>;
  /** Rediscovers a device. @returns undefined if the device is not polled here. */
  rediscover(deviceId: string): Promise<RemoteDiscovery> | undefined;
}

/** Shares devices with other collectors, so that each is polled by one. */
export interface DeviceSharing {
  /** The name of this collector. */
  readonly member: string;
  /** Begins sharing. Resolves when devices were assigned for the first time, or when that is not possible now. */
  start(taker: DeviceTaker): Promise<void>;
  /** Offers the devices of the definitions, at the start and after each change. */
  offer(deviceIds: readonly string[]): void;
  holds(deviceId: string): boolean;
  /** Returns the collector that polls a device; undefined if this one does not know. */
  memberOf(deviceId: string): string | undefined;
  /** Keeps the plan of a device for the next collector. */
  keep(deviceId: string, plan: string): Promise<void>;
  /** Reports whether this collector does the work that only one of them is to do. */
  leads(): boolean;
  /**
   * Lets the collector that polls the device discover it.
   *
   * @returns the outcome, after the other collector has begun.
   * @throws Error with the reason if it has not.
   */
  rediscover(deviceId: string): Promise<{ readonly done: Promise<RemoteDiscovery>; readonly forget: () => void }>;
  /** Gives all devices to the others. */
  stop(): Promise<void>;
}

export interface SnmpOptions {
  readonly paths: DefinitionPaths;
  /** The directory that keeps plans across restarts; empty for none. */
  readonly persistDirectory: string;
  readonly enricher: Enricher;
  readonly sink: Sink;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly health: Health;
  /** True if the last readings are kept for Prometheus. */
  readonly keepsReadings?: boolean;
  /** True if links between devices are inferred from their tables. */
  readonly infersLinks?: boolean;
  /** The pause between a change of a table and the next inference, in ms. Default: 10 s. */
  readonly linksAfterMs?: number;
  /** True if records have the changes of their counters since the previous poll. Default: no. */
  readonly addsRates?: boolean;
  /** The naming of tables in records. Default: as in the definitions. */
  readonly naming?: SnmpNaming;
  /** The settings for traps and informs; without them none are received. */
  readonly traps?: TrapSettings;
  /** True if the last readings of the counters of interfaces are kept. Default: no. */
  readonly keepsCounters?: boolean;
  /** Returns a number from 0 to below 1; Math.random by default. */
  readonly random?: () => number;
  readonly openSocket?: OpenUdpSocket;
  /** The settings for network discovery; without them there is none. Its directory of devices is one of `paths`. */
  readonly discovery?: DiscoverySettings;
  /** Returns the addresses of hosts that send flows. */
  readonly exporters?: () => Promise<readonly string[]>;
  /** Shares the devices with other collectors; without it all are polled here. */
  readonly sharing?: DeviceSharing | undefined;
  /** Shows the progress of long work. */
  readonly progress?: Progress;
}

export type ApplyOutcome =
  | { readonly ok: true; readonly report: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly findings: readonly ApplyFinding[] };

/** The result of a preview of the definitions: the report of an apply, or the findings in the files. */
export type DefinitionsPreview = ApplyOutcome & {
  readonly inUse: { readonly revision: string; readonly devices: number };
};

export interface ApplyFinding {
  /** `file:line:column` */
  readonly place: string;
  readonly id: string;
  readonly message: string;
}

export interface RediscoveryOutcome {
  readonly isDone: boolean;
  readonly report: Readonly<Record<string, unknown>>;
}

/** The recent counts of the interfaces of a device. */
export interface DeviceCounters {
  /** `ip:port` */
  readonly device: string;
  readonly interfaces: readonly {
    readonly index: number;
    readonly name: string | undefined;
    /** The readings in the order of time, since the counters last went back. */
    readonly readings: readonly OctetReading[];
  }[];
}
