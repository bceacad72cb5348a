import { findField, recordFields } from "../fields/field-table.ts";
import type { Key } from "../../base/ip/index.ts";
import type { FieldType } from "../fields/record-field.ts";
import { nearName } from "../../base/text/index.ts";

const udmFields = new Map<string, KnownField>([
  ["key", { fields: ["key"], type: "address", unit: "" }],
  ["name", { fields: ["name"], type: "text", unit: "" }],
  ["tag", { fields: ["tags"], type: "text", unit: "" }],
  ["tags", { fields: ["tags"], type: "text", unit: "" }],
  ["vlan", { fields: ["vlan"], type: "number", unit: "" }],
  ["context", { fields: ["contexts"], type: "text", unit: "" }],
  ["contexts", { fields: ["contexts"], type: "text", unit: "" }],
  ["layer", { fields: ["layer"], type: "text", unit: "" }],
  ["internal", { fields: ["internal"], type: "boolean", unit: "" }],
]);

const metadata = "metadata.";

/** Names of the fields of metadata entries; behind `metadata.` any key may stand, which may have dots itself. */
export const udmVocabulary: Vocabulary = {
  find(name) {
    const field = udmFields.get(name);
    if (field !== undefined) return field;
    const isMetadata = name.startsWith(metadata) && name.length > metadata.length;
    return isMetadata ? { fields: [name], type: "text", unit: "" } : undefined;
  },
  slip: () => undefined,
  names: () => [...udmFields.keys(), metadata],
};

/**
 * The type of a field's values, as far as a filter is concerned. `any`: nobody knows beforehand. `protocol` is a number that has names.
 */
export type ValueType = "address" | "number" | "time" | "text" | "boolean" | "protocol" | "any";

/** The meaning of a name in a filter. */
export interface KnownField {
  /** Names as records have them; several when one of them is enough. */
  readonly fields: readonly string[];
  readonly type: ValueType;
  /** Such as `bytes`; empty where there is none. */
  readonly unit: string;
  /** All texts that it can have; absent: nobody knows them beforehand. */
  readonly words?: readonly string[];
}

/** The names that filters over one kind of thing may have. */
export interface Vocabulary {
  /** Undefined: there is no such name. */
  find(name: string): KnownField | undefined;
  /** A name that was found, but is so like another one that a slip is likelier; undefined: it is none. */
  slip(name: string): string | undefined;
  /** All names, for the nearest one of a name that is not found. */
  names(): Iterable<string>;
  /** Reads what stands for an address. Left out: it is one, a CIDR or a range. @throws KeyError */
  readonly readKey?: (text: string) => Key;
}

/** Short names of fields, in the order of the table; a name of several fields stands at the last of them. */
export const shortNames: readonly {
  readonly name: string;
  readonly fields: readonly string[];
  readonly description: string;
}[] = recordFields.flatMap((field) =>
  field.shortNames.flatMap(([name, description]) => {
    if (description === undefined) return [];
    const fields = recordFields.filter((each) => each.shortNames.some(([short]) => short === name));
    return [{ name, fields: fields.map((each) => each.name), description }];
  }),
);

/** The short beginnings that a name may have in place of the beginning of a field's name. */
const shortBeginnings: readonly (readonly [short: string, full: string])[] = [
  ["src.", "flow.src."],
  ["dst.", "flow.dst."],
  ["exporter.", "flow.export."],
  ["in.if.", "flow.in.netif."],
  ["out.if.", "flow.out.netif."],
];

const valueTypes: Readonly<Record<FieldType, ValueType>> = {
  keyword: "text",
  ip: "address",
  long: "number",
  unsigned_long: "number",
  double: "number",
  boolean: "boolean",
  date: "time",
  date_nanos: "time",
  geo_point: "text",
};

const protocolField = "l4.proto.id";
const shortByName = new Map(shortNames.map(({ name, fields }) => [name, fields]));

function knownField(name: string): KnownField | undefined {
  const field = findField(name);
  if (field === undefined) return undefined;
  if (name === protocolField) return { fields: [name], type: "protocol", unit: "" };
  if (field.type === "any" || field.type === "inner") return { fields: [name], type: "any", unit: "" };
  if ("pattern" in field) return { fields: [name], type: valueTypes[field.type], unit: "" };
  const { type, unit, values } = field;
  return { fields: [name], type: valueTypes[type], unit, ...(values !== undefined && { words: values }) };
}

const isInTable = (name: string): boolean => {
  const field = findField(name);
  return field !== undefined && !("pattern" in field);
};

const namesInTable = recordFields.map(({ name }) => name);

/** The name of a field for one that begins with a short beginning, such as `src.site.name`. */
function inFull(name: string): string | undefined {
  for (const [short, full] of shortBeginnings) if (name.startsWith(short)) return full + name.slice(short.length);
  return undefined;
}

/**
 * Names of fields of records: those of the table, those that its patterns cover, and short names. Behind `src.`, `dst.` and `exporter.` any name of
 * metadata may stand.
 */
export const recordVocabulary: Vocabulary = {
  find(name) {
    const short = shortByName.get(name);
    if (short !== undefined) {
      const known = knownField(short[0] as string);
      return known && { ...known, fields: short };
    }
    return knownField(inFull(name) ?? name);
  },
  slip(name) {
    const full = inFull(name);
    if (shortByName.has(name) || isInTable(full ?? name)) return undefined;
    return nearName(name, full === undefined ? namesInTable : namesOf(name.slice(0, name.indexOf(".") + 1)));
  },
  *names() {
    for (const { name } of shortNames) yield name;
    yield* namesInTable;
  },
};

/** Names that start with this text: short ones, and fields of the table. */
function* namesOf(beginning: string): Iterable<string> {
  for (const { name } of shortNames) if (name.startsWith(beginning)) yield name;
  for (const [short, full] of shortBeginnings) {
    if (!short.startsWith(beginning)) continue;
    for (const name of namesInTable) if (name.startsWith(full)) yield short + name.slice(full.length);
  }
}
