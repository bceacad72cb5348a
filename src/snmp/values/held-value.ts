import type { Oid } from "../session/oid.ts";
import type { ValueType } from "../session/var-bind.ts";
import type { SnmpValue } from "./snmp-value.ts";

/**
 * A value that is kept for a while, as thousands of them are between reading and writing a table: octets as text with a
 * character for each, which takes a fifth of the memory of a Uint8Array.
 */
export interface HeldValue {
  readonly type: ValueType;
  readonly value: number | bigint | string | Oid | null;
}

export function holdValue({ type, value }: SnmpValue): HeldValue {
  return { type, value: value instanceof Uint8Array ? textOf(value) : value };
}

export function heldValue(held: HeldValue): SnmpValue {
  const { type, value } = held;
  return typeof value === "string" ? { type, value: Buffer.from(value, "latin1") } : (held as SnmpValue);
}

/** Arguments of one call; more would overflow the stack. */
const piece = 4096;

/** Not by a Buffer on the same memory: that would move the octets out of the heap, into an allocation of their own. */
function textOf(octets: Uint8Array): string {
  let text = "";
  for (let at = 0; at < octets.length; at += piece) {
    text += String.fromCharCode.apply(null, octets.subarray(at, at + piece) as unknown as number[]);
  }
  return text;
}
