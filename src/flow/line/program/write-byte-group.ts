import { nameIn, type Direction } from "../biflow/direction.ts";
import * as layout from "../kernel/layout.ts";
import type { Output, Step } from "../../exporters/templates/plan.ts";
import { isKeptAsByte } from "./record-slots.ts";
import type { DirectedStep, StepContext } from "./step-context.ts";
import { isCodePoint, isPure, isTotal, valueKind } from "./value-kind.ts";
import type { ProgramContext } from "./write-field.ts";

/** The steps from one on that read the same single byte; none when the first is better read by itself. */
export function byteGroup(
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

/** Whether a conversion makes a number of one byte that the kernel can keep. */
function isKeptByTable(convert: Output["convert"]): boolean {
  const kind = valueKind(convert);
  return kind === "unsigned" || kind === "tcpBits" || isCodePoint(convert) || isKeptAsByte(convert);
}

/** Writes a group of steps that read one byte as a look-up in a table of texts. */
export function writeByteGroup(context: StepContext, noted: ProgramContext, group: readonly DirectedStep[]): void {
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
