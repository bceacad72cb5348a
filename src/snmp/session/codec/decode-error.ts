/**
 * What is odd about a value.
 *
 * - `cut`: a Counter32 or TimeTicks of more than 32 bits, of which the low 32 are used
 * - `empty`: a number without octets; `width`: a number beyond its type
 * - `length`: octets that are missing, or too many; `tag`: nothing that can be a value; `oid`: no object identifier
 */
export const valueFaults = ["cut", "empty", "width", "length", "tag", "oid"] as const;
export type ValueFault = (typeof valueFaults)[number];

/** Returns counts of faults, all 0. */
export function noValueFaults(): Record<ValueFault, number> {
  return { cut: 0, empty: 0, width: 0, length: 0, tag: 0, oid: 0 };
}

/** Bytes that are not what BER or SNMP allow there. It stays inside the session, which counts it. */
export class DecodeError extends Error {
  override readonly name = "DecodeError";
  /** What is odd, where it is a value. */
  readonly fault: ValueFault;

  constructor(message: string, fault: ValueFault = "length") {
    super(message);
    this.fault = fault;
  }
}
