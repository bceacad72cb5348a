import { type Oid, isOid } from "../session/oid.ts";
import type { SnmpValue } from "./snmp-value.ts";

/** How a part of an index is encoded in an instance's identifier (RFC 2578 section 7.7). */
export const indexTypes = [
  "Integer",
  "Integer32",
  "Unsigned32",
  "IpAddress",
  "MacAddress",
  "OctetString",
  "Opaque",
  "ObjectIdentifier",
  "ImplicitOctetString",
  "ImplicitObjectIdentifier",
] as const;
export type IndexType = (typeof indexTypes)[number];

/** Whether a part takes all that is left of the suffix, and so can only come last. */
export function isImplicit(type: IndexType): boolean {
  return type === "ImplicitOctetString" || type === "ImplicitObjectIdentifier";
}

/**
 * The parts of an index from what follows the attribute's OID in an instance: one sub-identifier for an integer, four
 * for an IpAddress, six for a MacAddress, a length and so many for octets and OIDs, and all that is left for the
 * Implicit types.
 *
 * @returns undefined when the suffix is no index of these types: too short, too long, or octets above 255.
 */
export function decodeIndex(types: readonly IndexType[], suffix: Oid): SnmpValue[] | undefined {
  const parts: SnmpValue[] = [];
  let at = 0;
  for (const type of types) {
    let length = fixedLengths[type];
    if (length === undefined) {
      length = isImplicit(type) ? suffix.length - at : suffix[at++];
    }
    if (length === undefined || at + length > suffix.length) return undefined;
    const part = decodePart(type, suffix, at, length);
    if (part === undefined) return undefined;
    parts.push(part);
    at += length;
  }
  return at === suffix.length ? parts : undefined;
}

const fixedLengths: { readonly [type in IndexType]?: number } = {
  Integer: 1,
  Integer32: 1,
  Unsigned32: 1,
  IpAddress: 4,
  MacAddress: 6,
};

function decodePart(type: IndexType, suffix: Oid, start: number, length: number): SnmpValue | undefined {
  if (type === "Integer" || type === "Integer32") return { type: "Integer32", value: suffix[start] as number };
  if (type === "Unsigned32") return { type: "Gauge32", value: suffix[start] as number };
  const part = suffix.slice(start, start + length);
  if (type === "ObjectIdentifier" || type === "ImplicitObjectIdentifier") {
    // What is in an index may be shorter than an OID that could be sent.
    return part.length < 2 || isOid(part) ? { type: "ObjectIdentifier", value: part } : undefined;
  }
  if (part.some((octet) => octet > 255)) return undefined;
  const octets = Uint8Array.from(part);
  return { type: type === "IpAddress" || type === "Opaque" ? type : "OctetString", value: octets };
}
