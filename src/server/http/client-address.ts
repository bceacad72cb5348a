import {
  addressKey,
  formatAddress,
  keyContains,
  parseAddress,
  parseKey,
  unmapAddress,
  type Address,
} from "../../base/ip/index.ts";

/** Finds whom a connection serves: its other end, or what proxies that are trusted say before whom they stand. */
export type ClientAddress = (peer: string | undefined, forwardedFor: string | undefined) => string | undefined;

/**
 * Looks into `X-Forwarded-For` where the peer is a trusted proxy: each proxy adds at the end whom it serves, so that the last address that
 * is no trusted proxy is the client. What stands before it, anybody can write.
 *
 * @param proxies addresses and CIDR prefixes in canonical text.
 * @throws KeyError when one is none.
 */
export function createClientAddress(proxies: readonly string[]): ClientAddress {
  const keys = proxies.map(parseKey);
  const isProxy = (address: Address): boolean => keys.some((key) => keyContains(key, addressKey(address)));
  return (peer, forwardedFor) => {
    if (keys.length === 0 || forwardedFor === undefined || peer === undefined) return peer;
    const own = parseAddress(peer);
    let client = own && unmapAddress(own);
    if (client === undefined || !isProxy(client)) return peer;
    for (const text of forwardedFor.split(",").toReversed()) {
      const address = parseAddress(withoutPort(text.trim()));
      if (address === undefined) break;
      client = unmapAddress(address);
      if (!isProxy(client)) break;
    }
    return formatAddress(client);
  };
}

/** Some proxies write `192.0.2.1:1234` and `[2001:db8::1]:1234`. */
function withoutPort(text: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
}
