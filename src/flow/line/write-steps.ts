import { type Direction, nameIn, isReverseName, turned } from "./biflow.ts";
import * as layout from "../kernel/layout.gen.ts";
import { type Step, type Plan, type SlowStep, type Output, type Presence, variableLength } from "../exporters/plan.ts";
import type { PlacedTable } from "./compiled-plans.ts";
import {
  type LineHelper,
  type ProgramContext,
  isCodePoint,
  isPure,
  isTotal,
  valueKind,
  fitOf,
  isNever,
  timeLengthsOf,
  writeArray,
  writeField,
  writeHexField,
} from "./write-field.ts";
import { type NameBits, isKeptAsByte } from "./flow-ends.ts";

/** The context for writing the program of one direction. */
export interface StepContext extends Omit<ProgramContext, "written"> {
  readonly direction: Direction;
  /** The bit of each name that is added only where a record has none of it. */
  readonly nameBits: NameBits;
  readonly byteTable: (steps: readonly Step[]) => PlacedTable;
  /** Bytes that tables give to a line at most. */
  maxTables: number;
}

/** One step as it is in the line of a direction. */
interface DirectedStep {
  readonly step: Step;
  /** Undefined: an output that is not in this line under its own name. */
  readonly names: readonly (string | undefined)[];
}

/** Leaves what is to be done here to a helper outside of the kernel. */
function writeHelper(context: StepContext, helper: LineHelper): void {
  context.writer.operation({ code: layout.opHelper, argument: context.helper(helper) });
}

/** Writes what lists, stacks of labels and sections of packets take. */
function writeSlowSteps(context: StepContext): void {
  const { plan, writer, places, direction } = context;
  const labels = plan.slowSteps.find((step) => step.kind === "labels");
  if (labels !== undefined && isKernelStack(plan, labels)) {
    if (direction !== "reverse") {
      const pairs = labels.fields.flatMap(({ field }) => [places[field] as number, plan.lengths[field] as number]);
      const tail = Buffer.from(Uint16Array.from(pairs).buffer);
      writer.operation({ code: layout.opLabels, length: labels.fields.length, tail });
    }
  }
  const helped = helpedSteps(plan);
  const [only] = helped;
  const isOne = direction === "whole" && helped.length === 1;
  if (isOne && only?.kind === "packet") writeHelper(context, { kind: "section", section: only });
  else if (isOne && only?.kind === "list") writeList(context, only);
  else if (helped.length > 0) writeHelper(context, { kind: "fields", direction });
}

function writeList(context: StepContext, list: Extract<SlowStep, { kind: "list" }>): void {
  if (list.structure !== "basicList") {
    writeHelper(context, { kind: "list", list });
    return;
  }
  context.writer.operation({
    code: layout.opList,
    place: context.places[list.field] as number,
    length: context.plan.lengths[list.field] as number,
    argument: context.helper({ kind: "list", list }),
    tail: Buffer.alloc(layout.maxListShapes * layout.listShapeBytes),
  });
}

/** Tells whether the kernel writes a stack: it has room for it, and all of its labels have three or four bytes. */
function isKernelStack({ lengths }: Plan, { fields }: Extract<SlowStep, { kind: "labels" }>): boolean {
  return fields.length <= layout.maxLabels && fields.every(({ field }) => lengths[field] === 3 || lengths[field] === 4);
}

/** The slow steps that the kernel leaves to the other side. */
export function helpedSteps(plan: Plan): SlowStep[] {
  return plan.slowSteps.filter(
    (step) => step.kind === "list" || step.kind === "packet" || (step.kind === "labels" && !isKernelStack(plan, step)),
  );
}

