import { createMetrics, silentLog, systemClock, type Reporting } from "../../../src/base/report/index.ts";
import type { CommonSettings, Delivery, DeliveryContext } from "../../../src/output/index.ts";

/** What a test gives of the settings and the context of a delivery. */
export type GivenDelivery = Partial<CommonSettings & DeliveryContext>;

/** Makes all but the adapter and the instance of a small and quick delivery, which reports nothing. */
export function deliveryOptions(
  given: GivenDelivery = {},
  reporting: Partial<Reporting> = {},
): Omit<ConstructorParameters<typeof Delivery>[0], "adapter" | "instance"> {
  const { name, stateDirectory, maxBatchRecords, hasScaledCounters, ...settings } = {
    name: "fake",
    stateDirectory: "",
    maxBatchRecords: 10,
    hasScaledCounters: true,
    ENABLE: true,
    ALLOWED_RECORD_TYPES: ["flow", "flow_option", "telemetry"] as const,
    FILTER: "",
    THIN_RATE: 0,
    ROLLUP_FIELDS: [],
    DROP_FIELDS: [],
    TIMESTAMP_SOURCE: "collect" as const,
    ECS_ENABLE: false,
    BATCH_MAX_BYTES: 1000,
    BATCH_DEADLINE: 1,
    QUEUE_SIZE: 4000,
    SPOOL_MODE: "off" as const,
    SPOOL_MAX_SIZE: 1_000_000,
    SPOOL_WHEN_FULL: "drop_oldest" as const,
    DEAD_LETTER_MAX_SIZE: 1_000_000,
    REQUESTS_IN_FLIGHT: 2,
    TIMEOUT: 0.015,
    RETRY_BACKOFF: 1,
    RETRY_BACKOFF_MAX: 4,
    ...given,
  };
  return {
    settings,
    context: { name, stateDirectory, maxBatchRecords, hasScaledCounters },
    reporting: { clock: systemClock, log: silentLog, metrics: createMetrics(), ...reporting },
    random: () => 0.5,
    onFault() {},
  };
}
