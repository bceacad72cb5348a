/**
 * How a field of a structure is encoded (RFC 4506). `count32`, `count64`: all ones mean that the agent does not know the
 * value, then there is no field. `mac`: six bytes, padded to eight. `text`: a length and this many bytes.
 */
type CommonType = "uint32" | "uint64" | "count32" | "mac" | "text";

/**
 * Types of flow structures. `address`: a type and 0, 4 or 16 bytes. `labels`: a count and this many entries of an MPLS label stack, `tags`
 * of 802.1Q tags with their type; of both come the numbers.
 */
export type FlowType = CommonType | "ipv4" | "ipv6" | "address" | "labels" | "tags";

/** Types of counter structures. `percent`: hundredths of a percent, all ones unknown. */
export type CounterType = CommonType | "int32" | "count64" | "float" | "percent" | "bytes4" | "bytes16";

/** The fields of a structure in order, each with its name in records. */
export type XdrLayout<Type> = readonly (readonly [name: string, type: Type])[];

/** Bytes with what fills them up to a multiple of four. */
export function padded(length: number): number {
  return length + ((4 - (length & 3)) & 3);
}