/** The steps from one on that read the same single byte; none when the first is better read by itself. */
function byteGroup(
  { plan, slots, nameBits }: StepContext,
  block: readonly DirectedStep[],
  from: number,
): DirectedStep[] {
  const group: DirectedStep[] = [];
  const field = block[from]?.step.outputs[0].field;
  for (let i = from; i < block.length; i++) {
    const { step, names } = block[i] as DirectedStep;
    const [{ convert, ...output }] = step.outputs;
    const [name] = names;
    const isOfGroup =
      step.kind === "field" &&
      name !== undefined &&
      output.field === field &&
      plan.lengths[output.field] === 1 &&
      isPure(convert) &&
      !nameBits.has(name) &&
      (!slots.has(name) || isKeptByTable(convert));
    if (!isOfGroup) break;
    group.push(block[i] as DirectedStep);
  }
  const [only] = group;
  const [first] = only?.step.outputs ?? [];
  // A table of what anybody may call a name would be made for each of these names.
  return group.length === 1 && first !== undefined && isTotal(valueKind(first.convert), 1) ? [] : group;
}

/** Tells whether a conversion makes a number of one byte that the kernel can keep. */
function isKeptByTable(convert: Output["convert"]): boolean {
  const kind = valueKind(convert);
  return kind === "unsigned" || kind === "tcpBits" || isCodePoint(convert) || isKeptAsByte(convert);
}

/** Writes a group of steps that read one byte as a look-up in a table of texts. */
function writeByteGroup(context: StepContext, noted: ProgramContext, group: readonly DirectedStep[]): void {
  const { writer, places, slots, direction, byteTable } = context;
  const slotFor = (isKept: (convert: Output["convert"]) => boolean): number => {
    const found = group.find(({ step, names }) => slots.has(names[0] ?? "") && isKept(step.outputs[0].convert));
    return slots.get(found?.names[0] ?? "") ?? layout.unusedSlot;
  };
  const steps = group.map(({ step }) => renamed(step, direction));
  const table = byteTable(steps);
  context.maxTables += table.maxLength;
  const { field } = (group[0] as DirectedStep).step.outputs[0];
  writer.operation({
    code: layout.opTable,
    place: places[field] as number,
    slot: slotFor((convert) => !isCodePoint(convert)),
    length: slotFor(isCodePoint),
    argument: table.place,
    fields: steps.flatMap(({ outputs: [{ name, fallback }] }) =>
      fallback === undefined ? [name] : [name, fallback.name, fallback.hexName],
    ),
  });
  for (const { step, names } of group) {
    if (isTotal(valueKind(step.outputs[0].convert), 1)) noted.written(names[0] as string);
  }
}

/** A step of one output under its names in a direction. */
function renamed(step: Step, direction: Direction): Step {
  if (direction === "whole") return { ...step, when: undefined };
  const [output] = step.outputs;
  const { fallback } = output;
  const to = (name: string): string => nameIn(direction, name) ?? name;
  return {
    kind: step.kind,
    outputs: [
      {
        ...output,
        name: to(output.name),
        fallback: fallback && { ...fallback, name: to(fallback.name), hexName: to(fallback.hexName) },
      },
    ],
  };
}

/** When a field is the one that a selection takes. */
interface Candidate {
  readonly kind: number;
  readonly fit?: readonly [least: number, most: number];
  readonly helper?: number;
}

/** A field of any length is there. */
const anyLength = [0, 0xffff] as const;
const noLength = [1, 0] as const;

/** The output is taken if its field has a value. */
function candidateOf(context: StepContext, { field, convert }: Output): Buffer {
  const kind = valueKind(convert);
  const length = context.plan.lengths[field] as number;
  const isVariable = length === variableLength;
  if (kind === "text") return candidate(context, field, { kind: layout.byLength, fit: anyLength });
  if (!isVariable && isNever(kind, length)) return candidate(context, field, { kind: layout.byLength, fit: noLength });
  if (!isVariable && isTotal(kind, length)) {
    return candidate(context, field, { kind: layout.byLength, fit: anyLength });
  }
  const fit = fitOf(kind);
  if (fit !== undefined) return candidate(context, field, { kind: layout.byLength, fit });
  const time = timeCandidates.get(kind);
  if (time !== undefined) return candidate(context, field, { kind: time, fit: timeLengthsOf(kind) ?? anyLength });
  const helper = context.helper({ kind: "value", convert });
  return candidate(context, field, { kind: layout.byHelper, helper });
}

