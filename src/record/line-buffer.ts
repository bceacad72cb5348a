import type { RecordFields, Value } from "./record-fields.ts";
import type { RenderedFields } from "./record-fields.ts";

/**
 * Copies bytes between two buffers that do not overlap.
 *
 * Lines lie in memory that other threads see. The engine copies from there a byte at a time, unless both ends are aligned
 * alike: `Buffer.copy` and `set` take ten times as long as from other memory. `fill` is one call of the system's copy.
 *
 * @returns where the copy ends.
 */
export function copyLines(from: Uint8Array, start: number, end: number, to: Buffer, at: number): number {
  if (start === end) return at;
  to.fill(from.subarray(start, end), at, at + end - start);
  return at + end - start;
}

/** Below this a loop is quicker than a call of the engine. */
const fewBytes = 192;

/**
 * Copies bytes between two arrays that do not overlap, four at a time.
 *
 * @param to has three bytes more than what is copied: they may be written, too.
 * @returns where the copy ends.
 */
export function copyBytes(from: DataView, start: number, end: number, to: DataView, at: number): number {
  if (end - start > fewBytes || end + 3 > from.byteLength) {
    const source = new Uint8Array(from.buffer, from.byteOffset, from.byteLength);
    return copyLines(source, start, end, Buffer.from(to.buffer, to.byteOffset, to.byteLength), at);
  }
  const by = at - start;
  for (let i = start; i < end; i += 4) to.setInt32(i + by, from.getInt32(i, true), true);
  return end + by;
}

/** Some of the lines of records, perhaps changed. */
export interface ShapedLines {
  readonly lines: Uint8Array;
  readonly count: number;
}

/**
 * Leaves lines out, or changes them.
 *
 * @param lines whole lines, each with its line feed, of `count` records; they stay as they are.
 * @returns lines in memory of their own; undefined when none is left.
 */
export type ShapeLines = (lines: Uint8Array, count: number) => ShapedLines | undefined;

/** Renders records as NDJSON into memory and hands the bytes over in pieces. */
export interface LineBuffer {
  /**
   * Adds one line, a flat JSON object (RFC 8259, UTF-8) and a line feed. Fields keep their order. Numbers are written
   * with all their digits, doubles in the shortest form that reads back the same; NaN and the infinities, which JSON does
   * not have, as null. A lone surrogate is written as its `\u` escape. No line feed but the last is ever written.
   *
   * A line that is not wanted is taken back.
   *
   * @param rendered further fields, which stand behind those of the record and have other names.
   */
  append(record: RecordFields, rendered?: readonly RenderedFields[]): void;
  /**
   * Makes room for one line of at most this many bytes, to be written by the caller into {@link LineBuffer.view} from the
   * returned place on. Nothing has happened until {@link LineBuffer.close}; bytes behind it may be overwritten.
   */
  open(bytes: number): number;
  /**
   * Adds the lines that were written since `open`; the last ends before `end`, with its line feed.
   *
   * @param lines how many there are. Default: one.
   */
  close(end: number, lines?: number): void;
  /** The memory that lines are written to. Another one after `open` or `append`. */
  readonly view: DataView;
  /** The same bytes. */
  readonly bytes: Buffer;
  /** Changes what was appended since the last `take`. */
  shape(shape: ShapeLines): void;
  /** Gives away what was appended since the last call, for good: it is not written to again. */
  take(): Uint8Array;
  /** Records appended since the last `take`. */
  readonly count: number;
  /** Their bytes. */
  readonly byteLength: number;
}

/**
 * Lines that are taken share a slab of this size. Whoever keeps one keeps the whole slab alive, so it is small; a longer
 * piece gets a slab of its own.
 */
const slabSize = 256 * 1024;

/** Names come from the network too (enterprise elements), so the number remembered is limited. */
const maxNames = 16_384;

/** How many fields at the beginning are compared with those of the line before. */
const maxPrefix = 16;

interface PrefixField {
  readonly name: string;
  readonly value: Value;
  /** Where it ends, from the beginning of the piece. */
  readonly end: number;
}

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;

/** Gives memory for lines: `bytes` of it or more. It is asked again only when what it gave is full. */
export type AllocateSlab = (bytes: number) => Buffer;

const allocateOwn: AllocateSlab = (bytes) => Buffer.allocUnsafeSlow(bytes);

/** Whether a line is wanted that lies from `start` up to `end`. */
export type AcceptLine = (bytes: Buffer, start: number, end: number) => boolean;

/**
 * @param allocate where lines lie that another thread is to read.
 * @param accept judges each line that is appended; left out: all are wanted.
 */
