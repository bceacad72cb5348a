import { addressKey, keyContains, parseAddress, parseKey } from "../../ip/index.ts";

/**
 * Finds by a sender's address whether it is a relay: its records may name another exporter (elements 130 and 131).
 *
 * @param keys addresses and CIDR prefixes in canonical text.
 * @throws KeyError when one is none.
 */
export function createRelays(keys: readonly string[]): (address: string) => boolean {
  const parsed = keys.map(parseKey);
  return (address) => {
    if (parsed.length === 0) return false;
    const sender = parseAddress(address);
    return sender !== undefined && parsed.some((key) => keyContains(key, addressKey(sender)));
  };
}
