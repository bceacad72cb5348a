import { convertField } from "../elements/mapping/convert-field.ts";
import { convertType, toHex } from "../elements/mapping/convert-type.ts";
import type { Convert, FieldSource } from "../elements/mapping/convert-type.ts";
import type { TimeFormat } from "../elements/mapping/convert-type.ts";
import {
  type Output,
  type Plan,
  variableLength,
  type PacketSection,
  type SlowStep,
  type Step,
} from "../exporters/plan.ts";
import type { Direction } from "./biflow.ts";
import * as layout from "../kernel/layout.gen.ts";
import type { ProgramWriter } from "../kernel/program-writer.ts";

/** Conversions that the kernel does. `other` are left to the function itself. */
type ValueKind =
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

/** Conversions whose values follow from more than the field's bytes. */
const byClock: ReadonlySet<Convert> = new Set([convertField.uptime, convertField.microsecondsBefore]);

export function valueKind(convert: Convert): ValueKind {
  return kinds.get(convert) ?? "other";
}

/** Tells whether it takes the upper six bits of a byte. */
export function isCodePoint(convert: Convert): boolean {
  return convert === convertField.dscp;
}

/** Tells whether a value follows from the field's bytes alone. */
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
function totalLengthsOf(kind: ValueKind): Fit | undefined {
  return totalLengths[kind];
}

/** Tells whether every field of this kind and length, at least one byte, has a value; false where only some have or none. */
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

/** Tells whether no field of this kind and length has a value. */
export function isNever(kind: ValueKind, length: number): boolean {
  const fit = timeLengths[kind] ?? fits[kind];
  return fit !== undefined && (length < fit[0] || length > fit[1]);
}

/**
 * Says whether the records of a plan have a name: all, none, or this is known from the bytes of each. Where it follows from one byte, from
 * which one, with a 1 for each of its values with which there is the name.
 */
export type Presence = "always" | "never" | "maybe" | ByteChoice;

interface ByteChoice {
  readonly field: number;
  readonly values: Uint8Array;
}

/** Says this of names, but for those of lists and sections of packets, which come behind. */
export function namePresence(plan: Plan, times: TimeFormat): (name: string) => Presence {
  const { steps, slowSteps } = plan;
  const known = new Map<string, Presence>();
  for (const { kind, outputs, when } of steps) {
    const [output] = outputs;
    const isOnly = !known.has(output.name);
    for (const { name, fallback } of outputs) {
      if (known.get(name) !== "always") known.set(name, "maybe");
      if (fallback === undefined) continue;
      known.set(fallback.name, "maybe");
      known.set(fallback.hexName, "maybe");
    }
    if (kind !== "field" || when !== undefined) continue;
    const presence = ofField(plan, output, times);
    if (presence === "always" || isOnly) known.set(output.name, presence);
  }
  const hasLabels = slowSteps.some(({ kind }) => kind === "labels");
  return (name) => known.get(name) ?? (hasLabels && name.startsWith("mpls.") ? "maybe" : "never");
}

function ofField({ lengths }: Plan, { field, convert, name, fallback }: Output, times: TimeFormat): Presence {
  const length = lengths[field] as number;
  if (length === variableLength) return "maybe";
  if (isTotal(valueKind(convert), length)) return "always";
  const isOwn = fallback?.name !== name && fallback?.hexName !== name;
  if (length !== 1 || !isPure(convert) || !isOwn) return "maybe";
  const bytes = Buffer.alloc(1);
  const clock = { exportTime: 0, uptime: undefined };
  const view = new DataView(bytes.buffer, bytes.byteOffset, 1);
  const source: FieldSource = { bytes, view, clock, times, bootTime: undefined };
  const values = Uint8Array.from({ length: 256 }, (_, value) => {
    bytes[0] = value;
    return convert(source, 0, 1) === undefined ? 0 : 1;
  });
  return { field, values };
}

/** The work that the kernel leaves to this side, within its line. Operations refer to it by its position. */
export type LineHelper =
  /** One value of a field. */
  | { readonly kind: "value"; readonly convert: Convert }
  /** Any result of a step. */
  | { readonly kind: "step"; readonly step: Step; readonly direction: Direction }
  /** The content of the one section of a packet. */
  | { readonly kind: "section"; readonly section: PacketSection }
  /** The content of the one list. */
  | { readonly kind: "list"; readonly list: Extract<SlowStep, { kind: "list" }> }
  /** The content of lists and sections of packets in the record. */
  | { readonly kind: "fields"; readonly direction: Direction };

