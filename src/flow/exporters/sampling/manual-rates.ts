import { addressKey, compareSpecificity, keyContains, parseAddress, parseKey } from "../../../ip/index.ts";

/**
 * The operator's rate for an exporter: that of its address, else that of the smallest prefix around it.
 *
 * @param rates by address or CIDR in canonical text.
 * @throws KeyError when a key is neither.
 */
export function createManualRates(rates: ReadonlyMap<string, number>): (address: string) => number | undefined {
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
