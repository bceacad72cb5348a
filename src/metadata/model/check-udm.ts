import { KeyError, type Key } from "../../base/ip/index.ts";
import { udmFields, type UdmField, type UdmFileOnly, type UdmValues } from "./entry.ts";
import { keyReaders, type ReadKey } from "./name-key.ts";
import { maxViolations, type UdmViolation } from "./udm-store.ts";
import { quote } from "../../base/text/index.ts";

/** One entry as a client sends it. It has the types of the schema, but nothing is checked yet. */
export interface UdmInput extends Omit<UdmValues, "metadata"> {
  readonly key: string;
  readonly metadata: Iterable<readonly [string, string]>;
}

/** A violation without its position in a batch. */
export type FieldViolation = Omit<UdmViolation, "index">;

export type UdmCheck =
  | { readonly ok: true; readonly key: Key; readonly values: UdmValues }
  | { readonly ok: false; readonly violations: readonly FieldViolation[] };

/** The greatest lengths in characters, counted as Unicode code points. */
const maxName = 255;
const maxTag = 255;
const maxMetadataKey = 255;
const maxMetadataValue = 4096;
const maxVlan = 2n ** 64n - 1n;
/** The most tags or metadata keys of an entry, and the most names in other lists of a request. */
export const maxItems = 1024;
/** The most bytes of an entry's texts in UTF-8: name, tags, keys and values of metadata, and file-only fields. */
const maxEntryBytes = 65_536;

/**
 * Checks the key of one entry of a request, and the values that the request changes.
 *
 * @param fields the fields that a mask names; undefined for all. Other fields are not checked and are returned unset.
 * @param parse reads the key.
 * @returns the entry, or all its violations in the order of the fields, at most {@link maxViolations}.
 */
export function checkUdm(
  input: UdmInput,
  fields: readonly UdmField[] = udmFields,
  parse: ReadKey = keyReaders.addresses,
): UdmCheck {
  const { key, violations } = checkKey(input.key, parse);
  // Read it once, because some iterables can be read only once.
  const metadata = [...input.metadata];
  violations.push(...checkValues({ ...input, metadata }, fields, input.key));
  if (key === undefined || violations.length > 0) return { ok: false, violations: violations.slice(0, maxViolations) };
  const changes = new Set(fields);
  const values: UdmValues = {
    name: changes.has("name") ? input.name : "",
    tags: changes.has("tags") ? [...input.tags] : [],
    vlan: changes.has("vlan") ? input.vlan : 0n,
    internal: changes.has("internal") && input.internal,
    metadata: new Map(changes.has("metadata") ? metadata : []),
  };
  return { ok: true, key, values };
}

/**
 * Checks the values, but not the key. A request that breaks a rule is refused. An entry of the file that breaks a rule is
 * loaded unchanged, with a warning for each violation.
 *
 * @param key the key of the entry, for the texts about its size. If left out, the caller names the entry.
 * @returns at most {@link maxViolations}, in the order of the fields.
 */
export function checkValues(
  values: Omit<UdmInput, "key"> & { readonly fileOnly?: UdmFileOnly },
  fields: readonly UdmField[] = udmFields,
  key?: string,
): readonly FieldViolation[] {
  const isWhole = fields === udmFields;
  const amounts = measureEntry({
    name: isWhole || fields.includes("name") ? values.name : "",
    tags: isWhole || fields.includes("tags") ? values.tags : [],
    metadata: isWhole || fields.includes("metadata") ? values.metadata : [],
    ...(values.fileOnly !== undefined && { fileOnly: values.fileOnly }),
  });
  // An oversized entry is not checked further, because that would take long.
  const excess = excessOf(amounts, key);
  if (excess !== undefined) return [excess];
  const violations: FieldViolation[] = [];
  for (const field of udmFields) {
    if (fields === udmFields || fields.includes(field)) valueRules[field](values, violations);
    if (violations.length >= maxViolations) return violations;
  }
  return violations;
}

/** The size of an entry. */
export interface EntryAmounts {
  readonly tags: number;
  readonly metadata: number;
  /** The bytes of its texts in UTF-8. */
  readonly bytes: number;
}

