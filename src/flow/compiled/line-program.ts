import type { LineEnricher } from "../../record/index.ts";
import * as layout from "../kernel/layout.ts";
import { panaL7Pen } from "../mapping/convert-field.ts";
import type { Convert } from "../mapping/field-source.ts";
import type { Output, Plan, Presence, Step } from "../template/plan.ts";
import { variableLength } from "../template/template.ts";
import { maxNamesLength } from "./derived-fields.ts";
import { maxNumberAddition } from "./number-addition.ts";
import { createProgramWriter, type ProgramWriter } from "./program-writer.ts";
import { isCodePoint, isPure, isTotal, valueKind } from "./value-kind.ts";

/** What the kernel is to do for the records of a plan. */
export interface LineProgram {
  /** As {@link layout} has it. */
  readonly bytes: Buffer;
  /** No line is longer than the head and this many bytes, and so many more for each byte of the record. */
  readonly maxLength: number;
  readonly maxLengthPerByte: number;
}

/** What steps make of one byte, where the kernel finds it. */
export interface PlacedTable {
  readonly place: number;
  readonly maxLength: number;
}

export interface LineProgramOptions {
  readonly enricher: LineEnricher;
  /** Where the kernel keeps values that something else in the line follows from, by the names of their fields. */
  readonly slots: ReadonlyMap<string, number>;
  readonly byteTable: (steps: readonly Step[]) => PlacedTable;
}

const maxRecord = 65_535;
/** More bytes than any number, address or time takes, with its quotes. */
const maxScalar = 64;
/** A byte of text becomes at most `\u00xx`. */
const maxPerByte = 6;
/** Type and code of ICMP by the destination port. */
const maxIcmp = 64;
/** `,"flow.community.id":"1:`, a digest of 28 characters, a quote. */
const communityIdLength = 24 + 28 + 1;
/** The counters' estimates and their rate. */
const maxEstimates = 192;
/** What both ends of a flow add together. */
const maxFinish = 64;

/**
 * Makes the program for the records of a plan: the bytes of the line are those of the interpreter, the enricher and the line
 * buffer, in the same order.
 *
 * @returns undefined for a plan that is left to the interpreter: something that other fields follow from is of variable
 *   length or a list.
 */
export function lineProgram(plan: Plan, { enricher, slots, byteTable }: LineProgramOptions): LineProgram | undefined {
  const { steps } = plan;
  // No datagram has such a record, and operations have sixteen bits for places.
  if (plan.minLength > maxRecord) return undefined;
  const produced = new Set(steps.flatMap(({ outputs }) => outputs.flatMap(namesOf)));
  if (enricher.numbers.some(({ adds }) => produced.has(adds))) return undefined;

  const writer = createProgramWriter();
  const context: StepContext = { plan, writer, slots };
  let maxLength =
    maxEstimates + maxIcmp + maxNamesLength + communityIdLength + enricher.numbers.length * maxNumberAddition;
  for (const addresses of enricher.addresses) maxLength += 2 * addresses.maxLength + maxFinish;
  const writeSteps = (from: number, to: number): boolean => {
    for (let i = from; i < to;) {
      const group = byteGroup(plan, steps.slice(0, to), i, slots);
      if (group.length > 0) {
        const table = byteTable(group);
        maxLength += table.maxLength;
        writeGroup(context, group, table.place);
        i += group.length;
      } else if (writeStep(context, steps[i] as Step, i)) i++;
      else return false;
    }
    return true;
  };
  for (let i = 0; i < steps.length;) {
    const when = steps[i]?.when;
    let next = i + 1;
    while (next < steps.length && steps[next]?.when === when) next++;
    if (!writeWhen(context, when ?? [], () => writeSteps(i, next))) return undefined;
    i = next;
  }
  writer.operation({ code: layout.opRest });

  const outputs = steps.flatMap((step) => step.outputs);
  for (const output of outputs) maxLength += maxScalar + nameBound(output);
  const uses = new Uint32Array(plan.lengths.length);
  for (const { field } of outputs) uses[field] = (uses[field] as number) + 1;
  const maxLengthPerByte = maxPerByte * uses.reduce((most, count) => Math.max(most, count), 1);
  return { bytes: withHead(plan, writer.bytes(), maxLength, maxLengthPerByte), maxLength, maxLengthPerByte };
}

