import { SnmpError } from "../session/snmp-error.ts";
import { probeAddress, type ProbeParts, type SweepTarget, type SweptDevice } from "./probe-address.ts";

/** An agent that answers, but none of the credentials. */
export interface RefusedAddress {
  readonly address: string;
  readonly network: string;
  readonly reason: string;
}

export interface SweepResult {
  /** In the order of the targets, whichever answered first. */
  readonly devices: readonly SweptDevice[];
  readonly refused: readonly RefusedAddress[];
  /** Addresses that were asked to the end. */
  readonly probed: number;
  /** Whether it was stopped before its end. */
  readonly isStopped: boolean;
}

/** What happened to an address. */
export const addressResults = ["found", "refused", "silent", "no_ping"] as const;
export type AddressResult = (typeof addressResults)[number];

export interface SweepParts extends ProbeParts {
  /** Whether an address answers a ping. */
  readonly ping: (address: string, timeoutMs: number, signal: AbortSignal) => Promise<boolean>;
  readonly ended: (result: AddressResult) => void;
  readonly signal: AbortSignal;
  /** The most addresses that are asked at the same time. */
  readonly maxInFlight: number;
  readonly reached: (addresses: number) => void;
}

/** How many refusals are listed; all are counted. */
const maxRefused = 1000;

/**
 * Asks each target, this many at the same time, each message in its turn.
 *
 * @throws what `ping` throws.
 */
export async function sweep(parts: SweepParts, targets: Iterable<SweepTarget>): Promise<SweepResult> {
  const { signal } = parts;
  const found: [place: number, SweptDevice][] = [];
  const refused: [place: number, RefusedAddress][] = [];
  const queue = targets[Symbol.iterator]();
  let place = 0;
  let probed = 0;

  const probe = async (target: SweepTarget, at: number): Promise<AddressResult> => {
    const { address, network } = target;
    if (network.ping) {
      await parts.turn();
      if (!(await parts.ping(address, network.timeoutMs, signal))) return "no_ping";
    }
    const result = await probeAddress(parts, target);
    if (result.device !== undefined) {
      found.push([at, result.device]);
      return "found";
    }
    if (result.refusal === undefined) return "silent";
    if (refused.length < maxRefused) refused.push([at, { address, network: network.name, reason: result.refusal }]);
    return "refused";
  };
  const work = async (): Promise<void> => {
    for (let next = queue.next(); !next.done && !signal.aborted; next = queue.next()) {
      try {
        const result = await probe(next.value, place++);
        parts.ended(result);
        parts.reached(++probed);
      } catch (error) {
        if (!signal.aborted && !(error instanceof SnmpError && error.code === "closed")) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: parts.maxInFlight }, work));
  return {
    devices: inOrder(found),
    refused: inOrder(refused),
    probed,
    isStopped: signal.aborted,
  };
}

function inOrder<T>(items: [place: number, T][]): T[] {
  return items.sort(([a], [b]) => a - b).map(([, item]) => item);
}
