import type { FieldsUnderWay, Scalar } from "../../../record/index.ts";
import { toHex, toUnsigned } from "../../elements/mapping/convert-type.ts";
import type { FieldSource } from "../../elements/mapping/field-source.ts";

/** Where a field of a record lies, and its name for bytes that are no value. */
export interface FieldSpan {
  readonly at: number;
  readonly length: number;
  readonly hexName: string;
}

/**
 * Puts a stack of MPLS labels into a record, the top first (mplsTopLabelStackSection to mplsLabelStackSection10, RFC 3032:
 * 20 bits of label, three of experimental use, one at the bottom of the stack, with or without a byte of time to
 * live). Exporters have as many fields as they can give and fill those behind the stack with zeros: these are left out.
 */
export function putLabels(record: FieldsUnderWay, source: FieldSource, spans: readonly FieldSpan[]): void {
  const entries: number[] = [];
  for (const { at, length, hexName } of spans) {
    if (length === 3) entries.push(toUnsigned(source, at, 3) as number);
    else if (length === 4) entries.push((toUnsigned(source, at, 4) as number) >>> 8);
    else if (length > 0) addHex(record, hexName, toHex(source, at, length) as Scalar);
  }
  while (entries.at(-1) === 0) entries.pop();
  const [top] = entries;
  if (top === undefined) return;
  record.set(
    "mpls.label.id",
    entries.map((entry) => entry >>> 4),
  );
  record.set(
    "mpls.label.exp",
    entries.map((entry) => (entry >>> 1) & 7),
  );
  record.set(
    "mpls.label.bottom",
    entries.map((entry) => (entry & 1) === 1),
  );
  record.set("mpls.top_label.id", top >>> 4);
}

function addHex(record: FieldsUnderWay, name: string, value: Scalar): void {
  const before = record.get(name);
  record.set(name, before === undefined ? value : [before, value].flat());
}