function withHead(plan: Plan, operations: Buffer, maxLength: number, maxLengthPerByte: number): Buffer {
  const { lengths, minLength, hasVariableLength, template, bootTimeField } = plan;
  const head = Buffer.alloc(layout.programOperations);
  const bootTimeLength = lengths[bootTimeField] ?? 0;
  head.writeUInt32LE(minLength, layout.programMinLength);
  head.writeUInt16LE(lengths.length, layout.programFields);
  head.writeUInt16LE(
    (hasVariableLength ? layout.isVariable : 0) |
      (template.dialect === "netflow9" || hasVariableLength ? layout.mayBePadded : 0) |
      (bootTimeLength > 0 ? layout.tellsBootTime : 0),
    layout.programFlags,
  );
  head.writeUInt32LE(head.length + operations.length, layout.programLengths);
  head.writeUInt32LE(maxLength, layout.programMaxLength);
  head.writeUInt32LE(maxLengthPerByte, layout.programPerByte);
  for (const { isSource, offset, length } of addressPlaces(plan)) {
    head.writeUInt32LE(offset, isSource ? layout.programSource : layout.programDestination);
    head.writeUInt32LE(length, isSource ? layout.programSourceLength : layout.programDestinationLength);
  }
  return Buffer.concat([head, operations, Buffer.from(Uint16Array.from(lengths).buffer)]);
}

interface StepContext {
  readonly plan: Plan;
  readonly writer: ProgramWriter;
  readonly slots: ReadonlyMap<string, number>;
}

function namesOf({ name, fallback }: Output): string[] {
  return fallback === undefined ? [name] : [name, fallback.name, fallback.hexName];
}

function nameBound(output: Output): number {
  return Math.max(...namesOf(output).map((name) => Buffer.byteLength(JSON.stringify(name)) + 8));
}

/** The addresses of both ends that are at the same place in every record. */
function addressPlaces({ steps, lengths, hasVariableLength }: Plan): {
  isSource: boolean;
  offset: number;
  length: number;
}[] {
  if (hasVariableLength) return [];
  return ["flow.src.ip.addr", "flow.dst.ip.addr"].flatMap((name, i) => {
    const step = steps.find(({ kind, outputs, when }) => kind === "field" && !when && outputs[0].name === name);
    const field = step?.outputs[0].field ?? -1;
    const length = lengths[field];
    if (length !== 4 && length !== 16) return [];
    return [{ isSource: i === 0, offset: offsetOf(lengths, field), length }];
  });
}

function offsetOf(lengths: readonly number[], field: number): number {
  return lengths.slice(0, field).reduce((sum, length) => sum + length, 0);
}

/** What operations take for the place of a field. */
function placeOf({ lengths, hasVariableLength }: Plan, field: number): number {
  return hasVariableLength ? field : offsetOf(lengths, field);
}

/** Writes what is done only where all of these hold. Returns what the block does. */
function writeWhen(context: StepContext, when: readonly Presence[], block: () => boolean): boolean {
  const [first, ...rest] = when;
  if (first === undefined) return block();
  const { plan, writer } = context;
  // A first field without bytes is never chosen for its value: 0 then means that none is set.
  const none = [0, 0];
  const pairs = first.fields.flatMap((field) => [placeOf(plan, field), plan.lengths[field] as number]);
  const tail = Buffer.from(Uint16Array.from([...none, ...pairs]).buffer);
  writer.operation({ code: layout.opSelect, length: 1 + first.fields.length, tail });
  let isWritten = false;
  writer.skip({ code: first.isSet ? layout.opIf : layout.opUnless, length: 0 }, () => {
    isWritten = writeWhen(context, rest, block);
  });
  return isWritten;
}

