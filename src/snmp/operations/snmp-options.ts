import type { Enricher, Sink } from "../../record/index.ts";
import type { Clock, Health, Log, Metrics, Progress } from "../../base/report/index.ts";
import type { DefinitionPaths } from "../definitions/definition-files.ts";
import type { TrapSettings } from "../traps/trap-listener.ts";
import type { OpenUdpSocket } from "../session/sockets.ts";
import type { OctetReading } from "../poller/interface-states.ts";
import type { DiscoverySettings } from "./network-discovery.ts";
import type { SnmpNaming } from "../poller/record-writer.ts";

/** A device that this collector is to poll from now on. */
export interface GivenDevice {
  readonly deviceId: string;
  /** The plan of who polled it before, as text. */
  readonly plan: string | undefined;
  /** The longest time that it may have gone without a poll, in milliseconds; undefined: it was never polled. */
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
  /** Polls them no more, at once. @returns their plans as text, as far as there are any. */
  release(deviceIds: readonly string[]): Promise<ReadonlyMap<string, string | undefined>>;
  /** @returns undefined when the device is not polled here. */
  rediscover(deviceId: string): Promise<RemoteDiscovery> | undefined;
}

/** Devices shared with other collectors: each is polled by one. */
export interface DeviceSharing {
  /** The name of this collector. */
  readonly member: string;
  /** Begins. Resolves when devices were given for the first time, or cannot be for now. */
  start(taker: DeviceTaker): Promise<void>;
  /** The devices of the definitions, at the start and whenever they have changed. */
  offer(deviceIds: readonly string[]): void;
  holds(deviceId: string): boolean;
  /** The collector that polls a device; undefined when this one does not know. */
  memberOf(deviceId: string): string | undefined;
  /** Keeps the plan of a device for the next collector. */
  keep(deviceId: string, plan: string): Promise<void>;
  /** Tells whether this collector does what one of them is to do. */
  leads(): boolean;
  /**
   * Asks the collector that polls the device to discover it.
   *
   * @returns the outcome, once the other one has begun.
   * @throws Error that says why it has not.
   */
  rediscover(deviceId: string): Promise<{ readonly done: Promise<RemoteDiscovery>; readonly forget: () => void }>;
  /** Gives all devices to the others. */
  stop(): Promise<void>;
}

export interface SnmpOptions {
  readonly paths: DefinitionPaths;
  /** The directory that keeps plans over a restart; empty: none. */
  readonly persistDirectory: string;
  readonly enricher: Enricher;
  readonly sink: Sink;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly health: Health;
  /** Keeps what the last polls read, for Prometheus. */
  readonly keepsReadings?: boolean;
  /** True if links between devices are inferred from what they say of each other. */
  readonly infersLinks?: boolean;
  /** The pause between a change of a table and that, milliseconds. Default: 10 s. */
  readonly linksAfterMs?: number;
  /** True if records have the changes of their counters since the previous poll. Default: no. */
  readonly addsRates?: boolean;
  /** The naming of tables in records. Default: as in the definitions. */
  readonly naming?: SnmpNaming;
  /** Receives traps and informs; without it none are. */
  readonly traps?: TrapSettings;
  /** True if the last readings of the counters of interfaces are kept. Default: they are not. */
  readonly keepsCounters?: boolean;
  /** 0 to below 1; default Math.random. */
  readonly random?: () => number;
  readonly openSocket?: OpenUdpSocket;
  /** Searches networks for devices; without it none are. Its directory of devices is one of `paths`. */
  readonly discovery?: DiscoverySettings;
  /** Addresses of hosts that send flows. */
  readonly exporters?: () => Promise<readonly string[]>;
  /** Shares the devices with other collectors; without it all are polled here. */
  readonly sharing?: DeviceSharing | undefined;
  /** Shows what takes a while. */
  readonly progress?: Progress;
}

export type ApplyOutcome =
  | { readonly ok: true; readonly report: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly findings: readonly ApplyFinding[] };

/** The result of a preview of the definitions: the report of an apply, or what is wrong with the files. */
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

/** Recent SNMP counts of the interfaces of a device. */
export interface DeviceCounters {
  /** `ip:port` */
  readonly device: string;
  readonly interfaces: readonly {
    readonly index: number;
    readonly name: string | undefined;
    /** In the order of time, since the counters last went back. */
    readonly readings: readonly OctetReading[];
  }[];
}
