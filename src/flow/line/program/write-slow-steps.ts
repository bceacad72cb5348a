import * as layout from "../../kernel/layout.ts";
import type { Plan, SlowStep } from "../../exporters/templates/plan.ts";
import { writeHelper, type StepContext } from "./step-context.ts";

/** Writes what lists, stacks of labels and sections of packets take. */
export function writeSlowSteps(context: StepContext): void {
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

/** Whether the kernel writes a stack: it has room for it, and all of its labels have three or four bytes. */
function isKernelStack({ lengths }: Plan, { fields }: Extract<SlowStep, { kind: "labels" }>): boolean {
  return fields.length <= layout.maxLabels && fields.every(({ field }) => lengths[field] === 3 || lengths[field] === 4);
}

/** The slow steps that the kernel leaves to the other side. */
export function helpedSteps(plan: Plan): SlowStep[] {
  return plan.slowSteps.filter(
    (step) => step.kind === "list" || step.kind === "packet" || (step.kind === "labels" && !isKernelStack(plan, step)),
  );
}
