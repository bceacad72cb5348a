import { formatAddress, parseAddress, unmapAddress, type Address } from "./address.ts";
import { familyBits, type Family } from "./family.ts";
import { KeyError } from "./key-error.ts";

export type KeyKind = "ip" | "cidr" | "range";

/**
 * What a metadata entry is keyed by: an address, a prefix or a range. Two keys are the same when kind and value are,
 * so `10.0.0.1`, `10.0.0.1/32` and `10.0.0.1-10.0.0.1` are three keys.
 */
export interface Key {
  readonly kind: KeyKind;
  readonly family: Family;
  /** First address covered. */
  readonly first: bigint;
  /** Last address covered. */
  readonly last: bigint;
  /** The address as written: for a prefix it may have host bits set, else it equals `first`. */
  readonly written: bigint;
  /** Canonical text; equal keys have equal text. */
  readonly text: string;
}

/**
 * Reads `IP`, `CIDR` or `<from>-<to>`. Accepts what Go's netip.ParseAddr, netip.ParsePrefix and netipx.ParseIPRange
 * accept, less zones. A prefix may have host bits set; it covers its network. A key whose addresses are all IPv4-mapped is
 * the IPv4 key, because records' addresses are looked up as IPv4 ({@link unmapAddress}); a prefix shorter than /96 and a range
 * that goes beyond the mapped addresses stay IPv6.
 *
 * @throws KeyError naming the text as given.
 */
export function parseKey(text: string): Key {
  if (text === "") throw new KeyError(text, "is empty: expected an IP address, a CIDR or a range <from>-<to>");
  if (text.includes("/")) return parseCidr(text);
  if (text.includes("-")) return parseRange(text);
  const address = parseAddress(text);
  if (address === undefined) throw new KeyError(text, "is not an IP address, a CIDR or a range <from>-<to>");
  return addressKey(address);
}

/** Whether a text that was read as this key spells it by IPv4-mapped addresses: `::ffff:192.0.2.1`. */
export function isMappedSpelling(text: string, { family }: Key): boolean {
  return family === 4 && text.includes(":");
}

/**
 * The network that a prefix with host bits covers, as text: `10.20.30.0/24` for `10.20.30.40/24`. Undefined for all other
 * keys.
 */
export function networkOfKey({ kind, family, first, written, text }: Key): string | undefined {
  if (kind !== "cidr" || written === first) return undefined;
  return `${formatAddress({ family, value: first })}${text.slice(text.indexOf("/"))}`;
}

/** The key of kind `ip` for an address; of an IPv4-mapped one that of the IPv4 address. */
export function addressKey(address: Address): Key {
  const unmapped = unmapAddress(address);
  const { family, value } = unmapped;
  return { kind: "ip", family, first: value, last: value, written: value, text: formatAddress(unmapped) };
}

function parseCidr(text: string): Key {
  const slash = text.lastIndexOf("/");
  const address = parseAddress(text.slice(0, slash));
  if (address === undefined) throw new KeyError(text, "is not a CIDR: the part before the slash is not an IP address");
  const lengthText = text.slice(slash + 1);
  const bits = familyBits(address.family);
  const length = Number(lengthText);
  if (!/^(0|[1-9][0-9]{0,2})$/.test(lengthText) || length > bits) {
    throw new KeyError(text, `is not a CIDR: the prefix length must be 0 to ${bits}`);
  }
  const isMapped = length >= mappedBits && unmapAddress(address).family !== address.family;
  return isMapped ? prefixKey(unmapAddress(address), length - mappedBits) : prefixKey(address, length);
}

/** Bits that all IPv4-mapped addresses have in common. */
const mappedBits = 96;

function prefixKey(address: Address, length: number): Key {
  const { family, value } = address;
  const hostBits = BigInt(familyBits(family) - length);
  const first = (value >> hostBits) << hostBits;
  const last = first + (1n << hostBits) - 1n;
  return { kind: "cidr", family, first, last, written: value, text: `${formatAddress(address)}/${length}` };
}

function parseRange(text: string): Key {
  const dash = text.indexOf("-");
  const before = parseAddress(text.slice(0, dash));
  const after = parseAddress(text.slice(dash + 1));
  if (before === undefined) throw new KeyError(text, "is not a range: the part before the dash is not an IP address");
  if (after === undefined) throw new KeyError(text, "is not a range: the part after the dash is not an IP address");
  const areMapped = unmapAddress(before).family === 4 && unmapAddress(after).family === 4;
  const [from, to] = areMapped ? [unmapAddress(before), unmapAddress(after)] : [before, after];
  if (from.family !== to.family) throw new KeyError(text, "is not a range: its ends are of different families");
  if (from.value > to.value) throw new KeyError(text, "is not a range: it starts after its end");
  const { family, value: first } = from;
  return {
    kind: "range",
    family,
    first,
    last: to.value,
    written: first,
    text: `${formatAddress(from)}-${formatAddress(to)}`,
  };
}
