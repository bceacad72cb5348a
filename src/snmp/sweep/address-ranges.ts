import { addressKey, formatAddress, keyContains, parseAddress, type Key } from "../../base/ip/index.ts";

/**
 * First and last address that a key stands for. Those of an IPv4 prefix that are its network and its broadcast address
 * are no hosts (RFC 3021: a /31 has two).
 */
function hostsOf({ kind, family, first, last }: Key): readonly [first: bigint, last: bigint] {
  return kind === "cidr" && family === 4 && last - first > 1n ? [first + 1n, last - 1n] : [first, last];
}

/** How many addresses a key stands for. */
export function countHosts(key: Key): bigint {
  const [first, last] = hostsOf(key);
  return last - first + 1n;
}

/** The addresses of the ranges in their order, as canonical text, without those that are excluded. */
export function* hostsIn(ranges: readonly Key[], excludes: readonly Key[]): Generator<string> {
  for (const range of ranges) {
    const { family } = range;
    const [first, last] = hostsOf(range);
    const left = excludes.filter((key) => key.family === family && key.first <= last && first <= key.last);
    for (let value = first; value <= last; value++) {
      const hole = left.find((key) => key.first <= value && value <= key.last);
      if (hole === undefined) yield formatAddress({ family, value });
      // The rest of a wide hole is passed over at once.
      else value = hole.last;
    }
  }
}

/** Whether one of the keys covers the address, given as text. */
export function covers(keys: readonly Key[], address: string): boolean {
  const parsed = parseAddress(address);
  if (parsed === undefined) return false;
  const key = addressKey(parsed);
  return keys.some((one) => keyContains(one, key));
}
