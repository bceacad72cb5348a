import { digits, fourDigits } from "../kernel/kernel.ts";
import type { RecordContext } from "../exporters/plan.ts";
import { LineBuffer, type RecordFields, type Scalar, type Value, type Workspace } from "../../record/index.ts";

// Each writes the JSON of a value at `at` and returns where it ends; up to seven bytes behind may be overwritten. The caller
// has made room. Those that can be asked for what has no value return -1 then, and nothing has happened that counts.

/** @param value a uint32. */
function writeUint32(out: DataView, at: number, value: number): number {
  if (value < 10_000) {
    const piece = digits[value] as number;
    out.setUint32(at, piece, true);
    return at + 4 - (Math.clz32(piece) >>> 3);
  }
  const upper = (value / 10_000) >>> 0;
  const lower = fourDigits[value - upper * 10_000] as number;
  if (upper < 10_000) {
    const piece = digits[upper] as number;
    out.setUint32(at, piece, true);
    const end = at + 4 - (Math.clz32(piece) >>> 3);
    out.setUint32(end, lower, true);
    return end + 4;
  }
  const top = (upper / 10_000) >>> 0;
  const piece = digits[top] as number;
  out.setUint32(at, piece, true);
  const end = at + 4 - (Math.clz32(piece) >>> 3);
  out.setUint32(end, fourDigits[upper - top * 10_000] as number, true);
  out.setUint32(end + 4, lower, true);
  return end + 8;
}

/** @param value whole, from 0 to 2^53-1. */
export function writeSafeInteger(out: DataView, at: number, value: number): number {
  if (value <= 0xffff_ffff) return writeUint32(out, at, value >>> 0);
  const upper = Math.floor(value / 100_000_000);
  const lower = (value - upper * 100_000_000) >>> 0;
  const middle = (lower / 10_000) >>> 0;
  const end = writeUint32(out, at, upper);
  out.setUint32(end, fourDigits[middle] as number, true);
  out.setUint32(end + 4, fourDigits[lower - middle * 10_000] as number, true);
  return end + 8;
}

/** Without quotes. */
export function writeAscii(out: DataView, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) out.setUint8(at + i, text.charCodeAt(i));
  return at + text.length;
}

/** Copies by eight bytes. As doubles: no text in UTF-8 has the bits of a NaN, which alone would not survive. */
export function copyText(out: DataView, at: number, from: DataView, start: number, length: number): number {
  for (let i = 0; i < length; i += 8) out.setFloat64(at + i, from.getFloat64(start + i, true), true);
  return at + length;
}

/** Bytes in a memory of their own that {@link copyText} may read behind the end of. */
function paddedView(bytes: Uint8Array): DataView {
  const padded = new Uint8Array(bytes.length + 8);
  padded.set(bytes);
  return new DataView(padded.buffer);
}

/** A piece of JSON that many lines have, ready to be copied. */
interface LineText {
  readonly view: DataView;
  readonly length: number;
}

/** Most names take no more, with all that is around them: this much is copied without a look at the length. */
const chunk = 24;

function lineText(text: string): LineText {
  const bytes = Buffer.from(text);
  const length = Math.max(chunk, bytes.length);
  return { view: paddedView(Buffer.concat([bytes, Buffer.alloc(length - bytes.length)])), length: bytes.length };
}

/** `,"name":` and what follows it. */
export function nameText(name: string, after = ""): LineText {
  return lineText(`,${JSON.stringify(name)}:${after}`);
}

/** Returns where it ends; up to 24 bytes behind may be overwritten. */
export function putText(out: DataView, at: number, text: LineText): number {
  const { view, length } = text;
  out.setFloat64(at, view.getFloat64(0, true), true);
  out.setFloat64(at + 8, view.getFloat64(8, true), true);
  out.setFloat64(at + 16, view.getFloat64(16, true), true);
  for (let i = chunk; i < length; i += 8) out.setFloat64(at + i, view.getFloat64(i, true), true);
  return at + length;
}

/** Pieces of JSON by a small number. */
export interface TextTable {
  readonly texts: DataView;
  /** Where the text of each number begins; one more for the end of the last. */
  readonly starts: Uint32Array;
  readonly maxLength: number;
}

export function textTable(texts: readonly Uint8Array[]): TextTable {
  const starts = new Uint32Array(texts.length + 1);
  texts.forEach((text, i) => (starts[i + 1] = (starts[i] as number) + text.length));
  return {
    texts: paddedView(Buffer.concat(texts)),
    starts,
    maxLength: Math.max(...texts.map(({ length }) => length)),
  };
}

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
  const labelOf = (name: string): string => {
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
        const label = labelOf(name);
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

/** Writes values into a line of the kernel. */
export interface ValueWriter {
  /** Writes the JSON of a value. @returns where it ends. */
  value(at: number, value: Value): number;
  /** Renders fields as they stand in a line, each with a comma before it. The bytes may be used until the next call. */
  fields(fields: RecordFields): Uint8Array;
}

const comma = 0x2c;
const scratchBytes = 64 * 1024;
/** The brace and the line feed behind the fields of a line. */
const lineTail = 2;

export function createValueWriter({ bytes: memory, view }: Workspace): ValueWriter {
  const scratch = Buffer.alloc(scratchBytes);
  const lines = new LineBuffer((bytes) => (bytes <= scratch.length ? scratch : Buffer.allocUnsafeSlow(bytes)));

  const text = (at: number, value: string): number => {
    let p = at;
    view.setUint8(p++, quote);
    for (let i = 0; i < value.length; i++) {
      const unit = value.charCodeAt(i);
      if (unit < 0x20 || unit > 0x7e || unit === quote || unit === backslash) {
        return at + memory.write(JSON.stringify(value), at);
      }
      view.setUint8(p++, unit);
    }
    view.setUint8(p++, quote);
    return p;
  };

  const scalar = (at: number, value: Scalar): number => {
    if (typeof value === "string") return text(at, value);
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0)
      return writeSafeInteger(view, at, value);
    if (typeof value === "number" && !Number.isFinite(value)) return writeAscii(view, at, "null");
    return writeAscii(view, at, String(value));
  };

  return {
    value(at, value) {
      if (typeof value !== "object") return scalar(at, value);
      let p = at;
      view.setUint8(p++, 0x5b);
      for (let i = 0; i < value.length; i++) {
        if (i > 0) view.setUint8(p++, comma);
        p = scalar(p, value[i] as Scalar);
      }
      view.setUint8(p++, 0x5d);
      return p;
    },
    fields(fields) {
      if (fields.size === 0) return new Uint8Array();
      lines.append(fields);
      const line = lines.take();
      line[0] = comma;
      return line.subarray(0, line.length - lineTail);
    },
  };
}
