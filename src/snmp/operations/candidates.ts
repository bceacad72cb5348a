import { formatAddress, formatAddressBytes, parseAddress, unmapAddress } from "../../base/ip/index.ts";
import type { PolledRows } from "../poller/poll-object.ts";
import type { PolledObject } from "../poller/poll-plan.ts";
import { type NeighbourProtocol, covers, type CandidateSource, type Network } from "../sweep/networks.ts";
import { oidStartsWith, type Oid } from "../session/ber.ts";
import type { Clock, Log, Metrics } from "../../base/report/index.ts";
import type { SweepTarget } from "../sweep/sweep.ts";
import type { NetworkDiscovery } from "./network-discovery.ts";

/** The address of a neighbour in a table of a polled device. */
export interface Neighbour {
  /** The address as canonical text. */
  readonly address: string;
  readonly protocol: NeighbourProtocol;
  /** `ip:port` of the polled device. */
  readonly deviceId: string;
  /** LLDP: lldpLocPortNum; otherwise ifIndex. */
  readonly port: number;
}

interface Source {
  readonly protocol: NeighbourProtocol;
  /** The OID of the table's entry; for CDP that of the column with the address. */
  readonly root: Oid;
  /** Reads a row from the suffix after the OID of its columns, and for CDP from the value. */
  readonly read: (
    suffix: Oid,
    octets: Buffer | undefined,
  ) => { readonly port: number; readonly address: string | undefined };
}

const sources: readonly Source[] = [
  {
    // LLDP-MIB: lldpRemManAddrEntry, by time mark, port, index, AddressFamilyNumbers, length and octets.
    protocol: "lldp",
    root: [1, 0, 8802, 1, 1, 2, 1, 4, 2, 1],
    read: ([, port = 0, , family, , ...octets]) => ({ port, address: addressOf(family, octets) }),
  },
  {
    // CISCO-CDP-MIB: cdpCacheAddress, by ifIndex and index.
    protocol: "cdp",
    root: [1, 3, 6, 1, 4, 1, 9, 9, 23, 1, 2, 1, 1, 4],
    read: ([port = 0], octets) => ({ port, address: addressOf(octets?.length === 4 ? 1 : 2, [...(octets ?? [])]) }),
  },
  {
    // IP-MIB: ipNetToPhysicalEntry, by ifIndex, InetAddressType, length and octets.
    protocol: "arp",
    root: [1, 3, 6, 1, 2, 1, 4, 35, 1],
    read: ([port = 0, type, , ...octets]) => ({ port, address: addressOf(type, octets) }),
  },
  {
    // IP-MIB: ipNetToMediaEntry, by ifIndex and address.
    protocol: "arp",
    root: [1, 3, 6, 1, 2, 1, 4, 22, 1],
    read: ([port = 0, ...octets]) => ({ port, address: addressOf(1, octets) }),
  },
];

/** The most neighbours to keep from one table: if there are more, they are hosts of a large network. */
const maxOfTable = 4000;

/** The neighbours from the last polls of devices. */
export class Neighbours {
  readonly #byDevice = new Map<string, Map<string, readonly Neighbour[]>>();

  see(deviceId: string, object: PolledObject, polled: PolledRows): void {
    const found = sourceOf(object);
    if (found === undefined) return;
    const { source, column } = found;
    const seen = new Map<string, Neighbour>();
    for (const { key, values } of polled.rows) {
      if (seen.size === maxOfTable) break;
      const value = values[column]?.value;
      const octets = typeof value === "string" ? Buffer.from(value, "latin1") : undefined;
      const { port, address } = source.read(key.split(".").map(Number), octets);
      if (address !== undefined) seen.set(address, { address, protocol: source.protocol, deviceId, port });
    }
    const tables = this.#byDevice.get(deviceId) ?? new Map<string, readonly Neighbour[]>();
    this.#byDevice.set(deviceId, tables);
    const before = polled.isComplete ? [] : (tables.get(object.id) ?? []);
    tables.set(object.id, [...before.filter(({ address }) => !seen.has(address)), ...seen.values()].slice(-maxOfTable));
  }

  forget(deviceId: string): void {
    this.#byDevice.delete(deviceId);
  }

