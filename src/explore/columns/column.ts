import { findField, recordFields, type FieldType } from "../../record/index.ts";

/** What the values of a column are. */
export type ColumnType = "text" | "address" | "integer" | "unsigned" | "double" | "boolean" | "time";

/** A field of records that Explore keeps. */
export interface Column {
  /** As records have it; the column is called the same. */
  readonly field: string;
  /** Of the value, or of each value of an array. */
  readonly type: ColumnType;
  readonly isArray: boolean;
}

const columnTypes: Readonly<Record<FieldType, ColumnType>> = {
  keyword: "text",
  ip: "address",
  long: "integer",
  unsigned_long: "unsigned",
  double: "double",
  boolean: "boolean",
  date: "time",
  date_nanos: "time",
  geo_point: "text",
};

/** When a record was received. Every column store has it. */
export const timeField = "@timestamp";

/** A field of both ends of a flow. */
export const ofEnds = (rest: string): readonly string[] => [`flow.src.${rest}`, `flow.dst.${rest}`];
/** A field of both interfaces. */
export const ofWays = (rest: string): readonly string[] => [`flow.in.${rest}`, `flow.out.${rest}`];

/** The fields that are kept in any case, in the order in which people choose among them. */
const defaultFields: readonly string[] = [
  timeField,
  ...ofEnds("ip.subnet.name"),
  ...ofEnds("ip.subnet.tags"),
  ...ofEnds("ip.addr"),
  ...ofEnds("host.name"),
  ...ofEnds("l4.port.id"),
  ...ofEnds("l4.port.name"),
  "l4.proto.name",
  "l4.proto.id",
  "app.name",
  "flow.client.ip.addr",
  "flow.server.ip.addr",
  "flow.client.ip.subnet.name",
  "flow.server.ip.subnet.name",
  "flow.server.l4.port.id",
  "flow.server.l4.port.name",
  ...ofEnds("isInternal"),
  ...ofEnds("locality"),
  "flow.locality",
  ...ofEnds("as.asn"),
  ...ofEnds("as.label"),
  ...ofEnds("geo.country.code"),
  ...ofEnds("geo.country.name"),
  ...ofEnds("geo.city.name"),
  "flow.export.ip.addr",
  "flow.export.ip.subnet.name",
  "flow.export.ip.subnet.tags",
  "flow.export.type",
  ...ofWays("netif.index"),
  ...ofWays("netif.name"),
  ...ofWays("netif.alias"),
  "flow.direction.name",
  "flow.next_hop.ip.addr",
  ...ofEnds("vlan.tag.id"),
  ...ofEnds("sec.threat.name"),
  "ip.version.ver",
  "ip.dscp.name",
  "tcp.flags.bits",
  "tcp.flags.tags",
  "icmp.type.id",
  "flow.sample_rate",
  "flow.start.timestamp",
  "flow.end.timestamp",
  "flow.bytes",
  "flow.packets",
  "flow.scaled.bytes",
  "flow.scaled.packets",
];

/** A column for a field by its name; undefined when records have no such name, or it may be of any type. */
export function columnOf(field: string): Column | undefined {
  const found = findField(field);
  if (found === undefined) return undefined;
  if ("pattern" in found) {
    const { type } = found;
    // Metadata keys of the operator, mostly, whose values are texts.
    return type === "inner" ? undefined : { field, type: type === "any" ? "text" : columnTypes[type], isArray: false };
  }
  return { field, type: columnTypes[found.type], isArray: found.isArray };
}

/**
 * The columns: the default ones and further fields.
 *
 * @param further names of fields. @throws TypeError for a name that records cannot have.
 */
export function exploreColumns(further: readonly string[]): readonly Column[] {
  const columns = [...new Set([...defaultFields, ...further])].map((field) => {
    const column = columnOf(field);
    if (column === undefined) throw new TypeError(`records have no field ${field}`);
    return column;
  });
  return withoutTwins(columns);
}

/** Names of columns in SQL are the same in any case: of fields that differ in nothing else the first one is kept. */
export function withoutTwins(columns: readonly Column[]): readonly Column[] {
  const byName = new Map<string, Column>();
  for (const column of columns) {
    const name = column.field.toLowerCase();
    if (!byName.has(name)) byName.set(name, column);
  }
  return [...byName.values()];
}

const ends: readonly string[] = ["flow.src.", "flow.dst.", "flow.export."];
const inTable: ReadonlySet<string> = new Set(recordFields.map(({ name }) => name));

/** Whether a name is a key of the operator's metadata below an end of a flow or the exporter, such as `flow.src.site.name`. */
export function isMetadataName(name: string): boolean {
  if (inTable.has(name) || !ends.some((end) => name.startsWith(end))) return false;
  const found = findField(name);
  return found !== undefined && "pattern" in found && found.type === "keyword";
}
