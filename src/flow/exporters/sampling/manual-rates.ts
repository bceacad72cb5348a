import { addressKey, compareSpecificity, keyContains, parseAddress, parseKey } from "../../../base/ip/index.ts";

/** Sampling rates by exporter: address, CIDR or range in canonical text. */
export type SamplingRates = ReadonlyMap<string, number>;

/** The operator's rates that may change while the collector runs. */
export interface RatesFile {
  readonly rates: SamplingRates;
  /** Whether they win over what exporters say; else they are for exporters that say nothing. */
  readonly override: boolean;
}

/** What the operator says of one exporter. */
export interface ManualRate {
  /** Wins over what it says. */
  readonly manualRate: number | undefined;
  /** For the case that it says nothing. */
  readonly fallbackRate: number | undefined;
}

export interface ManualRates {
  of(address: string): ManualRate;
  /** Another value when answers may have changed. */
  version(): unknown;
}

/**
 * The operator's rates: that of an exporter's address, else that of the smallest prefix or range around it.
 *
 * @param fixed win over those of the file.
 * @param file as it is now, another object after each change; undefined before it was read.
 * @throws KeyError when a key is none.
 */
export function createManualRates(
  fixed: SamplingRates,
  file: () => RatesFile | undefined = () => undefined,
): ManualRates {
  const fixedRate = createRateOf(fixed);
  let current: RatesFile | undefined;
  let fileRate: RateOf = () => undefined;
  return {
    version: file,
    of(address) {
      const now = file();
      if (now !== current) {
        current = now;
        fileRate = createRateOf(now?.rates ?? new Map());
      }
      const rate = fileRate(address);
      const isOverride = current?.override === true;
      return {
        manualRate: fixedRate(address) ?? (isOverride ? rate : undefined),
        fallbackRate: isOverride ? undefined : rate,
      };
    },
  };
}

type RateOf = (address: string) => number | undefined;

function createRateOf(rates: SamplingRates): RateOf {
  const prefixes = Array.from(rates, ([text, rate]) => ({ key: parseKey(text), rate }))
    .filter(({ key }) => key.kind !== "ip")
    .toSorted((a, b) => compareSpecificity(a.key, b.key));
  return (text) => {
    const own = rates.get(text);
    if (own !== undefined || prefixes.length === 0) return own;
    const address = parseAddress(text);
    if (address === undefined) return undefined;
    const inner = addressKey(address);
    return prefixes.find(({ key }) => keyContains(key, inner))?.rate;
  };
}
