/**
 * The types by which fields are stored and searched, in the terms of Elasticsearch. Whole numbers are `long` where 63 bits hold each of
 * them, else `unsigned_long`. `date` has at most milliseconds, `date_nanos` up to nanoseconds; both are RFC 3339 in UTC. A `geo_point`
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

/** One name that records may have, and what its value is: a row of `definitions/fields.tsv`, which explains the columns. */
export interface RecordField {
  readonly group: FieldGroup;
  readonly name: string;
  /** The type of the value, or of each value of an array. */
  readonly type: FieldType;
  readonly isArray: boolean;
  /** Such as `bytes`; empty where there is none. */
  readonly unit: string;
  /**
   * The elements that claim the name, the most preferred first: IANA's number, from 32768 on that of NetFlow v9 alone, and a conversion by
   * name; `value` goes by the element's abstract data type.
   */
  readonly elements: readonly (readonly [id: number, conversion: string])[];
  /** Name in the Elastic Common Schema, where it has a field of the same meaning and the same form of value. */
  readonly ecs: string | undefined;
  /** The Elastic Common Schema wants its values in small letters. */
  readonly isLowerInEcs: boolean;
  /** Nearly each record has a text of its own, so that a dictionary of texts does not help a store. */
  readonly isDistinct: boolean;
  /** The label for people of the rest of the name, behind `flow.src.` and the like; empty: the rest itself. */
  readonly label: string;
  /** Position in the list of fields that Explore keeps by default; undefined: only where a setting asks for it. */
  readonly exploreRank: number | undefined;
  /** Rollups of Explore keep it: it has few values. */
  readonly isRolledUp: boolean;
  /** Names that filters take for it; of a name of several fields, the last one has the description. */
  readonly shortNames: readonly (readonly [name: string, description?: string])[];
  /** All texts that the field can have, where they are words of the collector itself. */
  readonly values: readonly string[] | undefined;
  /** As it stands in a line. */
  readonly example: string | number | boolean | readonly (string | number | boolean)[];
  readonly description: string;
  /** Its number in `proto/flow/v1/flow.proto`, for ever; undefined: it stands there by its name, as fields that flows do not have. */
  readonly protoNumber: number | undefined;
  /** The source of the value: elements (`IE 8`: IANA's, and those of NetFlow v9), structures of sFlow, headers, settings. */
  readonly source: string;
}

/** Names that are not known beforehand. */
export interface FieldPattern {
  /** `*` stands for the rest of the name. */
  readonly pattern: string;
  /**
   * The type of the value; `inner`: that of the field whose name remains, with `flow.` or without, when the beginning is taken away;
   * `any`: a text, a number, a boolean or an array of them.
   */
  readonly type: FieldType | "inner" | "any";
  readonly example: string;
  readonly description: string;
  readonly source: string;
}
