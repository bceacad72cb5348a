import { join } from "node:path";
import { reveal } from "../../base/settings/index.ts";
import type { DeliveryConfig, SettingsOf, StoreWord, TlsConfig } from "../../output/index.ts";
import { storesOf, type Settings, type StoreSettings } from "../settings/index.ts";

/** An output to a store, as the settings want it; plain data, with secrets. */
export interface StoreOutput {
  readonly word: StoreWord;
  readonly settings: SettingsOf<StoreWord>;
  readonly delivery: DeliveryConfig;
  /** The setting that has its addresses, by its full name. */
  readonly addressSetting: string;
  readonly addresses: readonly string[];
  /** Undefined: it uses none. */
  readonly tls: TlsConfig | undefined;
}

/** What is done to records before they are handed to a store's thread. */
export interface BeforeStore {
  /** As in the settings. Empty: nothing. */
  readonly rollupFields: readonly string[];
  readonly filter: string;
  readonly thinRate: number;
}

/** Returns the outputs to stores that are on. */
export function storeOutputs(settings: Settings): (StoreOutput & { readonly before: BeforeStore })[] {
  return storesOf(settings)
    .filter(({ values }) => values.ENABLE)
    .map((store) => configure(store, settings));
}

/** Returns an output by its name, on or not; undefined: there is none of this name. */
export function storeOutput(name: string, settings: Settings): StoreOutput | undefined {
  const found = storesOf(settings).find((one) => one.name === name);
  return found && configure(found, settings);
}

/** Returns what outputs are called, those that are off included. */
export function storeOutputNames(settings: Settings): string[] {
  return storesOf(settings).map(({ name }) => name);
}

function configure(
  { kind, name, values, show }: StoreSettings,
  settings: Settings,
): StoreOutput & { readonly before: BeforeStore } {
  const own = reveal(values) as SettingsOf<StoreWord>;
  const tlsOf = kind.tls as (settings: SettingsOf<StoreWord>) => TlsConfig | undefined;
  const addresses = (own as unknown as Record<string, readonly string[]>)[kind.addresses] ?? [];
  const delivery = deliveryConfig({ kind, name, values }, settings);
  const output = {
    word: kind.word,
    settings: own,
    addressSetting: show(kind.addresses),
    addresses,
    tls: tlsOf(own),
  };
  const fields = values.ROLLUP_FIELDS;
  if (fields.length === 0) return { ...output, delivery, before: { rollupFields: [], filter: "", thinRate: 0 } };
  // Filters and rates are about the records before they are added up.
  const { filter, thinRate } = delivery;
  return {
    ...output,
    delivery: { ...delivery, filter: "", thinRate: 0 },
    before: { rollupFields: fields, filter, thinRate },
  };
}

const maxBatchRecords = 50_000;

function deliveryConfig(
  { kind, name, values }: Pick<StoreSettings, "kind" | "name" | "values">,
  settings: Settings,
): DeliveryConfig {
  const state = settings.SVC_STATE_DIRECTORY_PATH;
  const { TIMESTAMP_SOURCE: source } = values;
  const ownLimit = kind.maxBatchRecords as ((settings: unknown) => number) | undefined;
  return {
    name,
    recordTypes: values.ALLOWED_RECORD_TYPES,
    filter: values.FILTER,
    thinRate: values.THIN_RATE,
    hasScaledCounters: settings.SVC_PROCESSOR_SCALE_COUNTERS_ENABLE,
    dropFields: values.DROP_FIELDS,
    isEcs: values.ECS_ENABLE,
    ...(source !== "collect" && { timestampField: `flow.${source}.timestamp` }),
    batchBytes: values.BATCH_MAX_BYTES,
    batchRecords: Math.min(maxBatchRecords, ownLimit?.(values) ?? maxBatchRecords),
    batchDeadlineMs: values.BATCH_DEADLINE,
    queueBytes: values.QUEUE_SIZE,
    spoolMode: values.SPOOL_MODE,
    stateDirectory: state === "" ? "" : join(state, "output", name),
    spoolBytes: values.SPOOL_MAX_SIZE,
    spoolWhenFull: values.SPOOL_WHEN_FULL,
    deadLetterBytes: values.DEAD_LETTER_MAX_SIZE,
    maxInFlight: values.REQUESTS_IN_FLIGHT,
    timeoutMs: 1000 * values.TIMEOUT,
    retryMs: values.RETRY_BACKOFF,
    maxRetryMs: values.RETRY_BACKOFF_MAX,
  };
}
