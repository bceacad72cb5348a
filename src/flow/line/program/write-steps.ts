import { isReverseName, nameIn, turned, type Direction } from "../biflow/direction.ts";
import * as layout from "../kernel/layout.ts";
import type { Output, Presence, Step } from "../../exporters/templates/plan.ts";
import { variableLength } from "../../exporters/templates/template.ts";
import { anyLength, candidate, candidateOf } from "./select-candidate.ts";
import { writeHelper, type DirectedStep, type StepContext } from "./step-context.ts";
import { fitOf, isNever, isTotal, valueKind } from "./value-kind.ts";
import { byteGroup, writeByteGroup } from "./write-byte-group.ts";
import { writeArray, writeField, writeHexField, type ProgramContext } from "./write-field.ts";
import { writeSlowSteps } from "./write-slow-steps.ts";

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

/** Whether an output has any name in this line. */
function isWritten({ direction }: StepContext, { name, fallback }: Output): boolean {
  const names = fallback === undefined ? [name] : [name, fallback.name, fallback.hexName];
  return names.some((each) => nameIn(direction, each) !== undefined);
}

/** Whether a field of fixed length has a value whatever its bytes are. */
function isAlways({ plan }: StepContext, { field, convert }: Output): boolean {
  const length = plan.lengths[field] as number;
  return length !== variableLength && isTotal(valueKind(convert), length);
}

/** Whether an output that has a name in this line has its first one, or is known to have a value or none. */
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