const timeCandidates: ReadonlyMap<string, number> = new Map([
  ["seconds", layout.bySeconds],
  ["milliseconds", layout.byMilliseconds],
  ["microseconds", layout.byMicroseconds],
  ["nanoseconds", layout.byNanoseconds],
  ["uptime", layout.byUptime],
]);

/** A candidate of the operation that selects one of several fields, as the kernel has it. */
function candidate(
  { plan, places }: StepContext,
  field: number,
  { kind, fit = anyLength, helper = 0 }: Candidate,
): Buffer {
  const bytes = Buffer.alloc(layout.candidateBytes);
  bytes.writeUInt16LE(places[field] as number, layout.candidatePlace);
  bytes.writeUInt16LE(plan.lengths[field] as number, layout.candidateLength);
  bytes.writeUInt16LE(kind, layout.candidateKind);
  bytes.writeUInt16LE(fit[0], layout.candidateLeast);
  bytes.writeUInt16LE(Math.min(fit[1], 0xffff), layout.candidateMost);
  bytes.writeUInt32LE(helper, layout.candidateHelper);
  return bytes;
}

/**
 * Writes the operations for the fields of a plan: the line gets what {@link readStep} puts into a record, in the same order. In the
 * line of the reverse direction, its own fields come first.
 */
export function writeSteps(context: StepContext): void {
  const { plan, direction } = context;
  const all = plan.steps.map((step) => directed(step, direction));
  if (direction !== "reverse") {
    writeInOrder(context, all, () => {});
    writeSlowSteps(context);
    return;
  }
  const own = all.filter(({ step }) => step.outputs.some(({ name }) => isReverseName(name)));
  const shared = all.filter(({ step }) => !step.outputs.some(({ name }) => isReverseName(name)));
  const registers = sharedNames(own, shared);
  const { writer } = context;
  for (const register of registers.values()) writer.operation({ code: layout.opSet, delta: register });
  writeInOrder(context, own, (name) => {
    const register = registers.get(name);
    if (register !== undefined) writer.operation({ code: layout.opSet, delta: register, length: 1 });
  });
  writeSlowSteps(context);
  writer.operation({ code: layout.opReverse });
  for (const each of shared) {
    const register = registers.get(each.names[0] ?? "");
    const write = (): void => writeInOrder(context, [each], () => {});
    if (register === undefined) write();
    else writer.when(register, "equal", 0, write);
  }
}

/** Names that the reverse direction may have of its own, instead of what is said of both: each has a register. */
function sharedNames(own: readonly DirectedStep[], shared: readonly DirectedStep[]): Map<string, number> {
  const ofOwn = new Set(own.flatMap(({ names }) => names));
  const both = new Set(shared.flatMap(({ names }) => names).filter((name) => name !== undefined && ofOwn.has(name)));
  return new Map([...both].map((name, i) => [name as string, layout.firstFreeRegister + i]));
}

function directed(step: Step, direction: Direction): DirectedStep {
  const names = step.outputs.map(({ name }) => nameIn(direction, name));
  if (direction !== "reverse") return { step, names };
  const outputs = step.outputs.map((output) => ({ ...output, convert: turned(output.name, output.convert) }));
  return { step: { ...step, outputs: outputs as [Output, ...Output[]] }, names };
}

/** Writes steps that have the conditions in common as one block. */
function writeInOrder(context: StepContext, all: readonly DirectedStep[], written: (name: string) => void): void {
  const { writer, nameBits } = context;
  const noted: ProgramContext = {
    ...context,
    written(name) {
      written(name);
      const bit = nameBits.get(name);
      if (bit !== undefined) writer.operation({ code: layout.opTake, argument: bit });
    },
  };
  for (let i = 0; i < all.length;) {
    const { when } = (all[i] as DirectedStep).step;
    let next = i + 1;
    while (next < all.length && all[next]?.step.when === when) next++;
    const block = all.slice(i, next);
    writeWhen(context, when ?? [], () => writeBlock(context, noted, block));
    i = next;
  }
}

