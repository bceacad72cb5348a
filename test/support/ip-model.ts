// A slow, independent reading of keys: one regular expression for each grammar, text to value by padding with zeros.
import type { Family, KeyKind } from "../../src/base/ip/index.ts";

export interface ModelKey {
  readonly kind: KeyKind;
  readonly family: Family;
  readonly first: bigint;
  readonly last: bigint;
  readonly written: bigint;
}

const octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
const ipv4 = `(?:${octet}\\.){3}${octet}`;
const group = "[0-9A-Fa-f]{1,4}";
const tail = `(?:${group}:${group}|${ipv4})`;
// The nine alternatives of IPv6address in RFC 3986 section 3.2.2, in its order.
const ipv6 = [
  `(?:${group}:){6}${tail}`,
  `::(?:${group}:){5}${tail}`,
  `(?:${group})?::(?:${group}:){4}${tail}`,
  `(?:(?:${group}:){0,1}${group})?::(?:${group}:){3}${tail}`,
  `(?:(?:${group}:){0,2}${group})?::(?:${group}:){2}${tail}`,
  `(?:(?:${group}:){0,3}${group})?::${group}:${tail}`,
  `(?:(?:${group}:){0,4}${group})?::${tail}`,
  `(?:(?:${group}:){0,5}${group})?::${group}`,
  `(?:(?:${group}:){0,6}${group})?::`,
].join("|");

const isIpv4 = new RegExp(`^${ipv4}$`);
const isIpv6 = new RegExp(`^(?:${ipv6})$`);

export function modelAddress(text: string): { family: Family; value: bigint } | undefined {
  if (isIpv4.test(text)) return { family: 4, value: BigInt(`0x${octetsHex(text)}`) };
  if (!isIpv6.test(text)) return undefined;
  const hex = text.replace(new RegExp(`${ipv4}$`), (dotted) => {
    const digits = octetsHex(dotted);
    return `${digits.slice(0, 4)}:${digits.slice(4)}`;
  });
  const [head = "", rest] = hex.split("::").map((side) => groupsHex(side));
  const digits = rest === undefined ? head : head.padEnd(32 - rest.length, "0") + rest;
  return { family: 6, value: BigInt(`0x${digits}`) };
}

const firstMapped = 0xffffn << 32n;

/** A key as it is written, or the IPv4 key where all of its addresses are IPv4-mapped. */
export function modelKey(text: string): ModelKey | undefined {
  const key = modelKeyAsWritten(text);
  if (key?.family !== 6 || key.first < firstMapped || key.last > firstMapped + 0xffffffffn) return key;
  const [first, last, written] = [key.first, key.last, key.written].map((value) => value - firstMapped);
  return { ...key, family: 4, first, last, written } as ModelKey;
}

function modelKeyAsWritten(text: string): ModelKey | undefined {
  const cidr = /^([^/]*)\/(0|[1-9][0-9]*)$/.exec(text);
  if (cidr) {
    const address = modelAddress(cidr[1] as string);
    if (address === undefined) return undefined;
    const bits = address.family === 4 ? 32 : 128;
    const length = Number(cidr[2]);
    if (length > bits) return undefined;
    const binary = address.value.toString(2).padStart(bits, "0").slice(0, length);
    const first = BigInt(`0b${binary.padEnd(bits, "0")}`);
    const last = BigInt(`0b${binary.padEnd(bits, "1")}`);
    return { kind: "cidr", family: address.family, first, last, written: address.value };
  }
  const ends = text.split("-").map((end) => modelAddress(end));
  const [from, to] = ends;
  if (from === undefined || ends.length > 2) return undefined;
  if (ends.length === 1) {
    return { kind: "ip", family: from.family, first: from.value, last: from.value, written: from.value };
  }
  if (to === undefined) return undefined;
  if (from.family !== to.family) {
    // One end may be mapped alone.
    const [a, b] = [from, to].map(({ family, value }) => (family === 4 ? value + firstMapped : value)) as [
      bigint,
      bigint,
    ];
    const areMapped = [a, b].every((value) => value >> 32n === 0xffffn);
    return areMapped && a <= b ? { kind: "range", family: 6, first: a, last: b, written: a } : undefined;
  }
  if (from.value > to.value) return undefined;
  return { kind: "range", family: from.family, first: from.value, last: to.value, written: from.value };
}

function octetsHex(dotted: string): string {
  return dotted
    .split(".")
    .map((part) => Number(part).toString(16).padStart(2, "0"))
    .join("");
}

function groupsHex(side: string): string {
  return side
    .split(":")
    .filter((part) => part !== "")
    .map((part) => part.padStart(4, "0"))
    .join("");
}
