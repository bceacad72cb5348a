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
/** `OctetString8`: this many octets in every row, and so without their number. */
export type FixedIndexType = `OctetString${number}`;
export type IndexType = (typeof indexTypes)[number] | FixedIndexType;

/** `OctetString` with a number from 1 to 128, which is as long as an OID can be. */
export function isFixedIndexType(type: string): type is FixedIndexType {
  const length = /^OctetString([1-9]\d{0,2})$/.exec(type)?.[1];
  return length !== undefined && Number(length) <= 128;
}

export function isIndexType(type: string): type is IndexType {
  return (indexTypes as readonly string[]).includes(type) || isFixedIndexType(type);
}

/** Whether a part takes all that is left of the suffix, and so can only come last. */
export function isImplicit(type: IndexType): boolean {
  return type === "ImplicitOctetString" || type === "ImplicitObjectIdentifier";
}

/**
 * The parts of an index from what follows the attribute's OID in an instance: one sub-identifier for an integer, four
 * for an IpAddress, six for a MacAddress, a length and this many for octets and OIDs, as many octets as the name of their
 * type says, and all that is left for the Implicit types.
 *
 * @returns undefined when the suffix is no index of these types: too short, too long, or octets above 255.
 */
export function decodeIndex(types: readonly IndexType[], suffix: Oid): SnmpValue[] | undefined {
  const parts: SnmpValue[] = [];
  let at = 0;
  for (const type of types) {
    let length = fixedLength(type);
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

function fixedLength(type: IndexType): number | undefined {
  if (type in fixedLengths) return fixedLengths[type];
  return isFixedIndexType(type) ? Number(type.slice("OctetString".length)) : undefined;
}

const fixedLengths: Readonly<Record<string, number>> = {
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
