import {
  addressKey,
  formatAddress,
  keyContains,
  parseAddress,
  parseKey,
  unmapAddress,
  type Address,
} from "../../ip/index.ts";
import type { AnonymizeAddress } from "./crypto-pan.ts";

/** Cuts addresses to the first bits. */
export function cutAddresses(ipv4Bits: number, ipv6Bits: number): AnonymizeAddress {
  return ({ family, value }) => {
    const cut = BigInt(family === 4 ? 32 - ipv4Bits : 128 - ipv6Bits);
    return { family, value: (value >> cut) << cut };
  };
}

/** RFC 1918, RFC 6598, RFC 4193, link-local, loopback (RFC 6890). */
const privatePrefixes = [
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "100.64.0.0/10",
  "169.254.0.0/16",
  "127.0.0.0/8",
  "fc00::/7",
  "fe80::/10",
  "::1",
].map(parseKey);

/** What happens to a text that may be an address; undefined: it is none, or stays. */
export type AnonymizeText = (text: string) => string | undefined;

/**
 * An IPv4-mapped address is treated as the IPv4 address, the address within a route distinguisher (`192.0.2.1:5`) as one. The
 * unspecified address means that there is none, and stays.
 */
export function anonymizeTexts(anonymize: AnonymizeAddress, keepsPrivate: boolean): AnonymizeText {
  const isKept = (address: Address): boolean => {
    if (address.value === 0n) return true;
    const key = addressKey(address);
    return keepsPrivate && privatePrefixes.some((prefix) => keyContains(prefix, key));
  };
  const anonymizeText: AnonymizeText = (text) => {
    const said = parseAddress(text);
    if (said === undefined) {
      const [, address = "", rest = ""] = /^([0-9.]+)(:[0-9]+)$/.exec(text) ?? [];
      const within = address === "" ? undefined : anonymizeText(address);
      return within === undefined ? undefined : within + rest;
    }
    const address = unmapAddress(said);
    if (isKept(address)) return undefined;
    const changed = formatAddress(anonymize(address));
    return address.family === said.family ? changed : `::ffff:${changed}`;
  };
  return anonymizeText;
}
