/**
 * An object identifier: at least two sub-identifiers, each an unsigned 32-bit integer, at most 128 of them (RFC 2578
 * section 3.5). The first is at most 2, and below 2 the second is at most 39.
 */
export type Oid = readonly number[];

export const maxSubIdentifiers = 128;
export const maxSubIdentifier = 0xffffffff;

/** Tells whether the numbers are an object identifier that can be encoded. */
export function isOid(oid: Oid): boolean {
  if (oid.length < 2 || oid.length > maxSubIdentifiers) return false;
  if (!oid.every((part) => Number.isInteger(part) && part >= 0 && part <= maxSubIdentifier)) return false;
  const [first, second] = oid as [number, number];
  return first < 2 ? second < 40 : first === 2;
}

/**
 * Reads dotted decimal text, with or without a leading dot; no blanks, signs or leading zeros.
 *
 * @returns undefined when the text is not an object identifier.
 */
export function parseOid(text: string): Oid | undefined {
  const digits = text.startsWith(".") ? text.slice(1) : text;
  if (!/^(?:0|[1-9]\d{0,9})(?:\.(?:0|[1-9]\d{0,9}))+$/.test(digits)) return undefined;
  const oid = digits.split(".").map(Number);
  return isOid(oid) ? oid : undefined;
}

/** Dotted decimal with a leading dot. */
export function formatOid(oid: Oid): string {
  return `.${oid.join(".")}`;
}

/** Lexicographic order of SNMP: negative when `a` comes first, 0 when equal; a prefix comes before what it starts. */
export function compareOids(a: Oid, b: Oid): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const difference = (a[i] as number) - (b[i] as number);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Tells whether `oid` lies below `root` or is `root`. */
export function oidStartsWith(oid: Oid, root: Oid): boolean {
  if (oid.length < root.length) return false;
  // From the end, because identifiers of one agent differ late.
  for (let i = root.length - 1; i >= 0; i--) if (oid[i] !== root[i]) return false;
  return true;
}

/** Types whose value is a number: signed for Integer32, else 0 to 2^32-1. Unsigned32 has the tag of Gauge32. */
type NumberType = "Integer32" | "Counter32" | "Gauge32" | "TimeTicks";

/**
 * Types whose value is bytes. IpAddress has whatever length the agent sent. An `Unknown` is a primitive value of a tag
 * that SNMP does not define; its bytes are the whole element with tag and length, so that nothing is lost.
 */
type BytesType = "OctetString" | "IpAddress" | "Opaque" | "Unknown";

/** The exception that an agent answers in place of a value (RFC 3416 section 3). */
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

/** Tells whether the agent said that there is no value. */
export function isException(varbind: VarBind): boolean {
  return varbind.type === "noSuchObject" || varbind.type === "noSuchInstance" || varbind.type === "endOfMibView";
}

/** Tells whether there is no value: the agent said so, or sent one that cannot be read. */
export function hasNoValue(varbind: VarBind): boolean {
  return varbind.type === "Malformed" || isException(varbind);
}
