import type { Metrics } from "../../base/report/index.ts";
import { tryResults, type TryResult } from "./probe-address.ts";
import { addressResults, type AddressResult } from "./sweep.ts";

/** What happened to a device that discovery met. */
export const foundChanges = ["new", "changed", "gone", "duplicate"] as const;
export type FoundChange = (typeof foundChanges)[number];

export interface SweepMeasures {
  sent(): void;
  tried(result: TryResult): void;
  ended(result: AddressResult): void;
  found(change: FoundChange, devices: number): void;
  /** @param at milliseconds since the epoch. */
  run(result: "done" | "failed" | "stopped", at: number, milliseconds: number): void;
}

export function createSweepMeasures(metrics: Metrics): SweepMeasures {
  const probes = metrics.counter(
    "netgloss_snmp_discovery_probes_total",
    "Requests that discovery of networks sent, tries after the first and pings included",
  );
  probes.add(0);
  const tries = metrics.counter(
    "netgloss_snmp_discovery_tries_total",
    "Credentials that discovery of networks tried at an address, by result",
    { result: tryResults },
  );
  const addresses = metrics.counter(
    "netgloss_snmp_discovery_addresses_total",
    "Addresses that discovery of networks asked, by result",
    { result: addressResults },
  );
  const devices = metrics.counter(
    "netgloss_snmp_discovery_devices_total",
    "Devices that discovery of networks met, by what is different",
    { change: foundChanges },
  );
  const runs = metrics.counter("netgloss_snmp_discovery_runs_total", "Runs of discovery of networks, by result", {
    result: ["done", "failed", "stopped"],
  });
  const duration = metrics.gauge("netgloss_snmp_discovery_duration_seconds", "Duration of the last run over networks");
  const last = metrics.gauge(
    "netgloss_snmp_discovery_last_run_timestamp_seconds",
    "When the last run over networks ended; 0 before the first one",
  );
  duration.set(0);
  last.set(0);
  return {
    sent: () => probes.add(),
    tried: (result) => tries.add(1, { result }),
    ended: (result) => addresses.add(1, { result }),
    found: (change, count) => devices.add(count, { change }),
    run(result, at, milliseconds) {
      runs.add(1, { result });
      duration.set(milliseconds / 1000);
      last.set(at / 1000);
    },
  };
}
