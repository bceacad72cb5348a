import { convertField } from "../../elements/mapping/convert-field.ts";
import { convertType } from "../../elements/mapping/convert-type.ts";
import type { Convert } from "../../elements/mapping/field-source.ts";

/** Conversions that the kernel does. `other` are left to the function itself. */
export type ValueKind =
  | "unsigned"
  | "signed"
  | "ipv4"
  | "ipv6"
  | "mac"
  | "hex"
  | "text"
  | "seconds"
  | "milliseconds"
  | "microseconds"
  | "nanoseconds"
  | "uptime"
  | "tcpBits"
  | "icmpType"
  | "icmpCode"
  | "applicationId"
  | "l2"
  | "l3"
  | "l4"
  | "other";

const kinds = new Map<Convert, ValueKind>([
  [convertType.unsigned32, "unsigned"],
  [convertType.signed32, "signed"],
  [convertType.ipv4Address, "ipv4"],
  [convertType.ipv6Address, "ipv6"],
  [convertType.macAddress, "mac"],
  [convertType.octetArray, "hex"],
  [convertType.string, "text"],
  [convertType.dateTimeSeconds, "seconds"],
  [convertType.dateTimeMilliseconds, "milliseconds"],
  [convertType.dateTimeMicroseconds, "microseconds"],
  [convertType.dateTimeNanoseconds, "nanoseconds"],
  [convertField.uptime, "uptime"],
  [convertField.tcpBits, "tcpBits"],
  [convertField.icmpType, "icmpType"],
  [convertField.icmpCode, "icmpCode"],
  [convertField.applicationId, "applicationId"],
  [convertField.l2, "l2"],
  [convertField.l3, "l3"],
  [convertField.l4, "l4"],
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

type Fit = readonly [least: number, most: number];

/** Lengths with which every field of a kind has a value, and no field of another length has one. */
const fits: Readonly<Partial<Record<ValueKind, Fit>>> = {
  unsigned: [1, 8],
  signed: [1, 8],
  ipv4: [4, 4],
  ipv6: [16, 16],
  mac: [6, 6],
  tcpBits: [1, 8],
  hex: [1, Number.POSITIVE_INFINITY],
  l2: [1, 8],
  l3: [1, 8],
  l4: [1, 8],
};

/** Undefined for kinds whose values do not follow from the length alone. */
export function fitOf(kind: ValueKind): Fit | undefined {
  return fits[kind];
}

/** The same, of kinds that have values with other lengths, too. */
const totalLengths: Readonly<Partial<Record<ValueKind, Fit>>> = {
  ...fits,
  icmpType: [2, 2],
  icmpCode: [2, 2],
  applicationId: [2, 9],
};

/** Lengths with which every field of a kind has a value; undefined for kinds of which none is known. */
export function totalLengthsOf(kind: ValueKind): Fit | undefined {
  return totalLengths[kind];
}

/** Whether every field of this kind and length, at least one byte, has a value; false where only some have or none. */
export function isTotal(kind: ValueKind, length: number): boolean {
  const [least, most] = totalLengths[kind] ?? [1, 0];
  return length >= least && length <= most;
}

/** Lengths with which some fields of a kind have a value, and none of another length has one. */
const timeLengths: Readonly<Partial<Record<ValueKind, Fit>>> = {
  seconds: [1, 8],
  milliseconds: [1, 8],
  microseconds: [8, 8],
  nanoseconds: [8, 8],
  uptime: [1, 8],
};

/** Undefined for kinds that are no times. */
export function timeLengthsOf(kind: ValueKind): Fit | undefined {
  return timeLengths[kind];
}

/** Whether no field of this kind and length has a value. */
export function isNever(kind: ValueKind, length: number): boolean {
  const fit = timeLengths[kind] ?? fits[kind];
  return fit !== undefined && (length < fit[0] || length > fit[1]);
}
