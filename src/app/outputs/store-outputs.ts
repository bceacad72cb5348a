import { join } from "node:path";
import { reveal } from "../../base/settings/index.ts";
import type { DeliveryContext, SettingsOf, StoreWord, TlsConfig } from "../../output/index.ts";
import { storesOf, type Settings, type StoreSettings } from "../settings/index.ts";

/** An output to a store, as the settings want it; plain data, with secrets. */
export interface StoreOutput {
  readonly word: StoreWord;
  readonly settings: SettingsOf<StoreWord>;
  readonly context: DeliveryContext;
  /** The setting that has its addresses, by its full name. */
  readonly addressSetting: string;
  readonly addresses: readonly string[];
  /** The TLS settings; undefined: it uses none. */
  readonly tls: TlsConfig | undefined;
}

/** Steps that shape records before they are passed to a store's thread. */
export interface BeforeStore {
  /** The fields as in the settings; empty: no rollup. */
  readonly rollupFields: readonly string[];
  readonly filter: string;
  readonly thinRate: number;
}

/** Returns the enabled outputs to stores. */
export function storeOutputs(settings: Settings): (StoreOutput & { readonly before: BeforeStore })[] {
  return storesOf(settings)
    .filter(({ values }) => values.ENABLE)
    .map((store) => configure(store, settings));
}

/** Returns an output by its name, enabled or not; undefined: there is none of this name. */
export function storeOutput(name: string, settings: Settings): StoreOutput | undefined {
  const found = storesOf(settings).find((one) => one.name === name);
  return found && configure(found, settings);
}

/** Returns the names of all outputs to stores, enabled or not. */
export function storeOutputNames(settings: Settings): string[] {
  return storesOf(settings).map(({ name }) => name);
}

function configure(
  { kind, name, values, show }: StoreSettings,
  settings: Settings,
): StoreOutput & { readonly before: BeforeStore } {
  const own = reveal(values) as SettingsOf<StoreWord>;
  const tlsOf = kind.tls as (settings: SettingsOf<StoreWord>) => TlsConfig | undefined;
  const ownLimit = kind.maxBatchRecords as ((settings: unknown) => number) | undefined;
  const state = settings.SVC_STATE_DIRECTORY_PATH;
  const output = {
    word: kind.word,
    context: {
      name,
      stateDirectory: state === "" ? "" : join(state, "output", name),
      maxBatchRecords: Math.min(maxBatchRecords, ownLimit?.(values) ?? maxBatchRecords),
      hasScaledCounters: settings.SVC_PROCESSOR_SCALE_COUNTERS_ENABLE,
    },
    addressSetting: show(kind.addresses),
    addresses: [(own as unknown as Record<string, string | readonly string[]>)[kind.addresses] ?? []]
      .flat()
      .filter((address) => address !== ""),
    tls: tlsOf(own),
  };
  const { ROLLUP_FIELDS: rollupFields, FILTER: filter, THIN_RATE: thinRate } = values;
  // Filters and rates apply to the records before the rollup.
  return rollupFields.length === 0
    ? { ...output, settings: own, before: { rollupFields, filter: "", thinRate: 0 } }
    : { ...output, settings: { ...own, FILTER: "", THIN_RATE: 0 }, before: { rollupFields, filter, thinRate } };
}

const maxBatchRecords = 50_000;
