import type { Oid } from "./oid.ts";

/** Types whose value is a number: signed for Integer32, else 0 to 2^32-1. Unsigned32 has the tag of Gauge32. */
export type NumberType = "Integer32" | "Counter32" | "Gauge32" | "TimeTicks";

/**
 * Types whose value is bytes. IpAddress has whatever length the agent sent. An `Unknown` is a primitive value of a tag
 * that SNMP does not define; its bytes are the whole element with tag and length, so that nothing is lost.
 */
export type BytesType = "OctetString" | "IpAddress" | "Opaque" | "Unknown";

/** What an agent answers in place of a value (RFC 3416 section 3). */
export type ExceptionType = "noSuchObject" | "noSuchInstance" | "endOfMibView";

/** `Malformed`: the agent sent a value that cannot be read. */
export type ValueType =
  | NumberType
  | BytesType
  | ExceptionType
  | "Counter64"
  | "ObjectIdentifier"
  | "Null"
  | "Malformed";

/** A variable binding: an instance and its value. Counter64 is exact. Bytes are the receiver's own copy. */
export type VarBind =
  | { readonly oid: Oid; readonly type: NumberType; readonly value: number }
  | { readonly oid: Oid; readonly type: "Counter64"; readonly value: bigint }
  | { readonly oid: Oid; readonly type: BytesType; readonly value: Uint8Array }
  | { readonly oid: Oid; readonly type: "ObjectIdentifier"; readonly value: Oid }
  | { readonly oid: Oid; readonly type: ExceptionType | "Null" | "Malformed"; readonly value: null };

/** Whether the agent said that there is no value. */
export function isException(varbind: VarBind): boolean {
  return varbind.type === "noSuchObject" || varbind.type === "noSuchInstance" || varbind.type === "endOfMibView";
}

/** Whether there is no value: the agent said so, or sent one that cannot be read. */
export function hasNoValue(varbind: VarBind): boolean {
  return varbind.type === "Malformed" || isException(varbind);
}
