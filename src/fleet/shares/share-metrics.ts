import type { Metrics } from "../../report/index.ts";

const origins = ["nobody", "released", "dead"] as const;

/** The metrics of keys that members of a fleet divide. @param counts keys by where they are, asked at each scrape. */
export function createShareMetrics(metrics: Metrics, counts: () => Readonly<Record<string, number>>) {
  metrics.gaugeFrom("netgloss_fleet_devices", "Devices of the definitions, by where they are polled.", ["state"], () =>
    Object.entries(counts()).map(([state, count]) => [{ state }, count] as const),
  );
  return {
    taken: metrics.counter(
      "netgloss_fleet_devices_taken_total",
      "Devices that this collector has taken, by what they were before: nobody's, given up, or of a collector that lives no more.",
      { from: origins },
    ),
    released: metrics.counter(
      "netgloss_fleet_devices_released_total",
      "Devices that this collector has given up for another one, or at its end.",
    ),
    stopped: metrics.counter(
      "netgloss_fleet_devices_stopped_total",
      "Devices that this collector no longer polls because its lease was lost.",
    ),
    failures: metrics.counter(
      "netgloss_fleet_share_failures_total",
      "Attempts to divide devices that the database did not carry out.",
    ),
  };
}