export function createLineBuffer(allocate: AllocateSlab = allocateOwn, accept?: AcceptLine): LineBuffer {
  const names = new Map<string, Uint8Array>();
  let slab = allocate(slabSize);
  let start = 0;
  let end = 0;
  /** What all lines of this piece have begun with so far: records of one datagram share what its header says. */
  const prefix: PrefixField[] = [];
  let isFirst = true;
  let isInPrefix = false;
  /** In the prefix, of the field that is next. */
  let position = 0;

  const reserve = (bytes: number): void => {
    if (end + bytes <= slab.length) return;
    const pending = slab.subarray(start, end);
    slab = allocate(Math.max(slabSize, 2 * (pending.length + bytes)));
    buffer.bytes = slab;
    buffer.view = viewOf(slab);
    start = 0;
    end = copyLines(pending, 0, pending.length, slab, 0);
  };

  const putText = (text: string): void => {
    // No UTF-16 unit becomes more than three bytes.
    reserve(3 * text.length);
    end += slab.write(text, end);
  };

  /** `,"name":` in bytes. */
  const nameBytes = (name: string): Uint8Array => {
    const known = names.get(name);
    if (known !== undefined) return known;
    const bytes = Buffer.from(`,${JSON.stringify(name)}:`);
    if (names.size >= maxNames) names.clear();
    names.set(name, bytes);
    return bytes;
  };

  const putString = (text: string): void => {
    const length = text.length;
    reserve(length + 2);
    const bytes = slab;
    let at = end;
    bytes[at++] = quote;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      if (unit < 0x20 || unit > 0x7e || unit === quote || unit === backslash) {
        putText(JSON.stringify(text));
        return;
      }
      bytes[at++] = unit;
    }
    bytes[at++] = quote;
    end = at;
  };

  const putNumber = (value: number): void => {
    if (value >>> 0 !== value) {
      putText(Number.isFinite(value) ? String(value) : "null");
      return;
    }
    const length = decimalDigits(value);
    reserve(length);
    let at = end + length;
    end = at;
    let rest = value;
    for (let i = 0; i < length; i++) {
      const quotient = (rest / 10) >>> 0;
      slab[--at] = 0x30 + rest - quotient * 10;
      rest = quotient;
    }
  };

  const putValue = (value: Value): void => {
    if (typeof value === "string") putString(value);
    else if (typeof value === "number") putNumber(value);
    else if (typeof value === "object") {
      reserve(2);
      slab[end++] = 0x5b;
      for (let i = 0; i < value.length; i++) {
        if (i > 0) {
          reserve(1);
          slab[end++] = comma;
        }
        putValue(value[i] as Value);
      }
      reserve(1);
      slab[end++] = 0x5d;
    } else putText(String(value));
  };

  const putField = (value: Value, name: string): void => {
    if (isInPrefix) {
      const field = prefix[position];
      if (field !== undefined && field.name === name && field.value === value) {
        position++;
        return;
      }
      leavePrefix();
    }
    const bytes = nameBytes(name);
    reserve(bytes.length);
    slab.set(bytes, end);
    end += bytes.length;
    putValue(value);
    if (isFirst && prefix.length < maxPrefix) prefix.push({ name, value, end: end - start });
  };

  /** Copies what the line begins with from the first line of the piece; later lines have no more in common with it. */
  const leavePrefix = (): void => {
    isInPrefix = false;
    prefix.length = position;
    const length = prefix[position - 1]?.end ?? 0;
    reserve(length);
    slab.copyWithin(end, start, start + length);
    end += length;
  };

  // Not with accessors: V8 keeps an object literal that has some as a dictionary, and each call of its functions looks them up.
  const buffer: { -readonly [Key in keyof LineBuffer]: LineBuffer[Key] } = {
    view: viewOf(slab),
    bytes: slab,
    count: 0,
    byteLength: 0,
    append(record, rendered = []) {
      const line = end - start;
      isFirst = line === 0;
      isInPrefix = !isFirst;
      position = 0;
      // Faster than for…of, which makes a pair for each field.
      record.forEach(putField);
      if (isInPrefix) leavePrefix();
      for (const fields of rendered) {
        reserve(fields.length);
        slab.set(fields, end);
        end += fields.length;
      }
      reserve(3);
      // The first name's comma gives its place to the brace.
      if (end === start + line) end++;
      slab[start + line] = 0x7b;
      slab[end++] = 0x7d;
      slab[end++] = 0x0a;
      if (accept?.(slab, start + line, end) === false) {
        end = start + line;
        if (isFirst) prefix.length = 0;
      } else buffer.count++;
      buffer.byteLength = end - start;
    },
    open(bytes) {
      reserve(bytes);
      return end;
    },
    close(lineEnd, lines = 1) {
      end = lineEnd;
      buffer.count += lines;
      buffer.byteLength = end - start;
    },
    shape(shape) {
      const shaped = shape(slab.subarray(start, end), buffer.count);
      const length = shaped?.lines.length ?? 0;
      end = start;
      reserve(length);
      if (shaped !== undefined) copyLines(shaped.lines, 0, length, slab, start);
      end = start + length;
      buffer.count = shaped?.count ?? 0;
      buffer.byteLength = length;
      prefix.length = 0;
    },
    take() {
      const taken = slab.subarray(start, end);
      start = end;
      buffer.count = 0;
      buffer.byteLength = 0;
      // Setting a length is a call of the engine, also where nothing changes.
      if (prefix.length > 0) prefix.length = 0;
      return taken;
    },
  };
  return buffer;
}

function viewOf(slab: Buffer): DataView {
  return new DataView(slab.buffer, slab.byteOffset, slab.length);
}

/** How many decimal digits a uint32 has. */
function decimalDigits(value: number): number {
  if (value < 100_000) {
    if (value < 100) return value < 10 ? 1 : 2;
    return value < 1000 ? 3 : value < 10_000 ? 4 : 5;
  }
  if (value < 10_000_000) return value < 1_000_000 ? 6 : 7;
  return value < 100_000_000 ? 8 : value < 1_000_000_000 ? 9 : 10;
}
