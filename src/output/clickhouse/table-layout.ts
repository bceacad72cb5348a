import { fieldGroups, type FieldType, type RecordField } from "../../record/index.ts";
import type { NameOf } from "../delivery/line-fields.ts";
import type { RecordType } from "../delivery/settings.ts";

/** The column for fields without a column of their own, keyed by name. */
export const otherColumn = { name: "other", type: "Map(LowCardinality(String), String)" } as const;

export interface TableColumn {
  /** The name of the record's field. */
  readonly field: string;
  /** The column's name without dots: a dot in the name of an array would make it part of a nested table. */
  readonly name: string;
  readonly fieldType: FieldType;
  readonly isArray: boolean;
  /** The type in ClickHouse. */
  readonly type: string;
}

/** A table for records of some types. */
export interface TableLayout {
  /** The table's name without its prefix. */
  readonly name: "flow" | "flow_option" | "telemetry";
  readonly columns: readonly TableColumn[];
  readonly orderBy: string;
  /** The sharding expression: the same row goes to the same shard each time it is sent. */
  readonly shardBy: string;
}

/** Fields of the sorting key, which are never NULL: an absent address is `::`. */
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

function columnOf({ name, type, isArray, isDistinct }: RecordField, nameOf: NameOf): TableColumn {
  const field = nameOf(name);
  const text = isDistinct ? "String" : "LowCardinality(String)";
  const scalar = type === "keyword" ? text : scalarTypes[type];
  // An absent text is empty. A number needs NULL, because zero is a value.
  const isNullable = !isArray && type !== "keyword" && type !== "geo_point" && !keyFields.has(name);
  return {
    field,
    name: columnName(field),
    fieldType: type,
    isArray,
    type: isArray ? `Array(${scalar})` : isNullable ? `Nullable(${scalar})` : scalar,
  };
}

const { export: ofExport, flow, packet, sflow, counters, enriched, ends, rollup, alert, snmp, mibs } = fieldGroups;
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
  alert,
  counters,
  enriched.filter(({ name }) => /^(system|flow\.export)\./.test(name)),
].flat();

/** The fields that have columns in stores with tables, by the name of the table. */
export const tableFields: Readonly<Record<TableLayout["name"], readonly RecordField[]>> = {
  flow: ofFlows,
  flow_option: ofFlows,
  telemetry: ofTelemetry,
};

/** Returns the name of a field's column. */
export function columnName(field: string): string {
  return field.replace("@", "").replaceAll(".", "_");
}

/** Returns the columns of fields. Two fields of the same column name share one column. */
function columnsOf(fields: readonly RecordField[], nameOf: NameOf): TableColumn[] {
  const columns = fields.map((field) => columnOf(field, nameOf));
  return columns.filter(({ name }, i) => columns.findIndex((one) => one.name === name) === i);
}

/** Creates the layouts of all tables from the table of record fields. */
export function createLayouts(nameOf: NameOf): readonly TableLayout[] {
  const order = (...fields: string[]): string =>
    [...new Set(["toStartOfHour(timestamp)", ...fields.map((field) => columnName(nameOf(field)))])].join(", ");
  const shardBy = `cityHash64(timestamp, ${columnName(nameOf("flow.export.ip.addr"))})`;
  const ofFlow = { columns: columnsOf(ofFlows, nameOf), orderBy: order("flow.export.ip.addr", "@timestamp"), shardBy };
  return [
    { name: "flow", ...ofFlow },
    { name: "flow_option", ...ofFlow },
    {
      name: "telemetry",
      columns: columnsOf(ofTelemetry, nameOf),
      orderBy: order("system.ip.addr", "flow.export.ip.addr", "@timestamp"),
      shardBy,
    },
  ];
}

/** Layouts whose columns have the records' own names. */
export const tableLayouts = createLayouts((field) => field);

/** Returns the columns of the table of flows, by the names of their fields. */
export function clickHouseColumns(): ReadonlyMap<string, TableColumn> {
  const [flows] = tableLayouts;
  return new Map(flows?.columns.map((column) => [column.field, column]));
}

/** The table of each record type, as an index of the layouts. */
export const tableOfType: Readonly<Record<RecordType, number>> = {
  flow: 0,
  flow_option: 1,
  telemetry: 2,
  as_path_hop: 0,
};
