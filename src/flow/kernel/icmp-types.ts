import type { IcmpOrder } from "../exporters/exporter.ts";

/** Types of ICMPv6 that are assigned (IANA, "ICMPv6 Parameters"), 1 each; reserved and unassigned ones are 0. */
export const icmpV6Types: Uint8Array = Uint8Array.from({ length: 256 }, (_, type) =>
  (type >= 1 && type <= 4) ||
  type === 100 ||
  type === 101 ||
  (type >= 128 && type <= 161) ||
  type === 200 ||
  type === 201
    ? 1
    : 0,
);

/**
 * Whether type and code of ICMPv6 arrived in each other's place, as Cisco IOS XR sends them. Where only one of them is an assigned type,
 * that shows it; where both are, the exporter's order decides.
 *
 * @param order of the exporter; what is shown here is noted in it.
 */
export function isSwappedIcmpV6(type: number, code: number, order?: IcmpOrder): boolean {
  const isType = icmpV6Types[type] === 1;
  const isCodeType = icmpV6Types[code] === 1;
  if (isType === isCodeType) return isType && order?.isSwapped === true;
  if (order !== undefined) order.isSwapped = isCodeType;
  return isCodeType;
}

/** ICMP types that come as request and reply, each with its partner (Community ID specification, "ICMP"). */
export const icmpPartners = partners([8, 0], [13, 14], [15, 16], [10, 9], [17, 18]);
export const icmpV6Partners = partners([128, 129], [133, 134], [135, 136], [130, 131], [139, 140], [144, 145]);

function partners(...pairs: [number, number][]): ReadonlyMap<number, number> {
  return new Map(pairs.flatMap(([a, b]) => [[a, b] as const, [b, a] as const]));
}
