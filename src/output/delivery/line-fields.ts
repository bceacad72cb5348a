import { copyLines, ecsName, type ColumnBatch } from "../../record/index.ts";
import type { RecordType } from "./settings.ts";

/**
 * Fields of lines as the collector writes them: one flat object, no blanks between its parts. A quote within a text is
 * escaped, so `,"name":` cannot be part of a text.
 */

const quote = 0x22;
const comma = 0x2c;
const brace = 0x7b;
const backslash = 0x5c;

/** The bytes by which a field is found: `"name":`. */
export function fieldKey(name: string): Buffer {
  return Buffer.from(`${JSON.stringify(name)}:`);
}

/**
 * Finds where the value of a field begins in the line at `from` … `to`; -1 where it has none.
 *
 * @param key of {@link fieldKey}.
 */
export function findValue(line: Buffer, from: number, to: number, key: Buffer): number {
  // A search for what a line has not must end with the line: thousands follow it in the same memory.
  const at = findIn(line.subarray(from, to), key);
  return at < 0 ? -1 : from + at;
}

/** Finds where the value of a field begins in a line, or the beginning of one, that is all of a buffer; -1 where it has none. */
export function findIn(line: Buffer, key: Buffer): number {
  for (let at = line.indexOf(key); at >= 0; at = line.indexOf(key, at + 1)) {
    if (beginsField(line, 0, at)) return at + key.length;
  }
  return -1;
}

/** Finds where the value of a field begins in the line at `from` … `to`; -1 where it has none. */
type FieldFinder = (line: Buffer, from: number, to: number) => number;

/** Finds a field as {@link findValue} does. Most lines have it where the one before had it: there it looks first. */
function createFieldFinder(name: string): FieldFinder {
  const key = fieldKey(name);
  let last = 0;
  return (line, from, to) => {
    if (isFieldAt(line, from, from + last, to, key)) return from + last + key.length;
    const at = findValue(line, from, to, key);
    if (at >= 0) last = at - key.length - from;
    return at;
  };
}

/** Tells whether the name of a field of the line at `from` … `to` stands at `at`. */
export function isFieldAt(line: Buffer, from: number, at: number, to: number, key: Buffer): boolean {
  if (at + key.length > to || !beginsField(line, from, at)) return false;
  for (let i = 0; i < key.length; i++) if (line[at + i] !== key[i]) return false;
  return true;
}

/**
 * Makes a {@link FieldFinder} for short stretches (Boyer, Moore, Horspool). The engine's search, which makes its table anew for each call, takes
 * five times as long as the head of a line.
 */
function createHeadFinder(name: string): FieldFinder {
  const key = fieldKey(name);
  const last = key.length - 1;
  const skips = new Uint8Array(256).fill(key.length);
  for (let i = 0; i < last; i++) skips[key[i] as number] = last - i;
  return (line, from, to) => {
    for (let at = from; at + last < to; at += skips[line[at + last] as number] as number)
      if (line[at + last] === key[last] && isFieldAt(line, from, at, to, key)) return at + key.length;
    return -1;
  };
}

function beginsField(line: Buffer, from: number, at: number): boolean {
  return at > from && (line[at - 1] === comma || (line[at - 1] === brace && at === from + 1));
}

/** Finds where a value ends that begins at `from`: the offset of the comma or brace behind it. */
export function endOfValue(line: Uint8Array, from: number, to: number): number {
  let depth = 0;
  for (let at = from; at < to; at++) {
    const byte = line[at];
    if (byte === quote) at = endOfText(line, at, to);
    else if (byte === brace || byte === 0x5b) depth++;
    else if (byte === comma && depth === 0) return at;
    else if ((byte === 0x7d || byte === 0x5d) && depth-- === 0) return at;
  }
  return to;
}

/** The offset of the quote that ends a text, whose first quote is at `at`. */
function endOfText(line: Uint8Array, from: number, to: number): number {
  for (let at = from + 1; at < to; at++) {
    if (line[at] === backslash) at++;
    else if (line[at] === quote) return at;
  }
  return to;
}

const timestampKey = fieldKey("@timestamp");

/** Milliseconds since the epoch of a line's `@timestamp`; 0: it has none that can be read. */
type TimeOf = (line: Buffer, from: number, to: number) => number;

/** Lines of one time follow each other, so the last one is kept. */
export function createTimeOf(): TimeOf {
  let lastText = "";
  let lastTime = 0;
  return (line, from, to) => {
    const at = findValue(line, from, to, timestampKey);
    if (at < 0) return 0;
    const text = line.toString("latin1", at + 1, Math.min(to, line.indexOf(0x22, at + 1)));
    if (text !== lastText) {
      lastText = text;
      lastTime = Date.parse(text) || 0;
    }
    return lastTime;
  };
}

/** Finds where the key of the line at `from` … `to` begins, behind the quote of a text; -1: the line has none. */
export type KeyFinder = (line: Buffer, from: number, to: number) => number;

/** Makes the function that finds the key of a line: the value of the first of these fields that the line has. */
export function createKeyFinder(fields: readonly string[]): KeyFinder {
  const finders = fields.map(createFieldFinder);
  return (line, from, to) => {
    for (const find of finders) {
      const at = find(line, from, to);
      if (at >= 0) return line[at] === quote ? at + 1 : at;
    }
    return -1;
  };
}

/** Finds where a key ends that begins at `at`. */
export function endOfKey(line: Buffer, at: number, to: number): number {
  return line[at - 1] === quote ? endOfText(line, at - 1, to) : endOfValue(line, at, to);
}

