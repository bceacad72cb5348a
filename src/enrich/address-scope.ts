import { parseKey, type Address, type Family, type Key } from "../ip/index.ts";

/** How far an address means the same host. */
export type AddressScope = "private" | "public" | "multicast";

/**
 * Addresses that mean nothing beyond an organisation's network, or beyond a link or host: RFC 1918, RFC 6598 (shared by
 * customers of a carrier), RFC 4193 (unique local), RFC 3927 and RFC 4291 section 2.5.6 (link-local), loopback, `0.0.0.0/8`,
 * the limited broadcast and the unspecified address (RFC 6890).
 */
const privateKeys: readonly Key[] = [
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "100.64.0.0/10",
  "169.254.0.0/16",
  "127.0.0.0/8",
  "0.0.0.0/8",
  "255.255.255.255",
  "fc00::/7",
  "fe80::/10",
  "::/127",
].map(parseKey);

/** RFC 5771, RFC 4291 section 2.7. */
const multicastKeys: readonly Key[] = ["224.0.0.0/4", "ff00::/8"].map(parseKey);

const ofFamily = (keys: readonly Key[]): Readonly<Record<Family, readonly Key[]>> => ({
  4: keys.filter(({ family }) => family === 4),
  6: keys.filter(({ family }) => family === 6),
});
const privateRanges = ofFamily(privateKeys);
const multicastRanges = ofFamily(multicastKeys);

/** @param address an IPv4-mapped one is expected as IPv4. */
export function addressScope({ family, value }: Address): AddressScope {
  const isIn = ({ first, last }: Key): boolean => first <= value && value <= last;
  if (privateRanges[family].some(isIn)) return "private";
  return multicastRanges[family].some(isIn) ? "multicast" : "public";
}
