import type { Clock, Log, Metrics } from "../../base/report/index.ts";
import { covers } from "../sweep/address-ranges.ts";
import type { CandidateSource } from "../sweep/candidate-source.ts";
import type { Network } from "../sweep/network.ts";
import type { SweepTarget } from "../sweep/probe-address.ts";
import type { NetworkDiscovery } from "./network-discovery.ts";

/** An address that is named somewhere and is no device yet. */
export interface NamedAddress {
  /** Canonical text. */
  readonly address: string;
  readonly source: CandidateSource;
  /** Who named it: `LLDP neighbour of core-1, port ge-0/0/1`. */
  readonly reason: string;
}

/**
 * What happens to a candidate.
 *
 * - `outside`: no network of the file allows it
 * - `off`: it is allowed, and the settings do not take what comes from its source
 * - `waiting`: it is asked next
 * - `silent`, `refused`: what the last try came to; `duplicate`: a device that has another address
 */
export const candidateStates = ["outside", "off", "waiting", "silent", "refused", "duplicate"] as const;
export type CandidateState = (typeof candidateStates)[number];

export interface CandidateView extends NamedAddress {
  readonly state: CandidateState;
  readonly network?: string;
  /** RFC 3339. */
  readonly triedAt?: string;
}

/** Addresses that may be devices, and the taking of those that are allowed. */
export interface Candidates {
  /** In the order of addresses as texts. */
  view(): Promise<readonly CandidateView[]>;
  start(): void;
  stop(): Promise<void>;
}

export interface CandidatesParts {
  readonly discovery: Pick<NetworkDiscovery, "networks" | "probe">;
  /** Everything that is named now. */
  readonly named: () => Promise<Iterable<NamedAddress>>;
  /** Says of an address whether it is a device's, as of now. */
  readonly devices: () => (address: string) => boolean;
  /** Whose addresses are asked. */
  readonly sources: readonly CandidateSource[];
  /** Between looks. */
  readonly lookMs: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** An address that was asked in vain is asked again no sooner. */
const retryMs = 3_600_000;
/** More are not kept: senders can be forged, and tables be long. */
const maxCandidates = 5000;
/** How many are asked in one go. */
const maxAtOnce = 256;

export function createCandidates(parts: CandidatesParts): Candidates {
  const { clock, log } = parts;
  const tried = new Map<string, { readonly at: number; readonly state: CandidateState }>();
  let current: readonly CandidateView[] = [];
  let looking: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  parts.metrics.gaugeFrom(
    "netgloss_snmp_discovery_candidates",
    "Addresses that neighbours and flows name and that are no devices, by state",
    ["state"],
    () => candidateStates.map((state) => [{ state }, current.filter((one) => one.state === state).length] as const),
  );

  const allowed = (networks: readonly Network[], address: string): Network | undefined =>
    networks.find(
      ({ ranges, allow, excludes }) => covers([...ranges, ...allow], address) && !covers(excludes, address),
    );

  const collect = async (networks: readonly Network[]): Promise<Map<string, CandidateView>> => {
    const found = new Map<string, CandidateView>();
    const isDevice = parts.devices();
    for (const named of await parts.named()) {
      const { address, source } = named;
      const before = found.get(address);
      // Of several that name it, one whose addresses are asked counts.
      if (found.size === maxCandidates || (before !== undefined && before.state !== "off")) continue;
      if (before === undefined && isDevice(address)) continue;
      const network = allowed(networks, address);
      const last = tried.get(address);
      const isDue = last === undefined || clock.monotonic() >= last.at + retryMs;
      const isTaken = network !== undefined && parts.sources.includes(source);
      const state = isTaken ? (isDue ? "waiting" : last.state) : network === undefined ? "outside" : "off";
      found.set(address, {
        ...named,
        state,
        ...(network !== undefined && { network: network.name }),
        ...(last !== undefined && { triedAt: new Date(clock.now() - clock.monotonic() + last.at).toISOString() }),
      });
    }
    for (const address of tried.keys()) if (!found.has(address)) tried.delete(address);
    return found;
  };

  const look = async (): Promise<void> => {
    const { networks } = await parts.discovery.networks();
    const found = await collect(networks);
    current = [...found.values()].sort((a, b) => (a.address < b.address ? -1 : 1));
    const targets: SweepTarget[] = [];
    for (const { address, state, reason } of current) {
      const network = allowed(networks, address);
      if (state === "waiting" && network !== undefined && targets.length < maxAtOnce)
        targets.push({ address, network, reason });
    }
    if (targets.length === 0 || isStopped) return;
    const { devices, refused, isStopped: isCut } = await parts.discovery.probe(targets);
    if (isCut) return;
    const at = clock.monotonic();
    const answered = new Set(devices.map(({ address }) => address));
    const refusing = new Set(refused.map(({ address }) => address));
    for (const { address } of targets) {
      const state = answered.has(address) ? "duplicate" : refusing.has(address) ? "refused" : "silent";
      tried.set(address, { at, state });
    }
    log.info({ asked: targets.length, found: devices.length }, "candidates were asked whether they are SNMP devices");
    current = [...(await collect(networks)).values()].sort((a, b) => (a.address < b.address ? -1 : 1));
  };
  const lookOnce = (): Promise<void> =>
    (looking ??= look()
      .catch((error: unknown) => {
        if (!isStopped) log.warn({ error }, "candidates could not be asked whether they are SNMP devices");
      })
      .finally(() => (looking = undefined)));

  return {
    async view() {
      const { networks } = await parts.discovery.networks();
      return [...(await collect(networks)).values()].sort((a, b) => (a.address < b.address ? -1 : 1));
    },
    start() {
      timer = setInterval(() => void lookOnce(), parts.lookMs);
      timer.unref();
    },
    async stop() {
      isStopped = true;
      clearInterval(timer);
      await looking;
    },
  };
}
