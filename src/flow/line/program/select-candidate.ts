import * as layout from "../kernel/layout.ts";
import type { Output } from "../../exporters/templates/plan.ts";
import { variableLength } from "../../exporters/templates/template.ts";
import type { StepContext } from "./step-context.ts";
import { fitOf, isNever, isTotal, timeLengthsOf, valueKind } from "./value-kind.ts";

/** When a field is the one that a selection takes. */
interface Candidate {
  readonly kind: number;
  readonly fit?: readonly [least: number, most: number];
  readonly helper?: number;
}

/** A field of any length is there. */
export const anyLength = [0, 0xffff] as const;
const noLength = [1, 0] as const;

/** The output is taken if its field has a value. */
export function candidateOf(context: StepContext, { field, convert }: Output): Buffer {
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
export function candidate(
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
