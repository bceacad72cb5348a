import type { FieldSource } from "../../elements/mapping/field-source.ts";
import type { TimeFormat } from "../../elements/mapping/time-format.ts";
import type { Output, Plan } from "../../exporters/templates/plan.ts";
import { variableLength } from "../../exporters/templates/template.ts";
import { isPure, isTotal, valueKind } from "./value-kind.ts";

/**
 * Whether the records of a plan have a name: all, none, or this is known from the bytes of each. Where it follows from one byte, from
 * which one, with a 1 for each of its values with which there is the name.
 */
export type Presence = "always" | "never" | "maybe" | ByteChoice;

export interface ByteChoice {
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
