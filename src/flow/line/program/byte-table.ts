import { renderFields, type RecordFields } from "../../../record/index.ts";
import type { FieldSource } from "../../elements/mapping/field-source.ts";
import type { TimeFormat } from "../../elements/mapping/time-format.ts";
import type { Step } from "../../exporters/templates/plan.ts";
import { readStep } from "../../wire/template/read-step.ts";
import { textTable, type TextTable } from "../text/line-text.ts";

/** What steps make of one byte, where the kernel finds it. */
export interface PlacedTable {
  readonly place: number;
  readonly maxLength: number;
}

/** What several steps make of one byte, rendered for each value that it may have. */
export type ByteTable = TextTable;

/** Reads all 256 values. The steps read one field of one byte, and nothing else. */
export function createByteTable(steps: readonly Step[], times: TimeFormat): ByteTable {
  const bytes = Buffer.alloc(1);
  const source: FieldSource = {
    bytes,
    view: new DataView(bytes.buffer, bytes.byteOffset, 1),
    clock: { exportTime: 0, uptime: undefined },
    times,
    bootTime: undefined,
  };
  const fields = 1 + Math.max(...steps.map(({ outputs }) => outputs[0].field));
  const places = { offsets: new Int32Array(fields), lengths: new Int32Array(fields).fill(1) };
  const texts = Array.from({ length: 256 }, (_, value) => {
    bytes[0] = value;
    const record: RecordFields = new Map();
    for (const step of steps) readStep(record, source, step, places);
    return renderFields([...record]);
  });
  return textTable(texts);
}
