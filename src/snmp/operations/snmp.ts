import type { Enricher, Sink } from "../../record/index.ts";
import type { Clock, Component, Health, Log, Metrics, Progress } from "../../base/report/index.ts";
import type { DefinitionPaths } from "../definitions/definition-files.ts";
import type { RefusedTraps } from "../traps/sender-limit.ts";
import type { TrapSettings } from "../traps/trap-listener.ts";
import type { OpenUdpSocket } from "../session/sockets.ts";
import type { DeviceDetail, DeviceView } from "./device-table.ts";
import type { OctetReading } from "../poller/interface-states.ts";
import type { InterfaceChange } from "./interface-directory.ts";
import type { Candidates } from "./candidates.ts";
import type { DiscoverySettings, NetworkDiscovery } from "./network-discovery.ts";
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

/** What polls the devices that this collector is given. */
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
  /** Whether this collector does what one of them is to do. */
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
  /** Where plans are kept over a restart; empty: nowhere. */
  readonly persistDirectory: string;
  readonly enricher: Enricher;
  readonly sink: Sink;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly health: Health;
  /** Keeps what the last polls read, for Prometheus. */
  readonly keepsReadings?: boolean;
  /** Whether records have the changes of their counters since the previous poll. Default: no. */
  readonly addsRates?: boolean;
  /** How tables are called in records. Default: as in the definitions. */
  readonly naming?: SnmpNaming;
  /** Receives traps and informs; without it none are. */
  readonly traps?: TrapSettings;
  /** Whether the last readings of the counters of interfaces are kept. Default: they are not. */
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

/** What applying the definitions would do: the report of an apply, or what is wrong with the files. */
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

/** What SNMP counted at the interfaces of a device lately. */
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

/** The SNMP half of the collector. */
export interface Snmp extends Component {
  /**
   * Reads all definitions again and puts them to use, or, with any error, none of them. Polls go on throughout.
   * One runs at a time; a call joins one that waits.
   */
  applyDefinitions(forceRediscovery: boolean): Promise<ApplyOutcome>;
  /** Reads all definitions and says what applying them would do now. Changes nothing. */
  previewDefinitions(): Promise<DefinitionsPreview>;
  /** Begins a discovery or joins the one under way. @returns undefined when there is no such device. */
  rediscoverDevice(
    device: { readonly ip: string; readonly port: number },
    wait?: { readonly seconds: number; readonly signal: AbortSignal },
  ): Promise<RediscoveryOutcome | undefined>;
  /** What the last polls read, in the Prometheus text format, in pieces; undefined when it is not kept. */
  readings(): Iterable<string> | undefined;
  /** The port for traps and informs; undefined while none are received. */
  trapPort(): number | undefined;
  /** Traps that were refused for their credentials or their time, by sender and reason. */
  refusedTraps(): readonly RefusedTraps[];
  /** In the order of ids. A view is made when it is asked for: a device that went meanwhile is left out. */
  devices(): Iterable<DeviceView>;
  device(id: string): DeviceDetail | undefined;
  /** Whether an address is a device's: that at which it is polled, or one that it says it has. */
  knows(address: string): boolean;
  /** The counters of bytes of that device; undefined when the address is no device's. */
  counters(address: string): DeviceCounters | undefined;
  /** Undefined when no networks are searched. */
  readonly networks: NetworkDiscovery | undefined;
  /** Addresses that are named somewhere and no devices; undefined when no networks are searched. */
  readonly candidates: Candidates | undefined;
  /** Gives flow records the names of their exporter's interfaces. */
  readonly interfaceEnricher: Enricher;
  /** Reports to another thread's directory of interfaces all that is known, then each change. @returns a function that ends it. */
  watchInterfaces(listener: (change: InterfaceChange) => void): () => void;
}
