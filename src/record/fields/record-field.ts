/**
 * The types by which fields are stored and searched, in the terms of Elasticsearch. Whole numbers that fit in 63 bits are `long`, all
 * others `unsigned_long`. `date` has at most milliseconds, `date_nanos` up to nanoseconds; both are RFC 3339 in UTC. A `geo_point`
 * is `latitude,longitude`. A MAC address is a `keyword`.
 */
const fieldTypes = [
  "keyword",
  "ip",
  "long",
  "unsigned_long",
  "double",
  "boolean",
  "date",
  "date_nanos",
  "geo_point",
] as const;
export type FieldType = (typeof fieldTypes)[number];

/** The parts of docs/reference/records.md that list fields, in its order. */
const groups = [
  "export",
  "flow",
  "packet",
  "sflow",
  "counters",
  "enriched",
  "ends",
  "rollup",
  "alert",
  "snmp",
  "mibs",
] as const;
export type FieldGroup = (typeof groups)[number];

/** A field that records may have: a row of `definitions/fields.tsv`. `definitions/README.md` explains the columns. */
export interface RecordField {
  readonly group: FieldGroup;
  readonly name: string;
  /** The type of the value, or of each value of an array. */
  readonly type: FieldType;
  readonly isArray: boolean;
  /** The unit, such as `bytes`; empty if there is none. */
  readonly unit: string;
  /**
   * The elements that supply the field, the most preferred first: IANA's number (from 32768 on an element of NetFlow v9 alone) and the name
   * of a conversion. `value` converts by the element's abstract data type.
   */
  readonly elements: readonly (readonly [id: number, conversion: string])[];
  /** The name in the Elastic Common Schema, if that has a field of the same meaning and the same form of value. */
  readonly ecs: string | undefined;
  /** True if the Elastic Common Schema wants its values in lower case. */
  readonly isLowerInEcs: boolean;
  /** True if nearly each record has a different text, so that a dictionary of texts does not help a store. */
  readonly isDistinct: boolean;
  /** The readable label of the name's rest behind `flow.src.` and the like; if empty, the rest itself is the label. */
  readonly label: string;
  /** The position in the list of fields that Explore keeps by default; undefined if Explore keeps it only by a setting. */
  readonly exploreRank: number | undefined;
  /** True if rollups of Explore keep it, because it has few values. */
  readonly isRolledUp: boolean;
  /** Short names that filters accept for it. If several fields share a short name, the last one has the description. */
  readonly shortNames: readonly (readonly [name: string, description?: string])[];
  /** All texts that the field can have, if the collector itself defines them. */
  readonly values: readonly string[] | undefined;
  /** An example of the value as in a line. */
  readonly example: string | number | boolean | readonly (string | number | boolean)[];
  readonly description: string;
  /** The permanent number in `proto/flow/v1/flow.proto`; undefined if the field goes there by name, as fields that flows lack do. */
  readonly protoNumber: number | undefined;
  /** The source of the value: elements (`IE 8`: IANA's, and those of NetFlow v9), structures of sFlow, headers, settings. */
  readonly source: string;
}

/** A pattern for names that are not known in advance. */
export interface FieldPattern {
  /** The pattern, in which `*` stands for the rest of the name. */
  readonly pattern: string;
  /**
   * The type of the value. `inner`: the type of the field whose name, with or without `flow.`, remains after the prefix is removed.
   * `any`: a text, a number, a boolean or an array of these.
   */
  readonly type: FieldType | "inner" | "any";
  readonly example: string;
  readonly description: string;
  readonly source: string;
}
