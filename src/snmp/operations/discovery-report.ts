import type { CandidateSource } from "../sweep/candidate-source.ts";
import type { Network } from "../sweep/network.ts";
import type { FoundDiff } from "../sweep/settle-found.ts";
import type { RefusedAddress } from "../sweep/sweep.ts";

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

export interface DiscoveryProgress {
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

export interface NetworksInUse {
  readonly networks: readonly Network[];
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}
