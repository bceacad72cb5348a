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

/** Names of the fields of metadata entries. Any key may follow `metadata.`, even one with dots. */
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
 * The type of a field's values in filters. `any`: not known in advance. `protocol` is a number that has names.
 */
export type ValueType = "address" | "number" | "time" | "text" | "boolean" | "protocol" | "any";

/** The meaning of a name in a filter. */
export interface KnownField {
  /** Names of the fields in records; if there are several, a match in one is enough. */
  readonly fields: readonly string[];
  readonly type: ValueType;
  /** The unit, such as `bytes`; empty if there is none. */
  readonly unit: string;
  /** All texts that it can have; absent if they are not known in advance. */
  readonly words?: readonly string[];
}

/** The names that filters over one kind of object may use. */
export interface Vocabulary {
  /** Finds a field by name; undefined if there is no such name. */
  find(name: string): KnownField | undefined;
  /** Returns the name that the user probably meant, if the given name is valid only by a pattern and very similar to another; else undefined. */
  slip(name: string): string | undefined;
  /** Returns all names, to suggest the nearest one for an unknown name. */
  names(): Iterable<string>;
  /** Reads the value of an address field. If absent, the value is an address, a CIDR or a range. @throws KeyError */
  readonly readKey?: (text: string) => Key;
}

/** Short names of fields, in the order of the table. A name of several fields takes the position of the last one. */
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

/** Short prefixes that may replace the prefix of a field's name. */
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

/** Returns the full name of a field for a name with a short prefix, such as `src.site.name`. */
function inFull(name: string): string | undefined {
  for (const [short, full] of shortBeginnings) if (name.startsWith(short)) return full + name.slice(short.length);
  return undefined;
}

/**
 * Names of fields of records: those of the table, those that its patterns cover, and short names. Any name of metadata may follow `src.`,
 * `dst.` and `exporter.`.
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

/** Returns the names that start with a text: short names, and fields of the table. */
function* namesOf(beginning: string): Iterable<string> {
  for (const { name } of shortNames) if (name.startsWith(beginning)) yield name;
  for (const [short, full] of shortBeginnings) {
    if (!short.startsWith(beginning)) continue;
    for (const name of namesInTable) if (name.startsWith(full)) yield short + name.slice(full.length);
  }
}