/** Measures an entry, or the part of it that a request has. */
export function measureEntry({
  name,
  tags,
  metadata,
  fileOnly,
}: Pick<UdmInput, "name" | "tags" | "metadata"> & { readonly fileOnly?: UdmFileOnly }): EntryAmounts {
  let bytes = Buffer.byteLength(name) + Buffer.byteLength(fileOnly?.yaml ?? "");
  for (const tag of tags) bytes += Buffer.byteLength(tag);
  let count = 0;
  for (const [key, value] of metadata) {
    count++;
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  return { tags: tags.length, metadata: count, bytes };
}

/**
 * Returns a violation where an entry is too large.
 *
 * @param before the previous size. A write that does not enlarge the entry is allowed, because the file may have oversized entries.
 */
export function excessOf(
  { tags, metadata, bytes }: EntryAmounts,
  key?: string,
  before: EntryAmounts = { tags: 0, metadata: 0, bytes: 0 },
): FieldViolation | undefined {
  const whose = key === undefined ? "" : ` of key ${quote(key)}`;
  if (tags > maxItems && tags > before.tags) {
    return { field: "tags", description: `the ${tags} tags${whose} are more than ${maxItems}` };
  }
  if (metadata > maxItems && metadata > before.metadata) {
    return { field: "metadata", description: `the ${metadata} metadata keys${whose} are more than ${maxItems}` };
  }
  if (bytes <= maxEntryBytes || bytes <= before.bytes) return undefined;
  const field = metadata >= tags ? "metadata" : "tags";
  const description = `the texts of the entry${whose} take ${bytes} bytes, more than ${maxEntryBytes}`;
  return { field, description };
}

/** A rule that adds its violations, up to {@link maxViolations}. */
type ValueRule = (values: Omit<UdmInput, "key">, violations: FieldViolation[]) => void;

const valueRules: Readonly<Record<UdmField, ValueRule>> = {
  name({ name }, violations) {
    const fault = textFault(name, maxName);
    if (fault) violations.push({ field: "name", description: `name ${quote(name)} ${fault}` });
  },
  tags({ tags }, violations) {
    for (let i = 0; i < tags.length && violations.length < maxViolations; i++) {
      const tag = tags[i] as string;
      const fault = tag === "" ? "is empty" : textFault(tag, maxTag);
      if (fault) violations.push({ field: `tags[${i}]`, description: `tag ${quote(tag)} ${fault}` });
    }
  },
  vlan({ vlan }, violations) {
    if (vlan >= 0n && vlan <= maxVlan) return;
    violations.push({ field: "vlan", description: `vlan ${quote(vlan.toString())} is not an unsigned 64-bit integer` });
  },
  // Every boolean is valid.
  internal() {},
  metadata({ metadata }, violations) {
    // A map cannot have a key twice.
    const seen = metadata instanceof Map ? undefined : new Set<string>();
    for (const [key, value] of metadata) {
      const keyFault = seen?.has(key) === true ? "appears twice" : metadataKeyFault(key);
      const fault = textFault(value, maxMetadataValue);
      seen?.add(key);
      if (!keyFault && !fault) continue;
      const field = `metadata[${quote(key)}]`;
      if (keyFault) violations.push({ field, description: `metadata key ${quote(key)} ${keyFault}` });
      if (fault && violations.length < maxViolations) {
        violations.push({ field, description: `value ${quote(value)} of metadata key ${quote(key)} ${fault}` });
      }
      if (violations.length >= maxViolations) return;
    }
  },
};

function checkKey(text: string, parse: ReadKey): { key?: Key; violations: FieldViolation[] } {
  try {
    return { key: parse(text), violations: [] };
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    return { violations: [{ field: "key", description: error.message }] };
  }
}

/**
 * Returns texts of an entry that look different from their content. They have characters that change the writing direction, or that have no
 * width. They are allowed, because some scripts need them.
 */
export function deceptiveTexts({ name, tags, metadata }: UdmValues): readonly string[] {
  const found: string[] = [];
  const look = (what: string, text: string): void => {
    const sign = /[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u.exec(text)?.[0];
    if (sign === undefined || found.length >= maxViolations) return;
    const number = sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
    found.push(`${what} ${quote(text)} has a character that is not seen, or turns the text round (U+${number})`);
  };
  look("name", name);
  for (const tag of tags) look("tag", tag);
  for (const [key, value] of metadata) {
    look("metadata key", key);
    look(`value of metadata key ${quote(key)}`, value);
  }
  return found;
}

function metadataKeyFault(key: string): string | undefined {
  if (key === "") return "is empty";
  const fault = textFault(key, maxMetadataKey);
  if (fault) return fault;
  if (/\s/u.test(key)) return "contains white space";
  const isEmptyPart = key.includes("..") || key.endsWith(".");
  return isEmptyPart ? "has an empty part between dots" : undefined;
}

function textFault(text: string, maxLength: number): string | undefined {
  if (isLonger(text, maxLength)) return `is longer than ${maxLength} characters`;
  // U+0000 to U+001F and U+007F to U+009F.
  if (/\p{Cc}/u.test(text)) return "contains a control character";
  // UTF-8 cannot encode half of a surrogate pair, so neither a response nor the file could contain it.
  return /\p{Cs}/u.test(text) ? "contains half of a surrogate pair" : undefined;
}

/** Reports whether a text is too long. A code point takes one or two units of a JavaScript string, so most texts need no counting. */
function isLonger(text: string, maxLength: number): boolean {
  if (text.length <= maxLength) return false;
  return text.length > 2 * maxLength || [...text].length > maxLength;
}
