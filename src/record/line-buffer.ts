import { fieldStart, type RecordFields, type RenderedFields, type Value } from "./record-fields.ts";

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
export const fewBytes = 384;

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

/**
 * Leaves lines out, or changes them.
 *
 * @param lines whole lines, each with its line feed, of `count` records; they stay as they are.
 * @returns lines in memory of their own, or the same where nothing is changed; undefined when none is left.
 */
export type ShapeLines = (
  lines: Uint8Array,
  count: number,
) => { readonly lines: Uint8Array; readonly count: number } | undefined;

/**
 * Lines that are taken share a slab of this size. Whoever keeps one keeps the whole slab alive, so it is small; a longer
 * chunk gets a slab of its own.
 */
const slabSize = 256 * 1024;

/** Names come from the network too (enterprise elements), so the number remembered is limited. */
const maxNames = 16_384;

/** Most fields at the beginning that are compared with those of the line before. */
const maxPrefix = 16;

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;

/** Gives memory for lines: `bytes` of it or more. It is asked again only when what it gave is full. */
export type AllocateSlab = (bytes: number) => Buffer;

const allocateOwn: AllocateSlab = (bytes) => Buffer.allocUnsafeSlow(bytes);

/** Tells whether a line is wanted that lies from `start` up to `end`. */
export type AcceptLine = (bytes: Buffer, start: number, end: number) => boolean;

/** The destination of rendered records. */
export interface Sink {
  /**
   * Takes whole NDJSON lines (each ends in a line feed) holding `count` records; the bytes are the sink's from then
   * on. Never waits and never throws: what a slow or broken output cannot take is dropped and counted by the sink.
   */
  write(lines: Uint8Array, count: number): void;
  /**
   * The same for bytes that are leased: they stay as they are until `done` is called, once. A sink without it is given a copy.
   */
  lease?(lines: Uint8Array, count: number, done: () => void): void;
}

/** Leases lines to a sink; one that takes no leases gets a copy. */
export function leaseLines(sink: Sink, lines: Uint8Array, count: number, done: () => void): void {
  if (sink.lease !== undefined) sink.lease(lines, count, done);
  else {
    sink.write(new Uint8Array(lines), count);
    done();
  }
}

/** Renders records as NDJSON into memory and hands the bytes over in chunks. */
export class LineBuffer {
  /** The memory that lines are written to. Another one after `open` or `append`. */
  view: DataView;
  /** The same bytes. */
  bytes: Buffer;
  /** Records appended since the last `take`. */
  count = 0;
  /** Their bytes. */
  byteLength = 0;
  readonly #allocate: AllocateSlab;
  readonly #accept: AcceptLine | undefined;
  readonly #names = new Map<string, Uint8Array>();
  #start = 0;
  #end = 0;
  /**
   * The fields with which all lines of this chunk have begun so far, and their ends: records of one datagram share what its header
   * says.
   */
  readonly #prefix: { readonly name: string; readonly value: Value; readonly end: number }[] = [];
  #isFirst = true;
  #isInPrefix = false;
  /** In the prefix, of the field that is next. */
  #position = 0;

  /**
   * @param allocate where lines lie that another thread is to read.
   * @param accept judges each line that is appended; left out: all are wanted.
   */
  constructor(allocate: AllocateSlab = allocateOwn, accept?: AcceptLine) {
    this.#allocate = allocate;
    this.#accept = accept;
    this.bytes = allocate(slabSize);
    this.view = viewOf(this.bytes);
  }

