import { fieldStart, type RecordFields, type RenderedFields, type Value } from "./record-fields.ts";

/**
 * Copies bytes between two buffers that do not overlap.
 *
 * Lines lie in memory shared with other threads. From there the engine copies one byte at a time, unless source and target have the same
 * alignment: `Buffer.copy` and `set` take ten times as long as from other memory. `fill` is one call of the system's copy.
 *
 * @returns the offset in `to` behind the copy.
 */
export function copyLines(from: Uint8Array, start: number, end: number, to: Buffer, at: number): number {
  if (start === end) return at;
  to.fill(from.subarray(start, end), at, at + end - start);
  return at + end - start;
}

/** Number of bytes below which a loop is faster than a call of the engine. */
export const fewBytes = 384;

/**
 * Copies bytes between two arrays that do not overlap, four at a time.
 *
 * @param to has room for three bytes more than are copied, because they may be overwritten.
 * @returns the offset in `to` behind the copy.
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
 * Removes or changes lines.
 *
 * @param lines whole lines of `count` records, each with its line feed; they are not modified.
 * @returns lines in memory of their own, or the same memory if nothing changed; undefined if no line is left.
 */
export type ShapeLines = (
  lines: Uint8Array,
  count: number,
) => { readonly lines: Uint8Array; readonly count: number } | undefined;

/**
 * Size in bytes of the slab that chunks of lines share. A reference to one chunk keeps the whole slab alive, so the slab is small.
 * A longer chunk gets a slab of its own.
 */
const slabSize = 256 * 1024;

/** Maximum number of names to remember. Names also come from the network (enterprise elements), so their number needs a limit. */
const maxNames = 16_384;

/** Maximum number of leading fields to compare with those of the previous line. */
const maxPrefix = 16;

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;

/** Allocates at least `bytes` of memory for lines. It is called again only when that memory is full. */
export type AllocateSlab = (bytes: number) => Buffer;

const allocateOwn: AllocateSlab = (bytes) => Buffer.allocUnsafeSlow(bytes);

/** Reports whether to keep the line from `start` up to `end`. */
export type AcceptLine = (bytes: Buffer, start: number, end: number) => boolean;

/** The destination of rendered records. */
export interface Sink {
  /**
   * Takes whole NDJSON lines (each ends in a line feed) holding `count` records. The sink owns the bytes from then on.
   * Never waits and never throws: the sink drops and counts the lines that a slow or broken output cannot take.
   */
  write(lines: Uint8Array, count: number): void;
  /**
   * Takes leased lines: the bytes do not change until the sink calls `done`, once. A sink without this method gets a copy.
   */
  lease?(lines: Uint8Array, count: number, done: () => void): void;
}

/** Leases lines to a sink, or copies them for a sink that takes no leases. */
export function leaseLines(sink: Sink, lines: Uint8Array, count: number, done: () => void): void {
  if (sink.lease !== undefined) sink.lease(lines, count, done);
  else {
    sink.write(new Uint8Array(lines), count);
    done();
  }
}

/** Renders records as NDJSON into memory and hands the bytes over in chunks. */
export class LineBuffer {
  /** The memory that lines are written to. `open` and `append` may replace it. */
  view: DataView;
  /** The bytes of {@link view}. */
  bytes: Buffer;
  /** Records appended since the last `take`. */
  count = 0;
  /** Bytes of these records. */
  byteLength = 0;
  readonly #allocate: AllocateSlab;
  readonly #accept: AcceptLine | undefined;
  readonly #names = new Map<string, Uint8Array>();
  #start = 0;
  #end = 0;
  /**
   * The leading fields that all lines of this chunk share so far, and their ends. Records of one datagram share the fields of its
   * header.
   */
  readonly #prefix: { readonly name: string; readonly value: Value; readonly end: number }[] = [];
  #isFirst = true;
  #isInPrefix = false;
  /** The position in the prefix of the next field. */
  #position = 0;

  /**
   * @param allocate allocates memory, such as memory that another thread reads.
   * @param accept judges each appended line; by default all are kept.
   */
  constructor(allocate: AllocateSlab = allocateOwn, accept?: AcceptLine) {
    this.#allocate = allocate;
    this.#accept = accept;
    this.bytes = allocate(slabSize);
    this.view = viewOf(this.bytes);
  }

  /**
   * Adds one line: a flat JSON object (RFC 8259, UTF-8) and a line feed. Fields keep their order. Numbers are written
   * with all their digits, doubles in the shortest form that reads back the same. NaN and the infinities, which JSON
   * lacks, become null. A lone surrogate is written as its `\u` escape. The only line feed is the last byte.
   *
   * A line that `accept` rejects is removed again.
   *
   * @param rendered further fields, written behind those of the record; their names differ from the record's.
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
   * Makes room for one line of at most this many bytes. The caller writes it into {@link view} from the returned offset on.
   * The line counts only after {@link close}. Bytes behind it may be overwritten.
   */
  open(bytes: number): number {
    this.#reserve(bytes);
    return this.#end;
  }

  /**
   * Adds the lines that were written since `open`. The last one, with its line feed, ends before `end`.
   *
   * @param lines the number of lines; 1 by default.
   */
  close(end: number, lines = 1): void {
    this.#end = end;
    this.count += lines;
    this.byteLength = end - this.#start;
  }

  /** Changes the lines appended since the last `take`. */
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

  /** Returns the lines appended since the last call. Their memory is not written to again. */
  take(): Uint8Array {
    const taken = this.bytes.subarray(this.#start, this.#end);
    this.#start = this.#end;
    this.count = 0;
    this.byteLength = 0;
    // Setting a length calls the engine even if nothing changes.
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

  /** Copies the prefix of the line from the first line of the chunk. Later lines share no more than that with it. */
  #leavePrefix(): void {
    this.#isInPrefix = false;
    this.#prefix.length = this.#position;
    const length = this.#prefix[this.#position - 1]?.end ?? 0;
    this.#reserve(length);
    this.bytes.copyWithin(this.#end, this.#start, this.#start + length);
    this.#end += length;
  }

  /** Returns the bytes of `,"name":`. */
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
    // A UTF-16 unit becomes at most three bytes.
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

/** Returns a view that reads and writes numbers in the same memory. */
export function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length);
}

/** Returns the number of decimal digits of a uint32. */
function decimalDigits(value: number): number {
  if (value < 100_000) {
    if (value < 100) return value < 10 ? 1 : 2;
    return value < 1000 ? 3 : value < 10_000 ? 4 : 5;
  }
  if (value < 10_000_000) return value < 1_000_000 ? 6 : 7;
  return value < 100_000_000 ? 8 : value < 1_000_000_000 ? 9 : 10;
}
