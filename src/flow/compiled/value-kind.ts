import { convertField } from "../mapping/convert-field.ts";
import { convertType } from "../mapping/convert-type.ts";
import type { Convert } from "../mapping/field-source.ts";

/** Conversions that there is code for. `other` are those that the interpreter's own function does. */
export type ValueKind =
  | "unsigned"
  | "ipv4"
  | "ipv6"
  | "mac"
  | "hex"
  | "text"
  | "seconds"
  | "milliseconds"
  | "uptime"
  | "icmpType"
  | "icmpCode"
  | "applicationId"
  | "other";

const kinds = new Map<Convert, ValueKind>([
  [convertType.unsigned32, "unsigned"],
  [convertType.ipv4Address, "ipv4"],
  [convertType.ipv6Address, "ipv6"],
  [convertType.macAddress, "mac"],
  [convertType.octetArray, "hex"],
  [convertType.string, "text"],
  [convertType.dateTimeSeconds, "seconds"],
  [convertType.dateTimeMilliseconds, "milliseconds"],
  [convertField.uptime, "uptime"],
  [convertField.icmpType, "icmpType"],
  [convertField.icmpCode, "icmpCode"],
  [convertField.applicationId, "applicationId"],
]);

/** Those whose values follow from more than the field's bytes. */
const byClock: ReadonlySet<Convert> = new Set([convertField.uptime, convertField.microsecondsBefore]);

export function valueKind(convert: Convert): ValueKind {
  return kinds.get(convert) ?? "other";
}

/** Whether it takes the upper six bits of a byte. */
export function isCodePoint(convert: Convert): boolean {
  return convert === convertField.dscp;
}

/** Whether a value follows from the field's bytes alone. */
export function isPure(convert: Convert): boolean {
  return !byClock.has(convert);
}

/** The lengths of fields that always have a value. */
const totalLengths: Readonly<Partial<Record<ValueKind, readonly [least: number, most: number]>>> = {
  unsigned: [1, 8],
  ipv4: [4, 4],
  ipv6: [16, 16],
  mac: [6, 6],
  hex: [1, Number.POSITIVE_INFINITY],
  icmpType: [2, 2],
  icmpCode: [2, 2],
  applicationId: [2, 9],
};

/** Whether every field of this kind and length, at least one byte, has a value; false where only some have or none. */
export function isTotal(kind: ValueKind, length: number): boolean {
  const [least, most] = totalLengths[kind] ?? [1, 0];
  return length >= least && length <= most;
}
