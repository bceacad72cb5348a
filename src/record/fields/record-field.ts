/**
 * How a field is stored and searched, in the terms of Elasticsearch. Whole numbers are `long` where 63 bits hold each of them, else
 * `unsigned_long`. `date` has at most milliseconds, `date_nanos` up to nanoseconds; both are RFC 3339 in UTC. A `geo_point` is
 * `latitude,longitude`. A MAC address is a `keyword`.
 */
export const fieldTypes = [
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

/** One name that records may have, and what its value is. */
export interface RecordField {
  readonly name: string;
  /** Of the value, or of each value of an array. */
  readonly type: FieldType;
  /** Whether the value is an array. */
  readonly isArray: boolean;
  /** Such as `bytes`; empty where there is none. */
  readonly unit: string;
  /** As it stands in a line. */
  readonly example: string | number | boolean | readonly (string | number | boolean)[];
  readonly description: string;
  /** Where the value comes from: elements (`IE 8`: IANA's, and those of NetFlow v9), structures of sFlow, headers, settings. */
  readonly source: string;
}

/** Names that are not known beforehand. */
export interface FieldPattern {
  /** `*` stands for the rest of the name. */
  readonly pattern: string;
  /**
   * Of the value; `inner`: that of the field whose name remains, with `flow.` or without, when the beginning is taken away; `any`: a text, a
   * number, a boolean or an array of them.
   */
  readonly type: FieldType | "inner" | "any";
  readonly example: string;
  readonly description: string;
  readonly source: string;
}

/**
 * Reads rows of fields: `name | type | unit | example | description | source`. `[]` behind a type is an array; examples that are no text are
 * JSON.
 *
 * @throws TypeError when a row is none.
 */
export function fieldRows(text: string): readonly RecordField[] {
  return text
    .trim()
    .split("\n")
    .map((line) => {
      const [name = "", typeText = "", unit = "", example = "", description = "", source = "", ...more] = line
        .split("|")
        .map((cell) => cell.trim());
      const isArray = typeText.endsWith("[]");
      const type = fieldTypes.find((each) => each === typeText.replace("[]", ""));
      if (type === undefined || source === "" || more.length > 0) throw new TypeError(`no row of a field: ${line}`);
      return { name, type, isArray, unit, example: exampleOf(type, isArray, example), description, source };
    });
}

const texts: ReadonlySet<FieldType> = new Set(["keyword", "ip", "date", "date_nanos", "geo_point"]);

function exampleOf(type: FieldType, isArray: boolean, text: string): RecordField["example"] {
  return isArray || !texts.has(type) ? (JSON.parse(text) as RecordField["example"]) : text;
}
