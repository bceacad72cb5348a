import type { RecordContext } from "../../exporters/templates/record-context.ts";
import { writeAscii, writeSafeInteger } from "../text/write-values.ts";

type HeadFields = RecordContext["head"];

/** What the lines of one datagram have in common, written once. */
export interface LineHead {
  /** What is written; undefined when nothing that can be used is. */
  readonly fields: HeadFields | undefined;
  readonly length: number;
  /** The address of the exporter, empty when the fields do not say it. */
  readonly exporter: string;
  /** Takes the head of the records that follow. @returns whether their lines can begin with it. */
  use(fields: HeadFields): boolean;
  forget(): void;
}

const maxNames = 256;

/**
 * @param memory where it is written, from `at` on.
 * @param maxLength bytes; heads have some ten short fields.
 */
export function createLineHead(memory: Buffer, at: number, maxLength: number): LineHead {
  const view = new DataView(memory.buffer, memory.byteOffset + at, maxLength + 8);
  const names = new Map<string, string>();
  /** What was written last, and where each of its fields ends: heads of one exporter differ in few of them. */
  let written: HeadFields = [];
  const ends: number[] = [];

  /** `,"name":` */
  const nameText = (name: string): string => {
    const known = names.get(name);
    if (known !== undefined) return known;
    if (names.size >= maxNames) names.clear();
    const text = `,${JSON.stringify(name)}:`;
    names.set(name, text);
    return text;
  };

  const writeText = (end: number, text: string): number => {
    for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7e) return end + memory.write(text, at + end);
    return writeAscii(view, end, text);
  };

  /** @returns where the field ends; -1 when it is none that can be written. */
  const writeField = (end: number, name: string, value: HeadFields[number][1]): number => {
    const label = nameText(name);
    if (typeof value === "string") {
      if (end + 3 * label.length + 6 * value.length + 2 > maxLength) return -1;
      return writeText(writeText(end, label), JSON.stringify(value));
    }
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) return -1;
    if (end + 3 * label.length + 20 > maxLength) return -1;
    return writeSafeInteger(view, writeText(end, label), value);
  };

  const write = (fields: HeadFields): boolean => {
    const before = written;
    written = [];
    let isMoved = false;
    let end = 0;
    for (let i = 0; i < fields.length; i++) {
      const [name, value] = fields[i] as HeadFields[number];
      if (name === "flow.export.ip.addr") head.exporter = typeof value === "string" ? value : "";
      const last = before[i];
      const lastEnd = ends[i] ?? -1;
      if (!isMoved && last !== undefined && last[0] === name && last[1] === value) {
        end = lastEnd;
        continue;
      }
      // Numbers are written by whole words, beyond their end: what stays there is put back.
      const [behind, more] = lastEnd < 0 ? [0, 0] : [view.getInt32(lastEnd), view.getInt32(lastEnd + 4)];
      end = writeField(end, name, value);
      if (end < 0) return false;
      isMoved ||= end !== lastEnd;
      if (!isMoved) {
        view.setInt32(end, behind);
        view.setInt32(end + 4, more);
      }
      ends[i] = end;
    }
    if (end === 0) return false;
    view.setUint8(0, 0x7b);
    head.length = end;
    written = fields;
    return true;
  };

  const head: { -readonly [Key in keyof LineHead]: LineHead[Key] } = {
    fields: undefined,
    length: 0,
    exporter: "",
    use(fields) {
      head.exporter = "";
      head.fields = write(fields) ? fields : undefined;
      return head.fields !== undefined;
    },
    forget: () => void (head.fields = undefined),
  };
  return head;
}