  *list(): Iterable<Neighbour> {
    for (const tables of this.#byDevice.values()) for (const neighbours of tables.values()) yield* neighbours;
  }
}

function sourceOf({ columns }: PolledObject): { readonly source: Source; readonly column: number } | undefined {
  for (const source of sources) {
    const column = columns.findIndex(({ oid }) => oidStartsWith(oid, source.root));
    if (column >= 0) return { source, column };
  }
  return undefined;
}

/** Returns the address. @param family 1 for IPv4, 2 for IPv6, both in AddressFamilyNumbers and in InetAddressType. */
function addressOf(family: number | undefined, octets: readonly number[]): string | undefined {
  const length = family === 1 ? 4 : family === 2 ? 16 : 0;
  if (length === 0 || octets.length !== length || octets.some((octet) => !(octet >= 0 && octet <= 255)))
    return undefined;
  const parsed = parseAddress(formatAddressBytes(Uint8Array.from(octets), 0, length === 4 ? 4 : 6));
  if (parsed === undefined) return undefined;
  const text = formatAddress(unmapAddress(parsed));
  return /^(?:0\.|127\.|169\.254\.|22[4-9]\.|2[3-5]\d\.|::1?$|fe[89ab]|ff)/.test(text) ? undefined : text;
}

/** An address that is named somewhere and is no device yet. */
export interface NamedAddress {
  /** The address as canonical text. */
  readonly address: string;
  readonly source: CandidateSource;
  /** A description of the source: `LLDP neighbour of core-1, port ge-0/0/1`. */
  readonly reason: string;
}

/**
 * The state of a candidate:
 *
 * - `outside`: no network of the file allows it
 * - `off`: it is allowed, but the settings exclude its source
 * - `waiting`: it is probed next
 * - `silent`, `refused`: the result of the last try; `duplicate`: a device that has another address
 */
const candidateStates = ["outside", "off", "waiting", "silent", "refused", "duplicate"] as const;
type CandidateState = (typeof candidateStates)[number];

export interface CandidateView extends NamedAddress {
  readonly state: CandidateState;
  readonly network?: string;
  /** The time of the last try, RFC 3339. */
  readonly triedAt?: string;
}

interface CandidatesParts {
  readonly discovery: Pick<NetworkDiscovery, "networks" | "probe">;
  /** Returns all addresses that are named now. */
  readonly named: () => Promise<Iterable<NamedAddress>>;
  /** Returns a function that reports whether an address is a device's now. */
  readonly devices: () => (address: string) => boolean;
  /** The sources whose addresses are probed. */
  readonly sources: readonly CandidateSource[];
  /** The interval between looks, in ms. */
  readonly lookMs: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** The least time in ms before an address is probed again after a failure. */
const retryMs = 3_600_000;
/** The most candidates to keep, because senders can be forged, and tables may be long. */
const maxCandidates = 5000;
/** The most candidates to probe at a time. */
const maxAtOnce = 256;

/** The addresses that may be devices. It probes those that are allowed. */
export class Candidates {
  readonly #parts: CandidatesParts;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #tried = new Map<string, { readonly at: number; readonly state: CandidateState }>();
  #current: readonly CandidateView[] = [];
  #looking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(parts: CandidatesParts) {
    this.#parts = parts;
    this.#clock = parts.clock;
    this.#log = parts.log;
    parts.metrics.gaugeFrom(
      "netgloss_snmp_discovery_candidates",
      "Addresses that neighbours and flows name and that are no devices, by state",
      ["state"],
      () =>
        candidateStates.map((state) => [{ state }, this.#current.filter((one) => one.state === state).length] as const),
    );
  }

  /** Returns the candidates in the order of addresses as texts. */
  async view(): Promise<readonly CandidateView[]> {
    const { networks } = await this.#parts.discovery.networks();
    return [...(await this.#collect(networks)).values()].sort((a, b) => (a.address < b.address ? -1 : 1));
  }

  start(): void {
    this.#timer = setInterval(() => void this.#lookOnce(), this.#parts.lookMs);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#looking;
  }

  #allowed(networks: readonly Network[], address: string): Network | undefined {
    return networks.find(
      ({ ranges, allow, excludes }) => covers([...ranges, ...allow], address) && !covers(excludes, address),
    );
  }

  async #collect(networks: readonly Network[]): Promise<Map<string, CandidateView>> {
    const found = new Map<string, CandidateView>();
    const isDevice = this.#parts.devices();
    for (const named of await this.#parts.named()) {
      const { address, source } = named;
      const before = found.get(address);
      // If several sources name an address, one whose addresses are probed counts.
      if (found.size === maxCandidates || (before !== undefined && before.state !== "off")) continue;
      if (before === undefined && isDevice(address)) continue;
      const network = this.#allowed(networks, address);
      const last = this.#tried.get(address);
      const isDue = last === undefined || this.#clock.monotonic() >= last.at + retryMs;
      const isTaken = network !== undefined && this.#parts.sources.includes(source);
      const state = isTaken ? (isDue ? "waiting" : last.state) : network === undefined ? "outside" : "off";
      found.set(address, {
        ...named,
        state,
        ...(network !== undefined && { network: network.name }),
        ...(last !== undefined && {
          triedAt: new Date(this.#clock.now() - this.#clock.monotonic() + last.at).toISOString(),
        }),
      });
    }
    for (const address of this.#tried.keys()) if (!found.has(address)) this.#tried.delete(address);
    return found;
  }

  async #look(): Promise<void> {
    const { networks } = await this.#parts.discovery.networks();
    const found = await this.#collect(networks);
    this.#current = [...found.values()].sort((a, b) => (a.address < b.address ? -1 : 1));
    const targets: SweepTarget[] = [];
    for (const { address, state, reason } of this.#current) {
      const network = this.#allowed(networks, address);
      if (state === "waiting" && network !== undefined && targets.length < maxAtOnce)
        targets.push({ address, network, reason });
    }
    if (targets.length === 0 || this.#isStopped) return;
    const { devices, refused, isStopped: isCut } = await this.#parts.discovery.probe(targets);
    if (isCut) return;
    const at = this.#clock.monotonic();
    const answered = new Set(devices.map(({ address }) => address));
    const refusing = new Set(refused.map(({ address }) => address));
    for (const { address } of targets) {
      const state = answered.has(address) ? "duplicate" : refusing.has(address) ? "refused" : "silent";
      this.#tried.set(address, { at, state });
    }
    this.#log.info(
      { asked: targets.length, found: devices.length },
      "candidates were asked whether they are SNMP devices",
    );
    this.#current = [...(await this.#collect(networks)).values()].sort((a, b) => (a.address < b.address ? -1 : 1));
  }

  #lookOnce(): Promise<void> {
    return (this.#looking ??= this.#look()
      .catch((error: unknown) => {
        if (!this.#isStopped) this.#log.warn({ error }, "candidates could not be asked whether they are SNMP devices");
      })
      .finally(() => (this.#looking = undefined)));
  }
}