/** The context for writing a part of a program. */
export interface ProgramContext {
  readonly plan: Plan;
  /** The offset of each field in a record; its position in the template where lengths vary. */
  readonly places: readonly number[];
  readonly writer: ProgramWriter;
  /** The slots of values that something else in the line follows from, by the names of their fields. */
  readonly slots: ReadonlyMap<string, number>;
  /** Adds a helper. Returns its position. */
  helper(helper: LineHelper): number;
  /** Called behind the operations that wrote a field of this name. */
  written(name: string): void;
}

/** A field under one name. */
interface FieldText {
  readonly field: number;
  /** Undefined: nothing is to be written. */
  readonly name: string | undefined;
  readonly convert: Convert;
  /** Writes what replaces it where the bytes are no value. */
  readonly otherwise: () => void;
}

/** Writes the operations for a field: its value under its name, or what replaces it. */
export function writeField(context: ProgramContext, text: FieldText): void {
  const { plan } = context;
  const length = plan.lengths[text.field] as number;
  if (length === 0) return;
  const kind = kindOf(context, text);
  if (kind === "text") writeText(context, text, length);
  else if (length === variableLength) writeVariable(context, text, kind);
  else if (isNever(kind, length)) text.otherwise();
  else if (isTotal(kind, length)) writeTotal(context, text, kind, length);
  else writePartial(context, text, kind, length);
}

/** A value below 0 from which something follows is kept by the other side. */
function kindOf(context: ProgramContext, { name, convert }: FieldText): ValueKind {
  const kind = valueKind(convert);
  return kind === "signed" && name !== undefined && slotOf(context, name) !== layout.unusedSlot ? "other" : kind;
}

/** Writes a field's bytes in hex. */
export function writeHexField(context: ProgramContext, field: number, name: string | undefined): void {
  writeField(context, { field, name, convert: toHex, otherwise() {} });
}

/** The text before a value, and its length in bytes. */
function nameText(name: string): string {
  return `,${JSON.stringify(name)}:`;
}

function slotOf({ slots }: ProgramContext, name: string): number {
  return slots.get(name) ?? layout.unusedSlot;
}

/** Every text is a value, also the empty one. */
function writeText(context: ProgramContext, { field, name }: FieldText, length: number): void {
  if (name === undefined) return;
  const { writer, places } = context;
  writer.text(`${nameText(name)}"`);
  writer.operation({
    code: layout.opString,
    field: name,
    slot: slotOf(context, name),
    place: places[field] as number,
    length,
  });
  context.written(name);
}

function writeVariable(context: ProgramContext, text: FieldText, kind: ValueKind): void {
  const { writer, places } = context;
  const times = timeLengthsOf(kind);
  const never = times ?? fitOf(kind);
  const fit = never ?? totalLengthsOf(kind);
  if (fit === undefined) {
    writeValue(context, text, variableLength);
    return;
  }
  const [least, most] = fit;
  writer.operation({
    code: layout.opFits,
    place: places[text.field] as number,
    length: least,
    argument: Math.min(most, 0xffff),
  });
  const write = times === undefined ? writeTotal : writeTime;
  // Some kinds have values of other lengths, too.
  const otherwise = never === undefined ? (): void => writeValue(context, text, variableLength) : text.otherwise;
  writer.either(
    layout.fits,
    1,
    () => write(context, text, kind, variableLength),
    () => writer.when(layout.fits, "equal", 0, otherwise),
  );
}

function writePartial(context: ProgramContext, text: FieldText, kind: ValueKind, length: number): void {
  if (timeOperations[kind] === undefined) writeValue(context, text, length);
  else writeTime(context, text, kind, length);
}

function writeTime(context: ProgramContext, text: FieldText, kind: ValueKind, length: number): void {
  const { writer, places } = context;
  const { field, name, otherwise } = text;
  const label = name === undefined ? "" : nameText(name);
  writer.text(label);
  const operation = {
    code: timeOperations[kind] as number,
    place: places[field] as number,
    length,
    argument: Buffer.byteLength(label),
  };
  writer.attempt(operation, () => name !== undefined && context.written(name), otherwise);
}

/** Leaves the value to the other side. */
function writeValue(context: ProgramContext, text: FieldText, length: number): void {
  const { writer, places } = context;
  const { field, name, convert } = text;
  const label = name === undefined ? "" : nameText(name);
  writer.text(label);
  writer.operation({
    code: layout.opValue,
    ...(name !== undefined && { field: name }),
    slot: name === undefined ? layout.unusedSlot : slotOf(context, name),
    place: places[field] as number,
    delta: Buffer.byteLength(label),
    length,
    argument: context.helper({ kind: "value", convert }),
  });
  afterValue(context, text);
}