const exporterTypeName = ecsName("flow.export.type");
const typeName = "flow.record.type";
const exporterName = "flow.export.ip.addr";
/** The fields that say of what type a record is. */
export const typeFields = [typeName, exporterName, exporterTypeName] as const;
const findType = createHeadFinder(typeName);
const findExporter = createHeadFinder(exporterName);
const findExporterType = createHeadFinder(exporterTypeName);
const exporterKey = fieldKey(exporterName);
const typesByLetter: ReadonlyMap<number, RecordType> = new Map([
  [0x6f, "flow_option"],
  [0x63, "telemetry"],
  [0x73, "telemetry"],
]);
const rollupLetter = 0x72;
/** Fields of the head stand within this many bytes. */
const headBytes = 512;

/** The offset of the exporter in most lines: behind `{"@timestamp":"2026-01-01T00:00:00.000Z",`. */
const exporterAt = 42;

/**
 * The type of a record by its head: `telemetry` for counters and SNMP, `flow_option` for what exporters report about
 * themselves, else `flow`.
 */
export function recordTypeOf(line: Buffer, from: number, to: number): RecordType {
  const end = Math.min(to, from + headBytes);
  // With the names of ECS the exporter is a host, as a device is; only exporters have a type.
  const at = findType(line, from, end);
  // A rollup is of any exporters.
  if (at >= 0 && line[at + 1] === rollupLetter) return "flow";
  const isOfExporter =
    isFieldAt(line, from, from + exporterAt, end, exporterKey) ||
    findExporter(line, from, end) >= 0 ||
    findExporterType(line, from, end) >= 0;
  if (!isOfExporter) return "telemetry";
  if (at < 0) return "flow";
  // Behind a quote: options, counters, discard (a packet, as of a flow), sample (of a format that is not known).
  return typesByLetter.get(line[at + 1] ?? 0) ?? "flow";
}

/**
 * Tells whether all rows are flows, as {@link recordTypeOf} would of their lines. False where that cannot be told, because a column of
 * the three is not there.
 */
export function areFlows({ rows, columns }: ColumnBatch): boolean {
  let [hasType, isOfExporter] = [true, false];
  for (const { column, count } of columns) {
    if (column.field === typeName) hasType = count > 0;
    else if (column.field === exporterName || column.field === exporterTypeName) isOfExporter ||= count === rows;
  }
  return isOfExporter && !hasType;
}

/**
 * Makes the labels of a line as a JSON object of texts: `{"service_name":"netgloss","record_type":"flow",…}`, and each chosen
 * field that the line has, with underscores in its name.
 */
export function createLabelsOf(fields: readonly string[]): (line: Buffer, from: number, to: number) => string {
  const chosen = fields.map((field) => ({ name: labelName(field), key: fieldKey(field) }));
  return (line, from, to) => {
    let labels = `{"service_name":"netgloss","record_type":"${recordTypeOf(line, from, to)}"`;
    for (const { name, key } of chosen) {
      const value = findValue(line, from, to, key);
      if (value < 0) continue;
      const text = line.toString("utf8", value, endOfValue(line, value, to));
      labels += `,"${name}":${text.startsWith('"') ? text : JSON.stringify(text)}`;
    }
    return `${labels}}`;
  };
}

/** Labels have letters, digits and underscores. */
function labelName(field: string): string {
  return field.replaceAll(/[^a-zA-Z0-9_]/g, "_").replace(/^(?=[0-9])/, "_");
}

/** The name under which a field of records is in the lines of an output. */
export type NameOf = (field: string) => string;

/** @param isEcs whether the lines have the names of the Elastic Common Schema. */
export function fieldNames(isEcs: boolean): NameOf {
  return isEcs ? ecsName : (field) => field;
}

/** So few bytes are written by a loop: a call of the engine takes as long as fifty of them. */
const fewBytes = 48;

/** Writes the body of a request into memory that grows. */
export class BodyWriter {
  #out: Buffer;
  #at = 0;

  /** @param sizeHint about how long the body will be, bytes. */
  constructor(sizeHint: number) {
    this.#out = Buffer.allocUnsafeSlow(sizeHint);
  }

  /** Writes text as UTF-8. */
  text(text: string): void {
    const out = this.#reserve(3 * text.length);
    const start = this.#at;
    if (text.length <= fewBytes) {
      let i = 0;
      for (; i < text.length; i++) {
        const code = text.charCodeAt(i);
        if (code > 0x7f) break;
        out[start + i] = code;
      }
      if (i === text.length) {
        this.#at = start + i;
        return;
      }
    }
    this.#at = start + out.write(text, start);
  }

  /** Copies bytes as they are. */
  bytes(source: Buffer, from: number, to: number): void {
    const out = this.#reserve(to - from);
    if (to - from > fewBytes) {
      this.#at = copyLines(source, from, to, out, this.#at);
      return;
    }
    const by = this.#at - from;
    for (let i = from; i < to; i++) out[i + by] = source[i] as number;
    this.#at = to + by;
  }

  /** Writes bytes of JSON as a JSON string: in quotes, with those in it escaped. They have no control characters. */
  quoted(source: Buffer, from: number, to: number): void {
    // JSON escapes only quotes and backslashes of the ASCII that is in lines.
    const out = this.#reserve(2 * (to - from) + 2);
    let end = this.#at;
    out[end++] = quote;
    for (let i = from; i < to; i++) {
      const byte = source[i] as number;
      if (byte === quote || byte === backslash) out[end++] = backslash;
      out[end++] = byte;
    }
    out[end++] = quote;
    this.#at = end;
  }

  /** Returns what was written; nothing is written after. */
  body(): Uint8Array {
    return this.#out.subarray(0, this.#at);
  }

  #reserve(length: number): Buffer {
    if (this.#at + length > this.#out.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#out.length, this.#at + length));
      this.#out.copy(larger, 0, 0, this.#at);
      this.#out = larger;
    }
    return this.#out;
  }
}
