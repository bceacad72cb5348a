import { createHash } from "node:crypto";
import { fieldGroups, type FieldType, type RecordField, LineWalker } from "../../record/index.ts";
import { type NameOf, recordTypeOf } from "../delivery/line-fields.ts";
import type { RecordType } from "../delivery/settings.ts";
import { batchKey, forEachLine, positionOf, type Batch } from "../delivery/batch.ts";
import { BodyWriter } from "../delivery/line-fields.ts";

/** Fields without a column of their own are in this one, by their names. */
export const otherColumn = { name: "other", type: "Map(LowCardinality(String), String)" } as const;

export interface Column {
  /** The name of the record's field. */
  readonly field: string;
  /** A dot in the name of an array would make it part of a nested table, so there are none. */
  readonly name: string;
  readonly fieldType: FieldType;
  readonly isArray: boolean;
  /** In ClickHouse. */
  readonly type: string;
}

/** A table that records of a type go to. */
export interface TableLayout {
  /** The table's name without its prefix. */
  readonly name: "flow" | "flow_option" | "telemetry";
  readonly columns: readonly Column[];
  readonly orderBy: string;
}

/** They are part of the order, so they are never NULL: without a value an address is `::`. */
const keyFields: ReadonlySet<string> = new Set(["@timestamp", "flow.export.ip.addr", "system.ip.addr"]);

const scalarTypes: Readonly<Record<Exclude<FieldType, "keyword">, string>> = {
  ip: "IPv6",
  long: "Int64",
  unsigned_long: "UInt64",
  double: "Float64",
  boolean: "Bool",
  date: "DateTime64(3, 'UTC')",
  date_nanos: "DateTime64(9, 'UTC')",
  geo_point: "LowCardinality(String)",
};

function columnOf({ name, type, isArray, isDistinct }: RecordField, nameOf: NameOf): Column {
  const field = nameOf(name);
  const text = isDistinct ? "String" : "LowCardinality(String)";
  const scalar = type === "keyword" ? text : scalarTypes[type];
  // A text that is absent is empty; zero and "absent" are different numbers.
  const isNullable = !isArray && type !== "keyword" && type !== "geo_point" && !keyFields.has(name);
  return {
    field,
    name: columnName(field),
    fieldType: type,
    isArray,
    type: isArray ? `Array(${scalar})` : isNullable ? `Nullable(${scalar})` : scalar,
  };
}

const { export: ofExport, flow, packet, sflow, counters, enriched, ends, rollup, snmp, mibs } = fieldGroups;
const ofFlows = [
  ofExport,
  flow,
  packet,
  sflow,
  enriched.filter(({ name }) => !name.startsWith("system.")),
  ends,
  rollup,
].flat();
const ofTelemetry = [
  ofExport,
  snmp,
  mibs,
  counters,
  enriched.filter(({ name }) => /^(system|flow\.export)\./.test(name)),
].flat();

/** The fields that stores with tables have columns for, by the name of the table. */
export const tableFields: Readonly<Record<TableLayout["name"], readonly RecordField[]>> = {
  flow: ofFlows,
  flow_option: ofFlows,
  telemetry: ofTelemetry,
};

/** The name of a field's column. */
export function columnName(field: string): string {
  return field.replace("@", "").replaceAll(".", "_");
}

/** Columns of fields; two that have the same name are one. */
function columnsOf(fields: readonly RecordField[], nameOf: NameOf): Column[] {
  const columns = fields.map((field) => columnOf(field, nameOf));
  return columns.filter(({ name }, i) => columns.findIndex((one) => one.name === name) === i);
}

/** The tables; made from the table of record fields. */
export function createLayouts(nameOf: NameOf): readonly TableLayout[] {
  const order = (...fields: string[]): string =>
    [...new Set(["toStartOfHour(timestamp)", ...fields.map((field) => columnName(nameOf(field)))])].join(", ");
  const ofFlow = { columns: columnsOf(ofFlows, nameOf), orderBy: order("flow.export.ip.addr", "@timestamp") };
  return [
    { name: "flow", ...ofFlow },
    { name: "flow_option", ...ofFlow },
    {
      name: "telemetry",
      columns: columnsOf(ofTelemetry, nameOf),
      orderBy: order("system.ip.addr", "flow.export.ip.addr", "@timestamp"),
    },
  ];
}

/** Layouts whose columns have the records' own names. */
const tableLayouts = createLayouts((field) => field);

/** The columns of the table of flows, by the names of their fields. */
export function clickHouseColumns(): ReadonlyMap<string, Column> {
  const [flows] = tableLayouts;
  return new Map(flows?.columns.map((column) => [column.field, column]));
}

/** The table that records of a type go to, as an index of the layouts. */
const tableOfType: Readonly<Record<RecordType, number>> = {
  flow: 0,
  flow_option: 1,
  telemetry: 2,
  as_path_hop: 0,
};

/** Patterns of the types of ClickHouse that take values of a field as JSON has them: how they begin. */
const holders: Readonly<Record<FieldType, RegExp>> = {
  keyword: /^(String|FixedString)/,
  geo_point: /^(String|FixedString)/,
  ip: /^(IPv6|IPv4|String)/,
  long: /^(U?Int|Float|Decimal|String)/,
  unsigned_long: /^(U?Int|Float|Decimal|String)/,
  double: /^(U?Int|Float|Decimal|String)/,
  boolean: /^(Bool|U?Int|String)/,
  date: /^(DateTime|String)/,
  date_nanos: /^(DateTime|String)/,
};

