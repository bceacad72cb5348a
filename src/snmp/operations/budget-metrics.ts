import type { Metrics } from "../../report/index.ts";
import type { MemoryBudget } from "../discovery/memory-budget.ts";
import { rateRefusals } from "../poller/counter-change.ts";
import type { RateBudget } from "../poller/kept-counters.ts";
import type { OctetBudget } from "../poller/octet-counters.ts";
import type { LastReadings } from "../readings/last-readings.ts";

/** What is kept of all devices together, each within its bound. */
export interface Budgets {
  readonly memory: MemoryBudget;
  readonly readings: LastReadings | undefined;
  readonly rates: RateBudget;
  readonly octets: OctetBudget;
}

export function registerBudgetMetrics(metrics: Metrics, { memory, readings, rates, octets }: Budgets): void {
  metrics.gaugeFrom(
    "netgloss_snmp_long_tables_bytes",
    "Memory of long tables between reading and writing",
    [],
    () => memory.used,
  );
  if (readings !== undefined) {
    metrics.gaugeFrom("netgloss_snmp_readings_rows", "Rows kept for /metrics/snmp", [], () => readings.counts.rows);
    metrics.counterFrom(
      "netgloss_snmp_readings_left_out_total",
      "Rows that are not in /metrics/snmp, because there are so many",
      [],
      () => readings.counts.leftOut,
    );
  }
  metrics.gaugeFrom(
    "netgloss_snmp_rates_rows",
    "Rows of tables whose counters are kept, to compare them with the next poll",
    [],
    () => rates.used,
  );
  metrics.counterFrom(
    "netgloss_snmp_rates_rows_left_out_total",
    "Rows whose counters were not kept for want of room: they have no rates",
    [],
    () => rates.leftOut,
  );
  metrics.counterFrom(
    "netgloss_snmp_rates_refused_total",
    "Counters without a rate between two polls, by reason",
    ["reason"],
    () => rateRefusals.map((reason) => [{ reason }, rates.refused[reason]] as const),
  );
  metrics.gaugeFrom(
    "netgloss_snmp_counted_interfaces",
    "Interfaces whose last counters are kept, to compare them with flows",
    [],
    () => octets.used,
  );
  metrics.counterFrom(
    "netgloss_snmp_counters_left_out_total",
    "Counters of interfaces that were not kept for want of room: `netgloss doctor` does not compare them with flows",
    [],
    () => octets.leftOut,
  );
}
