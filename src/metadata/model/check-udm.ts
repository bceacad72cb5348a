import { KeyError, type Key } from "../../base/ip/index.ts";
import { udmFields, type UdmField, type UdmFileOnly, type UdmValues } from "./entry.ts";
import { keyReaders, type ReadKey } from "./name-key.ts";
import { maxViolations, type UdmViolation } from "./udm-store.ts";
import { quote } from "../../base/text/index.ts";

/** One entry as a client sends it, with the types of the schema and nothing checked yet. */
export interface UdmInput extends Omit<UdmValues, "metadata"> {
  readonly key: string;
  readonly metadata: Iterable<readonly [string, string]>;
}

/** A violation that does not yet know its position in a batch. */
export type FieldViolation = Omit<UdmViolation, "index">;

export type UdmCheck =
  | { readonly ok: true; readonly key: Key; readonly values: UdmValues }
  | { readonly ok: false; readonly violations: readonly FieldViolation[] };

/** Lengths in characters, counted as Unicode code points. */
const maxName = 255;
const maxTag = 255;
const maxMetadataKey = 255;
const maxMetadataValue = 4096;
const maxVlan = 2n ** 64n - 1n;
/** Tags of an entry, keys of its metadata, and names in the other lists of a request. */
export const maxItems = 1024;
/** Bytes of the texts of an entry in UTF-8: name, tags, keys and values of metadata, and what the file alone knows. */
const maxEntryBytes = 65_536;

/**
 * Checks one entry of a request: its key, and the values that the request changes.
 *
 * @param fields the fields that a mask names; undefined for all. The others are not looked at and come back unset.
 * @param parse reads the key.
 * @returns the entry, or all that is wrong with it, in the order of the fields, at most {@link maxViolations}.
 */
export function checkUdm(
  input: UdmInput,
  fields: readonly UdmField[] = udmFields,
  parse: ReadKey = keyReaders.addresses,
): UdmCheck {
  const { key, violations } = checkKey(input.key, parse);
  // Read once: an iterable may be used up by it.
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
 * The rules for values, without the key. A request that breaks one is refused; an entry of the file that breaks one is
 * loaded as it is, with a warning for each violation.
 *
 * @param key of the entry, for the sentences about how much it holds; left out: the caller names it.
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
  // An entry that holds too much is not looked into: that would take long.
  const excess = excessOf(amounts, key);
  if (excess !== undefined) return [excess];
  const violations: FieldViolation[] = [];
  for (const field of udmFields) {
    if (fields === udmFields || fields.includes(field)) valueRules[field](values, violations);
    if (violations.length >= maxViolations) return violations;
  }
  return violations;
}

/** The amounts that an entry holds. */
export interface EntryAmounts {
  readonly tags: number;
  readonly metadata: number;
  /** Bytes of its texts in UTF-8. */
  readonly bytes: number;
}

/** Measures an entry, or what a request says of one. */
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
 * Says that an entry holds too much.
 *
 * @param before what it held: a write that makes it no larger is allowed, for the file may have larger ones.
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

/** Adds to the violations, until there are {@link maxViolations}. */
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
  // Every boolean is a good one.
  internal() {},
  metadata({ metadata }, violations) {
    // A map has each of its keys once.
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
 * Texts of an entry that do not look like what they are: with characters that turn the direction of what follows, or that have no
 * width. They are allowed, for some scripts need them.
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
  // Half of a pair has no form in UTF-8: neither a response nor the file could show it.
  return /\p{Cs}/u.test(text) ? "contains half of a surrogate pair" : undefined;
}

/** A code point takes one or two units of a JavaScript string, so most lengths need no counting. */
function isLonger(text: string, maxLength: number): boolean {
  if (text.length <= maxLength) return false;
  return text.length > 2 * maxLength || [...text].length > maxLength;
}