/** The steps from one on that read the same single byte; none when the first is better read by itself. */
function byteGroup(plan: Plan, steps: readonly Step[], from: number, slots: StepContext["slots"]): Step[] {
  const group: Step[] = [];
  const field = steps[from]?.outputs[0].field;
  for (let i = from; i < steps.length; i++) {
    const step = steps[i] as Step;
    const [output] = step.outputs;
    const isOfGroup =
      step.kind === "field" &&
      output.field === field &&
      plan.lengths[output.field] === 1 &&
      isPure(output.convert) &&
      (!slots.has(output.name) || isNumberOfByte(output.convert));
    if (!isOfGroup) break;
    group.push(step.when === undefined ? step : { ...step, when: undefined });
  }
  const [only] = group;
  // A table of what anybody may call a name would be made for each of these names.
  const isPlain = group.length === 1 && only !== undefined && isStatic(plan, only.outputs[0]);
  return isPlain ? [] : group;
}

/** Whether a conversion makes a number of one byte that the kernel can keep. */
function isNumberOfByte(convert: Convert): boolean {
  return valueKind(convert) === "unsigned" || isCodePoint(convert);
}

function writeGroup({ writer, plan, slots }: StepContext, group: readonly Step[], table: number): void {
  const slotFor = (isKept: (convert: Convert) => boolean): number => {
    const step = group.find(({ outputs: [output] }) => slots.has(output.name) && isKept(output.convert));
    return slots.get(step?.outputs[0].name ?? "") ?? layout.unusedSlot;
  };
  const [first] = group as [Step];
  writer.operation({
    code: layout.opTable,
    place: placeOf(plan, first.outputs[0].field),
    slot: slotFor((convert) => !isCodePoint(convert)),
    length: slotFor(isCodePoint),
    argument: table,
  });
}

/** Writes what a step takes. Returns whether it can be compiled. */
function writeStep(context: StepContext, step: Step, index: number): boolean {
  const { plan, slots } = context;
  const { kind, outputs } = step;
  const isWatched = outputs.some(({ name }) => slots.has(name));
  if (kind === "contest" && outputs.every((output) => isStatic(plan, output))) {
    writeContest(context, outputs);
    return true;
  }
  const [output] = outputs;
  if (kind === "field" && isStatic(plan, output)) {
    writePut(context, output);
    return true;
  }
  if (isWatched && !(kind === "field" && isNever(plan, output))) return false;
  if (kind === "field" && writePartial(context, output, index)) return true;
  context.writer.operation({ code: layout.opInterpret, argument: index });
  return true;
}

/** Whether it is known beforehand that the field has a value, and its fallback as well, or that it has no bytes. */
function isStatic(plan: Plan, { field, convert, fallback, takesEmpty }: Output): boolean {
  const length = plan.lengths[field] as number;
  if (length === variableLength || (length === 0 && takesEmpty)) return false;
  const isAlways = (of: Convert): boolean => isTotal(valueKind(of), length);
  return length === 0 || (isAlways(convert) && (fallback === undefined || isAlways(fallback.convert)));
}

/** Whether the field never has a value under its name: its bytes are none of its type. */
function isNever(plan: Plan, { field, convert }: Output): boolean {
  const length = plan.lengths[field] as number;
  const kind = valueKind(convert);
  if (length === variableLength) return false;
  if (kind === "unsigned") return length === 0 || length > 8;
  return kind === "ipv4" || kind === "ipv6" ? !isTotal(kind, length) : false;
}

function writePut({ plan, writer, slots }: StepContext, { field, name, convert }: Output): void {
  const length = plan.lengths[field] as number;
  if (length === 0) return;
  writer.text(`,${JSON.stringify(name)}:`);
  writeTotal(writer, convert, { place: placeOf(plan, field), length, slot: slots.get(name) ?? layout.unusedSlot });
}

