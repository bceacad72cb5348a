import { createMetrics, type Clock, type Log } from "../../report/index.ts";
import type { Definitions } from "../definitions/definitions.ts";
import { createSnmpClient } from "../session/snmp-client.ts";
import { SnmpError } from "../session/snmp-error.ts";
import type { OpenUdpSocket } from "../session/udp-socket.ts";
import { hostsIn } from "../sweep/address-ranges.ts";
import type { Network } from "../sweep/network.ts";
import type { SweepTarget } from "../sweep/probe-address.ts";
import { createSendPace } from "../sweep/send-pace.ts";
import { sweep, type SweepParts, type SweepResult } from "../sweep/sweep.ts";
import type { SweepMeasures } from "../sweep/sweep-metrics.ts";
import { systemPing } from "../sweep/system-ping.ts";
import type { DiscoverySettings } from "./discovery-report.ts";

/** Sweeps of one collector: a client of their own, one pace for all. */
export interface NetworkSweeps {
  run(targets: Iterable<SweepTarget>, watch: SweepWatch): Promise<SweepResult>;
  close(): void;
}

export interface SweepWatch extends Pick<SweepParts, "reached"> {
  /** A device was found. */
  readonly answered: () => void;
}

export interface NetworkSweepsParts {
  readonly settings: Pick<DiscoverySettings, "perSecond" | "maxInFlight">;
  readonly definitions: () => Definitions;
  readonly measures: Pick<SweepMeasures, "sent" | "tried" | "ended">;
  /** Ends all sweeps. */
  readonly stopping: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  readonly openSocket?: OpenUdpSocket | undefined;
  readonly ping?: SweepParts["ping"];
}

export function createNetworkSweeps(parts: NetworkSweepsParts): NetworkSweeps {
  const { settings, definitions, measures, stopping, clock, log, openSocket } = parts;
  const pace = createSendPace(clock, settings.perSecond);
  // Silence is what a sweep expects: it would drown what the metrics of polling say.
  const client = createSnmpClient({
    metrics: createMetrics(),
    log,
    clock,
    ...(openSocket !== undefined && { openSocket }),
  });
  return {
    async run(targets, watch) {
      const failed = new AbortController();
      const signal = AbortSignal.any([stopping, failed.signal]);
      try {
        return await sweep(
          {
            client,
            definitions: definitions(),
            async turn() {
              await pace.turn(signal).catch((error: Error) => {
                throw new SnmpError("closed", error.message);
              });
              measures.sent();
            },
            tried: (result) => measures.tried(result),
            ended(result) {
              measures.ended(result);
              if (result === "found") watch.answered();
            },
            ping: parts.ping ?? systemPing,
            signal,
            maxInFlight: settings.maxInFlight,
            reached: watch.reached,
          },
          targets,
        );
      } finally {
        failed.abort(new Error("the run has ended"));
      }
    },
    close: () => client.close(),
  };
}

/** An address that several networks have is asked by the first of them. */
export function targetsOf(networks: readonly Network[]): SweepTarget[] {
  const targets = new Map<string, SweepTarget>();
  for (const network of networks) {
    for (const address of hostsIn(network.ranges, network.excludes)) {
      const key = `${address} ${network.port}`;
      if (!targets.has(key)) targets.set(key, { address, network });
    }
  }
  return [...targets.values()];
}
