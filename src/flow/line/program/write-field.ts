import * as layout from "../../kernel/layout.ts";
import { toHex } from "../../elements/mapping/convert-type.ts";
import type { Convert } from "../../elements/mapping/field-source.ts";
import type { Plan } from "../../exporters/templates/plan.ts";
import { variableLength } from "../../exporters/templates/template.ts";
import type { LineHelper } from "./line-helper.ts";
import type { ProgramWriter } from "../../kernel/program-writer.ts";
import { fitOf, isNever, isTotal, timeLengthsOf, totalLengthsOf, valueKind, type ValueKind } from "./value-kind.ts";

/** What writing a part of a program takes. */
export interface ProgramContext {
  readonly plan: Plan;
  /** Where each field begins in a record; its position in the template where lengths vary. */
  readonly places: readonly number[];
  readonly writer: ProgramWriter;
  /** Where values are kept that something else in the line follows from, by the names of their fields. */
  readonly slots: ReadonlyMap<string, number>;
  /** Adds a helper. Returns its position. */
  helper(helper: LineHelper): number;
  /** Called behind the operations that wrote a field of this name. */
  written(name: string): void;
}

/** A field under one name. */
export interface FieldText {
  readonly field: number;
  /** Undefined: nothing is to be written. */
  readonly name: string | undefined;
  readonly convert: Convert;
  /** Writes what stands in its place where the bytes are no value. */
  readonly otherwise: () => void;
}

/** Writes the operations for a field: its value under its name, or what stands in its place. */
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
  // Of some kinds there are values of other lengths, too.
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
