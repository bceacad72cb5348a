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
 * Whether type and code of ICMPv6 arrived in each other's place, as Cisco IOS XR sends them: the type is none that is assigned, and
 * the code would be one.
 */
export function isSwappedIcmpV6(type: number, code: number): boolean {
  return icmpV6Types[type] === 0 && icmpV6Types[code] === 1;
}