function writeContest(context: StepContext, outputs: Step["outputs"]): void {
  const { plan, writer } = context;
  const pairs = outputs.flatMap(({ field }) => [offsetOf(plan.lengths, field), plan.lengths[field] as number]);
  const fields = outputs.flatMap(({ field }) => [field, plan.lengths[field] as number]);
  const tail = Buffer.from(Uint16Array.from(plan.hasVariableLength ? fields : pairs).buffer);
  writer.operation({ code: layout.opSelect, length: outputs.length, tail });
  outputs.forEach((output, i) => {
    writer.skip({ code: layout.opUnless, length: i }, () => writePut(context, output));
    const { fallback } = output;
    if (fallback === undefined) return;
    writer.skip({ code: layout.opIf, length: i }, () =>
      writePut({ ...context, slots: new Map() }, { ...output, name: fallback.name, convert: fallback.convert }),
    );
  });
}

interface FieldPlace {
  readonly place: number;
  readonly length: number;
  readonly slot: number;
}

/** Writes a value that is always there. */
function writeTotal(writer: ProgramWriter, convert: Convert, { place, length, slot }: FieldPlace): void {
  const kind = valueKind(convert);
  switch (kind) {
    case "unsigned":
      writeUnsigned(writer, { place, length, slot });
      return;
    case "icmpType":
    case "icmpCode":
      writeUnsigned(writer, { place, length: 1, slot }, kind === "icmpType" ? 0 : 1);
      return;
    case "applicationId":
      writeApplicationId(writer, place, length);
      return;
    case "ipv4":
    case "ipv6":
    case "mac":
    case "hex":
      writer.text(`"`);
      writer.operation({ code: bytesOperations[kind], place, length, slot });
      writer.text(`"`);
      return;
    case "text":
    case "seconds":
    case "milliseconds":
    case "uptime":
    case "other":
      throw new TypeError(`not every field of the kind ${kind} has a value`);
  }
}

function writeApplicationId(writer: ProgramWriter, place: number, length: number): void {
  const put = (delta: number, bytes: number): void =>
    writeUnsigned(writer, { place, length: bytes, slot: layout.unusedSlot }, delta);
  writer.text(`"`);
  put(0, 1);
  writer.text(`:`);
  if (length > 5) {
    writer.operation({ code: layout.opIsByte, place, length: panaL7Pen });
    writer.skip({ code: layout.opUnless, length: 1 }, () => {
      put(1, 4);
      writer.text(`:`);
      put(5, length - 5);
    });
    writer.skip({ code: layout.opIf, length: 1 }, () => put(1, length - 1));
  } else put(1, length - 1);
  writer.text(`"`);
}

const bytesOperations = { ipv4: layout.opIpv4, ipv6: layout.opIpv6, mac: layout.opMac, hex: layout.opHex } as const;

function writeUnsigned(writer: ProgramWriter, { place, length, slot }: FieldPlace, delta = 0): void {
  const code =
    length === 1 ? layout.opUint8 : length === 2 ? layout.opUint16 : length === 4 ? layout.opUint32 : layout.opUint;
  writer.operation({ code, place, delta, length, slot });
}

/** Writes a value that some bytes do not have; the interpreter does those. Returns whether the kernel knows it. */
function writePartial({ plan, writer }: StepContext, output: Output, index: number): boolean {
  const kind = valueKind(output.convert);
  const length = plan.lengths[output.field] as number;
  const isVariable = length === variableLength;
  const isNumber = !isVariable && length > 0 && length <= 8;
  const code =
    kind === "text"
      ? layout.opPlainText
      : kind === "seconds" && isNumber
        ? layout.opSeconds
        : kind === "milliseconds" && isNumber
          ? layout.opMilliseconds
          : kind === "uptime" && isNumber && length <= 4
            ? layout.opUptime
            : undefined;
  if (code === undefined) return false;
  const prefix = `,${JSON.stringify(output.name)}:${kind === "text" ? '"' : ""}`;
  const argument = index + Buffer.byteLength(prefix) * 0x10000;
  writer.text(prefix);
  writer.operation({ code, place: placeOf(plan, output.field), length, argument });
  return true;
}
