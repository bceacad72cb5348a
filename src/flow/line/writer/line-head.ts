import type { RecordContext } from "../../exporters/templates/record-context.ts";
import { copyText, writeAscii, writeSafeInteger } from "../text/write-values.ts";

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
const quote = 0x22;
const backslash = 0x5c;

/**
 * @param memory where it is written, from `at` on.
 * @param maxLength bytes; heads have some ten short fields.
 */
export function createLineHead(memory: Buffer, at: number, maxLength: number): LineHead {
  const view = new DataView(memory.buffer, memory.byteOffset + at, maxLength + 8);
  const names = new Map<string, string>();
  /** What was written last, where the value of each field begins, and where it ends: heads of one exporter differ in few of them. */
  let written: HeadFields = [];
  /** The position of the exporter's address in it, -1 when it has none. */
  let exporterAt = -1;
  const starts: number[] = [];
  const ends: number[] = [];
  /** The text that was written last, and its place: a head may have the same time in several fields. */
  let lastText: string | undefined;
  let lastStart = 0;
  let lastEnd = 0;

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

  /** @returns where the text ends, with its quotes. */
  const writeString = (start: number, text: string): number => {
    let end = start;
    view.setUint8(end++, quote);
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (unit < 0x20 || unit > 0x7e || unit === quote || unit === backslash) {
        return writeText(start, JSON.stringify(text));
      }
      view.setUint8(end++, unit);
    }
    view.setUint8(end++, quote);
    return end;
  };

  /** @returns where the value ends; -1 when it is none that can be written. */
  const writeValue = (start: number, value: HeadFields[number][1]): number => {
    if (typeof value === "string") {
      if (start + 6 * value.length + 2 > maxLength) return -1;
      if (value === lastText) return copyText(view, start, view, lastStart, lastEnd - lastStart);
      lastText = value;
      lastStart = start;
      lastEnd = writeString(start, value);
      return lastEnd;
    }
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) return -1;
    return start + 20 > maxLength ? -1 : writeSafeInteger(view, start, value);
  };

  const write = (fields: HeadFields): boolean => {
    const before = written;
    written = [];
    lastText = undefined;
    let isMoved = false;
    let end = 0;
    if (exporterAt >= fields.length) exporterAt = -1;
    for (let i = 0; i < fields.length; i++) {
      const field = fields[i] as HeadFields[number];
      const last = isMoved ? undefined : before[i];
      const fieldEnd = ends[i] ?? -1;
      if (last === field) {
        end = fieldEnd;
        continue;
      }
      const name = field[0];
      const value = field[1];
      if (name === "flow.export.ip.addr") {
        exporterAt = i;
        head.exporter = typeof value === "string" ? value : "";
      } else if (i === exporterAt) exporterAt = -1;
      if (last !== undefined && last[0] === name && last[1] === value) {
        end = fieldEnd;
        continue;
      }
      // Values are written by whole words, beyond their end: what stays there is put back.
      const isFollowed = fieldEnd >= 0;
      const behind = isFollowed ? view.getInt32(fieldEnd) : 0;
      const more = isFollowed ? view.getInt32(fieldEnd + 4) : 0;
      if (last === undefined || last[0] !== name) {
        const label = nameText(name);
        if (end + 3 * label.length > maxLength) return false;
        starts[i] = writeText(end, label);
      }
      end = writeValue(starts[i] as number, value);
      if (end < 0) return false;
      isMoved ||= end !== fieldEnd;
      if (!isMoved) {
        view.setInt32(end, behind);
        view.setInt32(end + 4, more);
      }
      ends[i] = end;
    }
    if (exporterAt < 0) head.exporter = "";
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
      head.fields = write(fields) ? fields : undefined;
      return head.fields !== undefined;
    },
    forget: () => void (head.fields = undefined),
  };
  return head;
}
