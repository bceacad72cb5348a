import { digits, fourDigits } from "../kernel/kernel.ts";
import type { RecordContext } from "../exporters/plan.ts";
import { LineBuffer, type RecordFields, type Scalar, type Value, type Workspace } from "../../record/index.ts";

// Each writes the JSON of a value at `at` and returns where it ends; up to seven bytes behind may be overwritten. The caller
// has made room. Those that can be asked for what has no value return -1 then, and nothing has happened that counts.

/** @param value a uint32. */
function writeUint32(out: DataView, at: number, value: number): number {
  if (value < 10_000) {
    const chunk = digits[value] as number;
    out.setUint32(at, chunk, true);
    return at + 4 - (Math.clz32(chunk) >>> 3);
  }
  const upper = (value / 10_000) >>> 0;
  const lower = fourDigits[value - upper * 10_000] as number;
  if (upper < 10_000) {
    const chunk = digits[upper] as number;
    out.setUint32(at, chunk, true);
    const end = at + 4 - (Math.clz32(chunk) >>> 3);
    out.setUint32(end, lower, true);
    return end + 4;
  }
  const top = (upper / 10_000) >>> 0;
  const chunk = digits[top] as number;
  out.setUint32(at, chunk, true);
  const end = at + 4 - (Math.clz32(chunk) >>> 3);
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

/** A fragment of JSON that many lines have, ready to be copied. */
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

/** Fragments of JSON by a small number. */
export interface TextTable {
  readonly texts: DataView;
  /** The offset of the text of each number; one more for the end of the last. */
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

const maxNames = 256;
const quote = 0x22;
const backslash = 0x5c;
const minus = 0x2d;

/** The head that the lines of one datagram have in common, written once. */
export class LineHead {
  /** The fields that are written; undefined when nothing that can be used is. */
  fields: HeadFields | undefined;
  length = 0;
  /** The address of the exporter, empty when the fields do not say it. */
  exporter = "";

  readonly #memory: Buffer;
  readonly #at: number;
  readonly #maxLength: number;
  readonly #view: DataView;
  readonly #labels = new Map<string, string>();
  /** The fields that were written last, where the value of each begins, and where it ends: heads of one exporter differ in few of them. */
  #written: HeadFields = [];
  /** The position of the exporter's address in it, -1 when it has none. */
  #exporterAt = -1;
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  /** The text that was written last, and its offset: a head may have the same time in several fields. */
  #lastText: string | undefined;
  #lastStart = 0;
  #lastEnd = 0;

  /**
   * @param memory where it is written, from `at` on.
   * @param maxLength bytes; heads have some ten short fields.
   */
  constructor(memory: Buffer, at: number, maxLength: number) {
    this.#memory = memory;
    this.#at = at;
    this.#maxLength = maxLength;
    this.#view = new DataView(memory.buffer, memory.byteOffset + at, maxLength + 8);
  }

  /** Takes the head of the records that follow. @returns whether their lines can begin with it. */
  use(fields: HeadFields): boolean {
    this.fields = this.#write(fields) ? fields : undefined;
    return this.fields !== undefined;
  }

  #write(fields: HeadFields): boolean {
    const before = this.#written;
    const view = this.#view;
    const ends = this.#ends;
    this.#written = [];
    this.#lastText = undefined;
    let isMoved = false;
    let end = 0;
    if (this.#exporterAt >= fields.length) this.#exporterAt = -1;
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
        this.#exporterAt = i;
        this.exporter = typeof value === "string" ? value : "";
      } else if (i === this.#exporterAt) this.#exporterAt = -1;
      if (last !== undefined && last[0] === name && last[1] === value) {
        end = fieldEnd;
        continue;
      }
      // Values are written by whole words, beyond their end: what stays there is put back.
      const isFollowed = fieldEnd >= 0;
      const behind = isFollowed ? view.getInt32(fieldEnd) : 0;
      const more = isFollowed ? view.getInt32(fieldEnd + 4) : 0;
      if (last === undefined || last[0] !== name) {
        const label = this.#labelOf(name);
        if (end + 3 * label.length > this.#maxLength) return false;
        this.#starts[i] = this.#writeText(end, label);
      }
      end = this.#writeValue(this.#starts[i] as number, value);
      if (end < 0) return false;
      isMoved ||= end !== fieldEnd;
      if (!isMoved) {
        view.setInt32(end, behind);
        view.setInt32(end + 4, more);
      }
      ends[i] = end;
    }
    if (this.#exporterAt < 0) this.exporter = "";
    if (end === 0) return false;
    view.setUint8(0, 0x7b);
    this.length = end;
    this.#written = fields;
    return true;
  }

  /** @returns `,"name":` */
  #labelOf(name: string): string {
    const known = this.#labels.get(name);
    if (known !== undefined) return known;
    if (this.#labels.size >= maxNames) this.#labels.clear();
    const text = `,${JSON.stringify(name)}:`;
    this.#labels.set(name, text);
    return text;
  }

  #writeText(end: number, text: string): number {
    for (let i = 0; i < text.length; i++) {
      if (text.charCodeAt(i) > 0x7e) return end + this.#memory.write(text, this.#at + end);
    }
    return writeAscii(this.#view, end, text);
  }

  /** @returns where the value ends; -1 when it is none that can be written. */
  #writeValue(start: number, value: Value): number {
    if (typeof value === "string") {
      if (start + 6 * value.length + 2 > this.#maxLength) return -1;
      if (value === this.#lastText) {
        return copyText(this.#view, start, this.#view, this.#lastStart, this.#lastEnd - this.#lastStart);
      }
      this.#lastText = value;
      this.#lastStart = start;
      const end = writeQuoted(this.#view, start, value);
      this.#lastEnd = end < 0 ? this.#writeText(start, JSON.stringify(value)) : end;
      return this.#lastEnd;
    }
    if (typeof value !== "number" || !Number.isSafeInteger(value) || start + 20 > this.#maxLength) return -1;
    if (value >= 0) return writeSafeInteger(this.#view, start, value);
    this.#view.setUint8(start, minus);
    return writeSafeInteger(this.#view, start + 1, -value);
  }
}

/** Writes a string with its quotes. @returns where it ends; -1 when it has to be escaped, or is no ASCII. */
function writeQuoted(view: DataView, at: number, text: string): number {
  let end = at;
  view.setUint8(end++, quote);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x20 || unit > 0x7e || unit === quote || unit === backslash) return -1;
    view.setUint8(end++, unit);
  }
  view.setUint8(end++, quote);
  return end;
}

const comma = 0x2c;
const scratchBytes = 64 * 1024;
/** The brace and the line feed behind the fields of a line. */
const lineTail = 2;

/** Writes values into a line of the kernel. */
export class ValueWriter {
  readonly #memory: Buffer;
  readonly #view: DataView;
  readonly #lines: LineBuffer;

  constructor({ bytes, view }: Workspace) {
    this.#memory = bytes;
    this.#view = view;
    const scratch = Buffer.alloc(scratchBytes);
    this.#lines = new LineBuffer((size) => (size <= scratch.length ? scratch : Buffer.allocUnsafeSlow(size)));
  }

  /** Writes the JSON of a value. @returns where it ends. */
  value(at: number, value: Value): number {
    if (typeof value !== "object") return this.#scalar(at, value);
    const view = this.#view;
    let p = at;
    view.setUint8(p++, 0x5b);
    for (let i = 0; i < value.length; i++) {
      if (i > 0) view.setUint8(p++, comma);
      p = this.#scalar(p, value[i] as Scalar);
    }
    view.setUint8(p++, 0x5d);
    return p;
  }

  /** Renders fields as they stand in a line, each with a comma before it. The bytes may be used until the next call. */
  fields(fields: RecordFields): Uint8Array {
    if (fields.size === 0) return new Uint8Array();
    this.#lines.append(fields);
    const line = this.#lines.take();
    line[0] = comma;
    return line.subarray(0, line.length - lineTail);
  }

  #scalar(at: number, value: Scalar): number {
    const view = this.#view;
    if (typeof value === "string") {
      const end = writeQuoted(view, at, value);
      return end < 0 ? at + this.#memory.write(JSON.stringify(value), at) : end;
    }
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) {
      return writeSafeInteger(view, at, value);
    }
    if (typeof value === "number" && !Number.isFinite(value)) return writeAscii(view, at, "null");
    return writeAscii(view, at, String(value));
  }
}
