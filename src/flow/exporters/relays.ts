import { addressKey, keyContains, parseAddress, parseKey } from "../../base/ip/index.ts";

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

/**
 * What the state of an exporter is kept by. One that a relay names is decoded where the relay is, which may know other things of it than who decodes what it
 * sends itself.
 */
export function stateKey(address: string, relay?: string): string {
  return relay === undefined ? address : `${address} ${relay}`;
}

/** The exporter's address in such a key. */
export function addressOfKey(key: string): string {
  const end = key.indexOf(" ");
  return end < 0 ? key : key.slice(0, end);
}