  /**
   * Adds one line, a flat JSON object (RFC 8259, UTF-8) and a line feed. Fields keep their order. Numbers are written
   * with all their digits, doubles in the shortest form that reads back the same; NaN and the infinities, which JSON does
   * not have, as null. A lone surrogate is written as its `\u` escape. No line feed but the last is ever written.
   *
   * A line that is not wanted is taken back.
   *
   * @param rendered further fields, which stand behind those of the record and have other names.
   */
  append(record: RecordFields, rendered: readonly RenderedFields[] = []): void {
    const line = this.#end - this.#start;
    this.#isFirst = line === 0;
    this.#isInPrefix = !this.#isFirst;
    this.#position = 0;
    // Faster than for…of, which makes a pair for each field.
    record.forEach(this.#putField);
    if (this.#isInPrefix) this.#leavePrefix();
    for (const fields of rendered) this.#putBytes(fields);
    this.#reserve(3);
    const start = this.#start + line;
    // The first name's comma gives its place to the brace.
    if (this.#end === start) this.#end++;
    this.bytes[start] = 0x7b;
    this.bytes[this.#end++] = 0x7d;
    this.bytes[this.#end++] = 0x0a;
    if (this.#accept?.(this.bytes, start, this.#end) === false) {
      this.#end = start;
      if (this.#isFirst) this.#prefix.length = 0;
    } else this.count++;
    this.byteLength = this.#end - this.#start;
  }

  /**
   * Makes room for one line of at most this many bytes, to be written by the caller into {@link view} from the
   * returned offset on. Nothing has happened until {@link close}; bytes behind it may be overwritten.
   */
  open(bytes: number): number {
    this.#reserve(bytes);
    return this.#end;
  }

  /**
   * Adds the lines that were written since `open`; the last ends before `end`, with its line feed.
   *
   * @param lines how many there are. Default: one.
   */
  close(end: number, lines = 1): void {
    this.#end = end;
    this.count += lines;
    this.byteLength = end - this.#start;
  }

  /** Changes what was appended since the last `take`. */
  shape(shape: ShapeLines): void {
    const given = this.bytes.subarray(this.#start, this.#end);
    const shaped = shape(given, this.count);
    if (shaped?.lines === given) return;
    const length = shaped?.lines.length ?? 0;
    this.#end = this.#start;
    this.#reserve(length);
    if (shaped !== undefined) copyLines(shaped.lines, 0, length, this.bytes, this.#start);
    this.#end = this.#start + length;
    this.count = shaped?.count ?? 0;
    this.byteLength = length;
    this.#prefix.length = 0;
  }

  /** Gives away what was appended since the last call, for good: it is not written to again. */
  take(): Uint8Array {
    const taken = this.bytes.subarray(this.#start, this.#end);
    this.#start = this.#end;
    this.count = 0;
    this.byteLength = 0;
    // Setting a length is a call of the engine, also where nothing changes.
    if (this.#prefix.length > 0) this.#prefix.length = 0;
    return taken;
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.bytes.length) return;
    const pending = this.bytes.subarray(this.#start, this.#end);
    this.bytes = this.#allocate(Math.max(slabSize, 2 * (pending.length + bytes)));
    this.view = viewOf(this.bytes);
    this.#start = 0;
    this.#end = copyLines(pending, 0, pending.length, this.bytes, 0);
  }

  readonly #putField = (value: Value, name: string): void => {
    const prefix = this.#prefix;
    if (this.#isInPrefix) {
      const field = prefix[this.#position];
      if (field !== undefined && field.name === name && field.value === value) {
        this.#position++;
        return;
      }
      this.#leavePrefix();
    }
    this.#putBytes(this.#nameBytes(name));
    this.#putValue(value);
    if (this.#isFirst && prefix.length < maxPrefix) prefix.push({ name, value, end: this.#end - this.#start });
  };

  /** Copies what the line begins with from the first line of the chunk; later lines have no more in common with it. */
  #leavePrefix(): void {
    this.#isInPrefix = false;
    this.#prefix.length = this.#position;
    const length = this.#prefix[this.#position - 1]?.end ?? 0;
    this.#reserve(length);
    this.bytes.copyWithin(this.#end, this.#start, this.#start + length);
    this.#end += length;
  }

  /** Returns `,"name":` in bytes. */
  #nameBytes(name: string): Uint8Array {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const bytes = Buffer.from(fieldStart(name));
    if (this.#names.size >= maxNames) this.#names.clear();
    this.#names.set(name, bytes);
    return bytes;
  }

  #putBytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.bytes.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  #putValue(value: Value): void {
    if (typeof value === "string") this.#putString(value);
    else if (typeof value === "number") this.#putNumber(value);
    else if (typeof value === "object") {
      this.#putByte(0x5b);
      for (let i = 0; i < value.length; i++) {
        if (i > 0) this.#putByte(comma);
        this.#putValue(value[i] as Value);
      }
      this.#putByte(0x5d);
    } else this.#putText(String(value));
  }

  #putByte(byte: number): void {
    this.#reserve(1);
    this.bytes[this.#end++] = byte;
  }

  #putText(text: string): void {
    // No UTF-16 unit becomes more than three bytes.
    this.#reserve(3 * text.length);
    this.#end += this.bytes.write(text, this.#end);
  }

  #putString(text: string): void {
    const { length } = text;
    this.#reserve(length + 2);
    const { bytes } = this;
    let at = this.#end;
    bytes[at++] = quote;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      if (unit < 0x20 || unit > 0x7e || unit === quote || unit === backslash) {
        this.#putText(JSON.stringify(text));
        return;
      }
      bytes[at++] = unit;
    }
    bytes[at++] = quote;
    this.#end = at;
  }

  #putNumber(value: number): void {
    if (value >>> 0 !== value) {
      this.#putText(Number.isFinite(value) ? String(value) : "null");
      return;
    }
    const length = decimalDigits(value);
    this.#reserve(length);
    const { bytes } = this;
    let at = this.#end + length;
    this.#end = at;
    let rest = value;
    for (let i = 0; i < length; i++) {
      const quotient = (rest / 10) >>> 0;
      bytes[--at] = 0x30 + rest - quotient * 10;
      rest = quotient;
    }
  }
}

/** The same memory, to be read and written in whole numbers. */
export function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length);
}

/** Returns how many decimal digits a uint32 has. */
function decimalDigits(value: number): number {
  if (value < 100_000) {
    if (value < 100) return value < 10 ? 1 : 2;
    return value < 1000 ? 3 : value < 10_000 ? 4 : 5;
  }
  if (value < 10_000_000) return value < 1_000_000 ? 6 : 7;
  return value < 100_000_000 ? 8 : value < 1_000_000_000 ? 9 : 10;
}
