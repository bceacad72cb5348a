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

/** Returns the bytes that start a field: `"name":`. */
export function fieldKey(name: string): Buffer {
  return Buffer.from(`${JSON.stringify(name)}:`);
}

/**
 * Finds the start of a field's value in the line at `from` … `to`; -1: the line does not have the field.
 *
 * @param key of {@link fieldKey}.
 */
export function findValue(line: Buffer, from: number, to: number, key: Buffer): number {
  // Limit the search to the line: thousands of lines follow in the same memory.
  const at = findIn(line.subarray(from, to), key);
  return at < 0 ? -1 : from + at;
}

/** Finds the start of a field's value in a line, or in the beginning of one, that fills a buffer; -1: it does not have the field. */
export function findIn(line: Buffer, key: Buffer): number {
  for (let at = line.indexOf(key); at >= 0; at = line.indexOf(key, at + 1)) {
    if (beginsField(line, 0, at)) return at + key.length;
  }
  return -1;
}

/** Finds the start of a field's value in the line at `from` … `to`; -1: the line does not have the field. */
type FieldFinder = (line: Buffer, from: number, to: number) => number;

/** Returns a finder of a field, like {@link findValue}. It tries the offset of the previous line first, which is right for most lines. */
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

/** Reports whether the name of a field of the line at `from` … `to` stands at `at`. */
export function isFieldAt(line: Buffer, from: number, at: number, to: number, key: Buffer): boolean {
  if (at + key.length > to || !beginsField(line, from, at)) return false;
  for (let i = 0; i < key.length; i++) if (line[at + i] !== key[i]) return false;
  return true;
}

/**
 * Makes a {@link FieldFinder} for short ranges (Boyer-Moore-Horspool). The engine's search builds its table for each call, so it takes
 * five times as long for the head of a line.
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

/** Finds the end of the value that starts at `from`: the offset of the comma or brace after it. */
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

/** Returns the offset of the quote that ends a text, whose first quote is at `at`. */
function endOfText(line: Uint8Array, from: number, to: number): number {
  for (let at = from + 1; at < to; at++) {
    if (line[at] === backslash) at++;
    else if (line[at] === quote) return at;
  }
  return to;
}

const timestampKey = fieldKey("@timestamp");

/** Returns a line's `@timestamp` in milliseconds since the epoch; 0: it has none that can be read. */
type TimeOf = (line: Buffer, from: number, to: number) => number;

/** Returns a reader of times. It keeps the last one, because consecutive lines often have the same time. */
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

/** Finds the start of the key of the line at `from` … `to`, after the quote of a text; -1: the line has none. */
export type KeyFinder = (line: Buffer, from: number, to: number) => number;

/** Returns a finder of the key of a line: the value of the first of these fields that the line has. */
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

/** Finds the end of the key that starts at `at`. */
export function endOfKey(line: Buffer, at: number, to: number): number {
  return line[at - 1] === quote ? endOfText(line, at - 1, to) : endOfValue(line, at, to);
}

const exporterTypeName = ecsName("flow.export.type");
const typeName = "flow.record.type";
const exporterName = "flow.export.ip.addr";
/** The fields that determine the type of a record. */
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
/** The number of bytes that hold the fields of the head. */
const headBytes = 512;

/** The offset of the exporter in most lines: after `{"@timestamp":"2026-01-01T00:00:00.000Z",`. */
const exporterAt = 42;

/**
 * Returns the type of a record by its head: `telemetry` for counters and SNMP, `flow_option` for what exporters report about
 * themselves, else `flow`.
 */
export function recordTypeOf(line: Buffer, from: number, to: number): RecordType {
  const end = Math.min(to, from + headBytes);
  // With the names of ECS the exporter is a host, as a device is; only exporters have a type.
  const at = findType(line, from, end);
  // A rollup may combine any exporters.
  if (at >= 0 && line[at + 1] === rollupLetter) return "flow";
  const isOfExporter =
    isFieldAt(line, from, from + exporterAt, end, exporterKey) ||
    findExporter(line, from, end) >= 0 ||
    findExporterType(line, from, end) >= 0;
  if (!isOfExporter) return "telemetry";
  if (at < 0) return "flow";
  // The first letter of the type: options, counters, discard (a packet, as of a flow), sample (of an unknown format).
  return typesByLetter.get(line[at + 1] ?? 0) ?? "flow";
}

/**
 * Reports whether all rows are flows, as {@link recordTypeOf} would find for their lines. Returns false if one of the three columns
 * is missing, because the type is then unknown.
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
 * Returns a function that builds the labels of a line as a JSON object of texts: `{"service_name":"netgloss","record_type":"flow",…}`.
 * It includes each chosen field that the line has, with underscores in its name.
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

/** Returns a field's name as a label: letters, digits and underscores. */
function labelName(field: string): string {
  return field.replaceAll(/[^a-zA-Z0-9_]/g, "_").replace(/^(?=[0-9])/, "_");
}

/** Returns the name that a field of records has in the lines of an output. */
export type NameOf = (field: string) => string;

/** Returns the names for an output. @param isEcs true if the lines have the names of the Elastic Common Schema. */
export function fieldNames(isEcs: boolean): NameOf {
  return isEcs ? ecsName : (field) => field;
}

/** The number of bytes up to which a loop is quicker: a call of the engine takes as long as fifty bytes. */
const fewBytes = 48;

/** Writes the body of a request into memory that grows. */
export class BodyWriter {
  #out: Buffer;
  #at = 0;

  /** @param sizeHint the approximate length of the body, bytes. */
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

  /** Writes bytes of JSON as a JSON string, in quotes and with quotes escaped. They have no control characters. */
  quoted(source: Buffer, from: number, to: number): void {
    // JSON in lines escapes only quotes and backslashes among ASCII characters.
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

  /** Returns the body. The writer must not be used afterwards. */
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
