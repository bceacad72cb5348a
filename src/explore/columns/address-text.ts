import { formatAddress, type Address } from "../../base/ip/index.ts";

/**
 * An address as it is kept in columns: 8 hexadecimal digits of IPv4, 32 of IPv6. Texts of one length are in the order of their
 * addresses, and take little room, because each of them occurs often.
 */
export function addressText({ family, value }: Address): string {
  return value.toString(16).padStart(family === 4 ? 8 : 32, "0");
}

/** The address of such a text, as people write it. */
export function shownAddress(text: string): string {
  return formatAddress({ family: text.length === 8 ? 4 : 6, value: BigInt(`0x${text}`) });
}