function afterValue(context: ProgramContext, { name, otherwise }: FieldText): void {
  const { writer } = context;
  if (name !== undefined) writer.when(layout.outcome, "equal", 1, () => context.written(name));
  writer.when(layout.outcome, "equal", 0, otherwise);
}

const timeOperations: Readonly<Partial<Record<ValueKind, number>>> = {
  seconds: layout.opSeconds,
  milliseconds: layout.opMilliseconds,
  microseconds: layout.opMicroseconds,
  nanoseconds: layout.opNanoseconds,
  uptime: layout.opUptime,
};

const bytesOperations: Readonly<Partial<Record<ValueKind, number>>> = {
  ipv4: layout.opIpv4,
  ipv6: layout.opIpv6,
  mac: layout.opMac,
  hex: layout.opHex,
};

/** Writes a value that is always there. */
function writeTotal(context: ProgramContext, { field, name }: FieldText, kind: ValueKind, length: number): void {
  if (name === undefined) return;
  const { writer, places } = context;
  writer.text(nameText(name));
  writeTotalValue(writer, kind, { place: places[field] as number, length, slot: slotOf(context, name), name });
  context.written(name);
}

/** Writes the array of several fields that all have values. */
export function writeArray(context: ProgramContext, name: string, kind: ValueKind, fields: readonly number[]): void {
  const { writer, places, plan } = context;
  writer.text(`${nameText(name)}[`);
  fields.forEach((field, i) => {
    if (i > 0) writer.text(",");
    const length = plan.lengths[field] as number;
    writeTotalValue(writer, kind, { place: places[field] as number, length, slot: layout.unusedSlot });
  });
  writer.text("]");
  // An array is a value, but none that anything follows from.
  const slot = slotOf(context, name);
  if (slot !== layout.unusedSlot) writer.operation({ code: layout.opOther, slot });
  context.written(name);
}

interface FieldPlace {
  readonly place: number;
  readonly length: number;
  readonly slot: number;
  /** Undefined for elements of arrays. */
  readonly name?: string;
}

function writeTotalValue(writer: ProgramWriter, kind: ValueKind, { place, length, slot, name }: FieldPlace): void {
  const field = name === undefined ? {} : { field: name };
  switch (kind) {
    case "unsigned":
      writer.operation({ code: unsignedOperation(length), place, length, slot, ...field });
      break;
    case "signed":
      writer.operation({ code: layout.opInt, place, length, ...field });
      break;
    case "tcpBits":
      writer.operation({ code: length === 1 ? layout.opUint8 : layout.opTcpBits, place, length, slot, ...field });
      break;
    case "icmpType":
    case "icmpCode":
      writer.operation({ code: layout.opUint8, place, delta: kind === "icmpType" ? 0 : 1, slot, ...field });
      break;
    case "applicationId":
      writer.operation({ code: layout.opApplication, place, length, ...field });
      if (slot !== layout.unusedSlot) writer.operation({ code: layout.opPlace, place, length, slot });
      break;
    case "l2":
    case "l3":
    case "l4":
      writer.text(`"${kind}"`);
      break;
    case "ipv4":
    case "ipv6":
    case "mac":
    case "hex":
      writer.text(`"`);
      writer.operation({ code: bytesOperations[kind] as number, place, length, slot, ...field, isOpen: true });
      writer.text(`"`);
      break;
    case "text":
    case "seconds":
    case "milliseconds":
    case "microseconds":
    case "nanoseconds":
    case "uptime":
    case "other":
      throw new TypeError(`not every field of the kind ${kind} has a value`);
  }
}

/** The operation that writes a value of fixed length, and whether in quotes; undefined where none does, or not each. */
export function valueOperation(
  kind: ValueKind,
  length: number,
): { readonly code: number; readonly isQuoted: boolean } | undefined {
  if (!isTotal(kind, length)) return undefined;
  if (kind === "unsigned") return { code: unsignedOperation(length), isQuoted: false };
  const code = bytesOperations[kind];
  return code === undefined ? undefined : { code, isQuoted: true };
}

function unsignedOperation(length: number): number {
  if (length === 1) return layout.opUint8;
  if (length === 2) return layout.opUint16;
  return length === 4 ? layout.opUint32 : layout.opUint;
}
