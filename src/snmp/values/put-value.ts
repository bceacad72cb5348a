import type { RecordFields, Scalar } from "../../record/index.ts";
import { convertValue } from "./convert-value.ts";
import type { Bounds } from "./plausibility.ts";
import { readNumber } from "./read-number.ts";
import type { SnmpValue } from "./snmp-value.ts";
import type { Syntax, SyntaxKind } from "./syntax.ts";

/** Labels of enumerations by the OID (text with a leading dot) of the attribute or index part that has them. */
export interface EnumTables {
  readonly integer: ReadonlyMap<string, ReadonlyMap<number, string>>;
  /** By bit number. */
  readonly bitmap: ReadonlyMap<string, ReadonlyMap<number, string>>;
  /** By OID text with a leading dot. */
  readonly oid: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** What a value is put under and how it is read: an attribute, or a part of an index. */
export interface FieldDefinition {
  /** Name in the record. */
  readonly field: string;
  readonly syntax: Syntax;
  /** Text with a leading dot. */
  readonly oidText: string;
  /** What its readings can be: others are left out of records. */
  readonly bounds?: Bounds | undefined;
}

/** Numbers of rows of another table that says more. */
export type RelatedKind = "entity" | "lldp-port" | "host-device";

/** The rest of a field's name, and its value where there is one. */
export type RelatedFields = readonly (readonly [string, Scalar | undefined])[];

/** What names stand for numbers on a device. */
export interface NameTables {
  readonly enums: EnumTables;
  /** The name of the device's interface with this ifIndex. */
  readonly interfaceName: (index: number) => string | undefined;
  /** What another table says of its row with this number. */
  readonly related?: (kind: RelatedKind, index: number) => RelatedFields;
}

/**
 * Puts one value into a record. Most syntaxes give one field. An enumeration gives `<field>.name`, and `<field>.id` or
 * `<field>.oid` when its syntax keeps it or there is no label; a bitmap's `.name` is the list of the bits that are set.
 * An interface index gives `<field>.index` and `<field>.name`, a MAC address below a name that ends in `.mac` gives
 * `<field>.addr`. A field that already ends in such a word keeps it. Empty text, and a bitmap without a bit, give nothing.
 *
 * @returns false when the value is not one of the syntax, and nothing was put.
 */
export function putValue(fields: RecordFields, target: FieldDefinition, value: SnmpValue, names: NameTables): boolean {
  const { kind } = target.syntax;
  if (kind === "enum-bitmap") return putBits(fields, target, value, names.enums);
  const converted = convertValue(target.syntax, value);
  if (converted === undefined) return false;
  if (kind === "interface") {
    putInterface(fields, target, Number(converted), names);
  } else if (isRelated(kind)) {
    putRelated(fields, target, kind, Number(converted), names);
  } else if (kind === "enum-integer") {
    const label = names.enums.integer.get(target.oidText)?.get(Number(converted));
    putLabel(fields, target, "id", converted, label);
  } else if (kind === "enum-oid") {
    const label = names.enums.oid.get(target.oidText)?.get(String(converted));
    putLabel(fields, target, "oid", converted, label);
  } else if (converted !== "") {
    fields.set(plainName(target), converted);
  }
  return true;
}

/** The names that {@link putValue} may give to values of this definition. */
export function fieldNames(target: FieldDefinition): string[] {
  const { kind } = target.syntax;
  if (kind === "interface") return [suffixed(target, "index"), suffixed(target, "name")];
  if (isRelated(kind)) return [target.field, ...relatedNames[kind].map((rest) => `${relatedBase(target)}.${rest}`)];
  if (kind === "enum-integer") return [suffixed(target, "id"), suffixed(target, "name")];
  if (kind === "enum-oid") return [suffixed(target, "oid"), suffixed(target, "name")];
  return [kind === "enum-bitmap" ? suffixed(target, "name") : plainName(target)];
}

/** The name of a value that gives one field. */
function plainName({ field, syntax }: FieldDefinition): string {
  return syntax.kind === "mac" && field.endsWith(".mac") ? `${field}.addr` : field;
}

type FieldSuffix = "name" | "id" | "oid" | "index";

/** Made once for each definition, as every row needs them. */
const suffixedNames = new WeakMap<FieldDefinition, Readonly<Record<FieldSuffix, string>>>();

/** The name of the field with this last word, in place of such a word that it has. */
function suffixed(target: FieldDefinition, suffix: FieldSuffix): string {
  let names = suffixedNames.get(target);
  if (names === undefined) {
    const base = target.field.replace(/\.(?:name|id|oid|index)$/, "");
    names = { name: `${base}.name`, id: `${base}.id`, oid: `${base}.oid`, index: `${base}.index` };
    suffixedNames.set(target, names);
  }
  return names[suffix];
}

/** What may be said of each, after the name of the number without its last word. */
const relatedNames: { readonly [kind in RelatedKind]: readonly string[] } = {
  entity: ["name", "class.name", "slot"],
  "lldp-port": ["name"],
  "host-device": ["name"],
};

export function isRelated(kind: SyntaxKind): kind is RelatedKind {
  return kind in relatedNames;
}

function relatedBase({ field }: FieldDefinition): string {
  return field.replace(/\.(?:index|number)$/, "");
}

function putRelated(
  fields: RecordFields,
  target: FieldDefinition,
  kind: RelatedKind,
  index: number,
  names: NameTables,
): void {
  fields.set(target.field, index);
  const base = relatedBase(target);
  // A number that is the field's whole name has no room for more below it.
  if (base === target.field) return;
  for (const [rest, value] of names.related?.(kind, index) ?? []) {
    if (value !== undefined) fields.set(`${base}.${rest}`, value);
  }
}

function putInterface(fields: RecordFields, target: FieldDefinition, index: number, names: NameTables): void {
  fields.set(suffixed(target, "index"), index);
  const name = names.interfaceName(index);
  if (name !== undefined) fields.set(suffixed(target, "name"), name);
}

function putLabel(
  fields: RecordFields,
  target: FieldDefinition,
  idSuffix: FieldSuffix,
  id: Scalar,
  label: string | undefined,
): void {
  if (label === undefined || target.syntax.keepsId) fields.set(suffixed(target, idSuffix), id);
  if (label !== undefined) fields.set(suffixed(target, "name"), label);
}

/** BITS count from the most significant bit of the first octet (RFC 2578), the bits of a number from the least. */
function putBits(fields: RecordFields, target: FieldDefinition, value: SnmpValue, enums: EnumTables): boolean {
  const labels = enums.bitmap.get(target.oidText);
  const bits: number[] = [];
  if (value.type === "OctetString" && value.value instanceof Uint8Array) {
    for (const [i, octet] of value.value.entries()) {
      for (let bit = 0; bit < 8; bit++) if (octet & (0x80 >> bit)) bits.push(i * 8 + bit);
    }
  } else {
    const number = readNumber(value);
    if (number === undefined || number < 0 || (typeof number === "number" && !Number.isInteger(number))) return false;
    for (let rest = BigInt(number), bit = 0; rest > 0n; rest >>= 1n, bit++) if (rest & 1n) bits.push(bit);
  }
  if (bits.length > 0)
    fields.set(
      suffixed(target, "name"),
      bits.map((bit) => labels?.get(bit) ?? String(bit)),
    );
  return true;
}