/** Writes what is done only where all of these hold. */
function writeWhen(context: StepContext, when: readonly Presence[], block: () => void): void {
  const [first, ...rest] = when;
  if (first === undefined) {
    block();
    return;
  }
  const { writer } = context;
  // A first field without bytes never wins: 0 then means that none has a bit set.
  const tail = Buffer.concat([
    Buffer.alloc(layout.candidateBytes),
    ...first.fields.map((field) => candidate(context, field, { kind: layout.byLength, fit: anyLength })),
  ]);
  writer.operation({ code: layout.opSelect, length: 1 + first.fields.length, tail });
  writer.when(layout.selected, first.isSet ? "other" : "equal", 0, () => writeWhen(context, rest, block));
}

function writeBlock(context: StepContext, noted: ProgramContext, block: readonly DirectedStep[]): void {
  for (let i = 0; i < block.length;) {
    const group = byteGroup(context, block, i);
    if (group.length > 0) {
      writeByteGroup(context, noted, group);
      i += group.length;
    } else writeStep(context, noted, block[i++] as DirectedStep);
  }
}

function writeStep(context: StepContext, noted: ProgramContext, { step, names }: DirectedStep): void {
  const { outputs, kind } = step;
  if (!outputs.some((output) => isWritten(context, output))) return;
  const [{ convert }] = outputs;
  const [name] = names;
  const isArray = outputs.every((output) => output.convert === convert && isAlways(context, output));
  if (kind === "list" && isArray && name !== undefined) {
    writeArray(
      noted,
      name,
      valueKind(convert),
      outputs.map(({ field }) => field),
    );
    return;
  }
  if (kind === "list" || !outputs.every((output) => canDrop(context, output))) {
    writeHelper(context, { kind: "step", step: { ...step, when: undefined }, direction: context.direction });
    return;
  }
  if (kind === "field") {
    writeOutput(context, noted, outputs[0], names[0]);
    return;
  }
  const { writer } = context;
  const tail = Buffer.concat(outputs.map((output) => candidateOf(context, output)));
  writer.operation({ code: layout.opSelect, length: outputs.length, tail });
  outputs.forEach((output, i) => {
    writer.when(layout.selected, "equal", i, () => writeOutput(context, noted, output, names[i]));
    writer.when(layout.selected, "other", i, () => writeFallback(context, noted, output));
  });
}

/** Tells whether an output has any name in this line. */
function isWritten({ direction }: StepContext, { name, fallback }: Output): boolean {
  const names = fallback === undefined ? [name] : [name, fallback.name, fallback.hexName];
  return names.some((each) => nameIn(direction, each) !== undefined);
}

/** Tells whether a field of fixed length has a value whatever its bytes are. */
function isAlways({ plan }: StepContext, { field, convert }: Output): boolean {
  const length = plan.lengths[field] as number;
  return length !== variableLength && isTotal(valueKind(convert), length);
}

/** Tells whether an output that has a name in this line has its first one, or is known to have a value or none. */
function canDrop({ plan, direction }: StepContext, output: Output): boolean {
  if (nameIn(direction, output.name) !== undefined) return true;
  const kind = valueKind(output.convert);
  const length = plan.lengths[output.field] as number;
  if (length === variableLength) return fitOf(kind) !== undefined || kind === "text";
  return isTotal(kind, length) || isNever(kind, length) || kind === "text";
}

function writeOutput(context: StepContext, noted: ProgramContext, output: Output, name: string | undefined): void {
  const { field, convert } = output;
  writeField(noted, { field, name, convert, otherwise: () => writeFallback(context, noted, output) });
}

function writeFallback({ direction }: StepContext, noted: ProgramContext, { field, fallback }: Output): void {
  if (fallback === undefined) return;
  const { convert } = fallback;
  const name = nameIn(direction, fallback.name);
  const hexName = nameIn(direction, fallback.hexName);
  if (name === undefined && hexName === undefined) return;
  writeField(noted, { field, name, convert, otherwise: () => writeHexField(noted, field, hexName) });
}
