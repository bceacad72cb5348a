import { fieldGroups, type FieldType, type RecordField } from "../../record/index.ts";
import type { RecordType } from "../delivery/record-type.ts";

/** Fields without a column of their own are in this one, by their names. */
export const otherColumn = { name: "other", type: "Map(LowCardinality(String), String)" } as const;

export interface Column {
  /** Of the record. */
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

/** Texts of which there are about as many as there are records, so that a dictionary does not help. */
const isDistinct = (name: string): boolean =>
  /\.mac\.addrs?$|\.bssid$|^flow\.(community\.id|url\.text|http\.referer|bgp\.as_path)$/.test(name);

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

function columnOf({ name, type, isArray }: RecordField): Column {
  const text = isDistinct(name) ? "String" : "LowCardinality(String)";
  const scalar = type === "keyword" ? text : scalarTypes[type];
  // A text that is absent is empty; zero and "absent" are different numbers.
  const isNullable = !isArray && type !== "keyword" && type !== "geo_point" && !keyFields.has(name);
  return {
    field: name,
    name: name.replace("@", "").replaceAll(".", "_"),
    fieldType: type,
    isArray,
    type: isArray ? `Array(${scalar})` : isNullable ? `Nullable(${scalar})` : scalar,
  };
}

const { export: ofExport, flow, packet, sflow, counters, enriched, snmp } = fieldGroups;
const ofFlows = [ofExport, flow, packet, sflow, enriched.filter(({ name }) => !name.startsWith("system."))].flat();
const ofTelemetry = [
  ofExport,
  snmp,
  counters,
  enriched.filter(({ name }) => /^(system|flow\.export)\./.test(name)),
].flat();

const flowOrder = "toStartOfHour(timestamp), flow_export_ip_addr, timestamp";

/** The tables; made from the table of record fields. */
export const tableLayouts: readonly TableLayout[] = [
  { name: "flow", columns: ofFlows.map(columnOf), orderBy: flowOrder },
  { name: "flow_option", columns: ofFlows.map(columnOf), orderBy: flowOrder },
  {
    name: "telemetry",
    columns: ofTelemetry.map(columnOf),
    orderBy: "toStartOfHour(timestamp), system_ip_addr, flow_export_ip_addr, timestamp",
  },
];

/** Which table records of a type go to, as an index of {@link tableLayouts}. */
export const tableOfType: Readonly<Record<RecordType, number>> = {
  flow: 0,
  flow_option: 1,
  telemetry: 2,
  as_path_hop: 0,
};
