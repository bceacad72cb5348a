import type { DeliveryConfig } from "../../../src/output/index.ts";

/** A small and quick configuration. */
export function deliveryConfig(given: Partial<DeliveryConfig> = {}): DeliveryConfig {
  return {
    name: "fake",
    recordTypes: ["flow", "flow_option", "telemetry"],
    filter: "",
    thinRate: 0,
    hasScaledCounters: true,
    dropFields: [],
    isEcs: false,
    batchBytes: 1000,
    batchRecords: 10,
    batchDeadlineMs: 1,
    queueBytes: 4000,
    spoolMode: "off",
    stateDirectory: "",
    spoolBytes: 1_000_000,
    spoolWhenFull: "drop_oldest",
    deadLetterBytes: 1_000_000,
    maxInFlight: 2,
    timeoutMs: 15,
    retryMs: 1,
    maxRetryMs: 4,
    ...given,
  };
}