/** Tells whether a column of a type, which an operator may have chosen, takes the values of a field. */
export function canHold({ fieldType, isArray }: Column, type: string): boolean {
  const [, item = type] = /^Array\((.*)\)$/.exec(type) ?? [];
  return isArray === (item !== type) && holders[fieldType].test(item.replaceAll(/Nullable\(|LowCardinality\(/g, ""));
}

/** The rows of a batch for one table. */
export interface TableRows {
  /** An index of {@link tableLayouts}. */
  readonly table: number;
  /** JSON objects, each on a line. */
  readonly body: Uint8Array;
  /** The positions of its records in the batch, ascending. */
  readonly indexes: readonly number[];
  /** The same for the same records of the same batch: by it the server knows rows that it has. */
  readonly token: string;
}

/** The columns that a table has, by the names of their fields. */
export type ColumnsByField = ReadonlyMap<string, Column>;

/** Reads the fields of a table's lines; it remembers their names, so that it is made once. */
export type RowReader = LineWalker<PlacedColumn | typeof withoutColumn>;

interface PlacedColumn {
  readonly column: Column;
  /** The text before its value in a row: `,"name":`. */
  readonly start: Buffer;
}

const withoutColumn = "without a column";

export function createRowReader(columns: ColumnsByField): RowReader {
  return new LineWalker((name) => {
    const column = columns.get(name);
    return column === undefined ? withoutColumn : { column, start: Buffer.from(`,"${column.name}":`) };
  });
}

const quote = 0x22;
const bracket = 0x5b;

/**
 * Makes rows of the lines of a batch. A field goes to its column when its value fits there, else it is a text in the column
 * for all others: texts as they are, other values as JSON.
 *
 * @param readers for each of {@link tableLayouts}.
 */
export function rowsByTable(batch: Batch, readers: readonly RowReader[]): TableRows[] {
  const tables = tableLayouts.map(() => ({ body: undefined as BodyWriter | undefined, indexes: [] as number[] }));
  forEachLine(batch, (lines, from, to, index) => {
    const table = tableOfType[recordTypeOf(lines, from, to)];
    const rows = tables[table];
    const reader = readers[table];
    if (rows === undefined || reader === undefined) return;
    rows.body ??= new BodyWriter(batch.byteLength + (batch.byteLength >> 3));
    writeRow(rows.body, reader, lines, from, to);
    rows.indexes.push(index);
  });
  return tables.flatMap(({ body, indexes }, table) =>
    body === undefined ? [] : [{ table, body: body.body(), indexes, token: tokenOf(batch, table, indexes) }],
  );
}

function tokenOf(batch: Batch, table: number, indexes: readonly number[]): string {
  const positions = Uint32Array.from(indexes, (index) => positionOf(batch, index));
  const digest = createHash("sha256").update(new Uint8Array(positions.buffer)).digest("hex").slice(0, 16);
  return `${batchKey(batch.id)}-${tableLayouts[table]?.name ?? ""}-${digest}`;
}

function writeRow(out: BodyWriter, reader: RowReader, line: Buffer, from: number, to: number): void {
  // Fields without a column wait until the row's columns are written.
  const others: number[] = [];
  let isFirst = true;
  out.text("{");
  reader.walk(line, from, to, (use, name, value, end) => {
    if (use === withoutColumn || !fits(use.column, line, value, end)) {
      others.push(name, value, end);
      return;
    }
    out.bytes(use.start, isFirst ? 1 : 0, use.start.length);
    out.bytes(line, value, end);
    isFirst = false;
  });
  if (others.length > 0) out.text(`${isFirst ? "" : ","}"${otherColumn.name}":`);
  for (let i = 0; i < others.length; i += 3) {
    const [name = 0, value = 0, end = 0] = others.slice(i, i + 3);
    out.text(i === 0 ? "{" : ",");
    out.bytes(line, name, value);
    if (line[value] === quote) out.bytes(line, value, end);
    else out.quoted(line, value, end);
  }
  out.text(others.length > 0 ? "}}\n" : "}\n");
}

/** Tells for each type of field whether a value may begin with a byte. */
const beginsAs: Readonly<Record<FieldType, (first: number) => boolean>> = {
  keyword: isQuote,
  ip: isQuote,
  geo_point: isQuote,
  date: isQuote,
  date_nanos: isQuote,
  boolean: (first) => first === 0x74 || first === 0x66,
  long: isOfNumber,
  unsigned_long: isOfNumber,
  double: isOfNumber,
};

function isQuote(first: number): boolean {
  return first === quote;
}

function isOfNumber(first: number): boolean {
  return first === 0x2d || (first >= 0x30 && first <= 0x39);
}

/** Tells whether a value is one of its column's kind; in records with lists any field may be an array. */
function fits({ fieldType, isArray }: Column, line: Buffer, from: number, to: number): boolean {
  const first = line[from] ?? 0;
  if (isArray) return first === bracket && line[from + 1] !== bracket;
  if (!beginsAs[fieldType](first)) return false;
  return (fieldType !== "date" && fieldType !== "date_nanos") || isStorable(line, from, to);
}

/** DateTime64 with nanoseconds holds these years, and changes others without a word. */
function isStorable(line: Buffer, from: number, to: number): boolean {
  const year = line[from + 5] === 0x2d ? Number(line.toString("latin1", from + 1, from + 5)) : 0;
  return year >= 1900 && year < 2262 && to - from <= 32;
}
