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

/** The parts of docs/reference/records.md that list fields, in its order. */
const groups = ["export", "flow", "packet", "sflow", "counters", "enriched", "ends", "rollup", "snmp", "mibs"] as const;
export type FieldGroup = (typeof groups)[number];

/** One name that records may have, and what its value is: a row of `definitions/fields.tsv`, which explains the columns. */
export interface RecordField {
  readonly group: FieldGroup;
  readonly name: string;
  /** Of the value, or of each value of an array. */
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
  /** What people call the rest of the name, behind `flow.src.` and the like; empty: the rest itself. */
  readonly label: string;
  /** Place in the list of fields that Explore keeps by default; undefined: only where a setting asks for it. */
  readonly exploreRank: number | undefined;
  /** Rollups of Explore keep it: it has few values. */
  readonly isRolledUp: boolean;
  /** Names that filters take for it; of a name of several fields, the last one has the description. */
  readonly shortNames: readonly (readonly [name: string, description: string | undefined])[];
  /** All texts that the field can have, where they are words of the collector itself. */
  readonly values: readonly string[] | undefined;
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
 * Reads the table of fields: a line of names of columns, then a line for each field; cells are separated by tabs. After `flow.src.*` comes
 * what is derived of it, in {@link endFields}.
 *
 * @throws TypeError when a row is none.
 */
export function readFieldTable(text: string): readonly RecordField[] {
  const [head = "", ...lines] = text.trimEnd().split("\n");
  const columns = new Map(head.split("\t").map((column, i) => [column, i]));
  const rows = lines.map((line): Row => {
    const cells = line.split("\t");
    if (cells.length !== columns.size) throw new TypeError(`no row of a field: ${line}`);
    return (column) => cells[columns.get(column) ?? -1] ?? "";
  });
  const fields = rows.map(readField);
  const ends = rows.flatMap((cell, i) => endFields(fields[i] as RecordField, cell("explore")));
  // They stand behind the other fields of their group.
  const at = fields.findLastIndex(({ group }) => group === "ends") + 1;
  const below = (end: string): readonly RecordField[] => ends.filter(({ name }) => name.startsWith(`flow.${end}.`));
  return [...fields.slice(0, at), ...endsOfFlow.flatMap(below), ...fields.slice(at)];
}

/** The cells of a row by the names of the columns. */
type Row = (column: string) => string;

function readField(cell: Row): RecordField {
  const typeText = cell("type");
  const isArray = typeText.endsWith("[]");
  const type = fieldTypes.find((each) => each === typeText.replace("[]", ""));
  const name = cell("name");
  const group = groups.find((each) => each === cell("group"));
  if (type === undefined || group === undefined) throw new TypeError(`${name}: no type or no group of fields`);
  const elements = words(cell("elements")).map((word): RecordField["elements"][number] => {
    const [id = "", conversion = "value"] = word.split(":");
    return [Number(id), conversion];
  });
  const [ecs, letters] = words(cell("ecs"));
  return {
    group,
    name,
    type,
    isArray,
    unit: cell("unit"),
    elements,
    ecs,
    isLowerInEcs: letters === "lower",
    isDistinct: cell("distinct") !== "",
    label: cell("label"),
    ...explorePlace(cell("explore"), ""),
    shortNames: parts(cell("short"), "; ").map((each) => {
      const [short = "", description] = each.split("=");
      return [short, description];
    }),
    values: cell("values") === "" ? undefined : cell("values").split(","),
    example: exampleOf(type, isArray, cell("example")),
    description: cell("text"),
    source: sourceOf(elements, cell("from")),
  };
}

/** Joins the elements that claim a name with what else its value comes from. */
function sourceOf(elements: RecordField["elements"], from: string): string {
  if (elements.length === 0) return from;
  const ids = elements.map(([id]) => id).join(", ");
  const separator = from.startsWith("IE ") ? ", " : "; ";
  return from === "" ? `IE ${ids}` : `IE ${ids}${separator}${from.replace(/^IE /, "")}`;
}

const endsOfFlow = ["client", "server"] as const;

/** The fields below `flow.src` again, below `flow.client` and `flow.server`. */
function endFields(field: RecordField, explore: string): readonly RecordField[] {
  const [, rest] = /^flow\.src\.(.*)$/.exec(field.name) ?? [];
  if (rest === undefined || !["flow", "enriched", "ends"].includes(field.group)) return [];
  return endsOfFlow.map((end) => ofEnd(field, rest, end, explorePlace(explore, end)));
}

function ofEnd(
  field: RecordField,
  rest: string,
  end: (typeof endsOfFlow)[number],
  place: Pick<RecordField, "exploreRank" | "isRolledUp">,
): RecordField {
  return {
    ...field,
    ...place,
    group: "ends",
    name: `flow.${end}.${rest}`,
    elements: [],
    ecs: field.ecs?.replace("source.", `${end}.`),
    shortNames: [],
    description: `of source or destination, whichever is the ${end}`,
    source: `flow.src.${rest}, flow.dst.${rest}`,
  };
}

/** Reads `6 client:17 server:18r`: a place for the field itself, and for what is derived of it; `r` for rollups. */
function explorePlace(cell: string, end: string): Pick<RecordField, "exploreRank" | "isRolledUp"> {
  const own = words(cell).find((word) => (word.includes(":") ? word.startsWith(`${end}:`) : end === ""));
  if (own === undefined) return { exploreRank: undefined, isRolledUp: false };
  const [, rank, rolled] = /(\d+)(r?)$/.exec(own) ?? [];
  return { exploreRank: rank === undefined ? undefined : Number(rank), isRolledUp: rolled === "r" };
}

/** Returns the parts of a cell; most cells are empty. */
const parts = (cell: string, separator: string): readonly string[] => (cell === "" ? [] : cell.split(separator));
const words = (cell: string): readonly string[] => parts(cell, " ");

const texts: ReadonlySet<FieldType> = new Set(["keyword", "ip", "date", "date_nanos", "geo_point"]);

function exampleOf(type: FieldType, isArray: boolean, text: string): RecordField["example"] {
  return isArray || !texts.has(type) ? (JSON.parse(text) as RecordField["example"]) : text;
}
