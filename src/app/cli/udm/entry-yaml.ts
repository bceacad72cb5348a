import { isUtf8 } from "node:buffer";
import {
  repeatedName,
  checkMetadataFile,
  checkUdm,
  keyReaders,
  parseStoredKey,
  type KeyForm,
  udmContexts,
  type UdmEntry,
  renderEntry,
  withContexts,
  type UdmContext,
} from "../../../metadata/index.ts";
import type { UdmJson } from "./udm-json.ts";

/** The entries of a text, and all its faults. */
export interface EntriesRead {
  /** Entries by canonical key, in the order of the text. */
  readonly entries: ReadonlyMap<string, UdmJson>;
  readonly faults: readonly EntryFault[];
}

export interface EntryFault {
  /** The line, from 1; absent where there is none to name. */
  readonly line?: number;
  readonly column?: number;
  readonly message: string;
  /** True if the entries can be used nevertheless. */
  readonly isWarning: boolean;
}

/**
 * Reads entries in the forms in which they are listed: the YAML of a metadata file, an array of JSON, `{"udms": […]}`, or one JSON object a
 * line. The API's rules apply.
 *
 * @param keys the kind of the entries' keys.
 */
export function readEntries(bytes: Uint8Array, keys: KeyForm = "addresses"): EntriesRead {
  // Text that is not UTF-8 is a fault of the YAML reader, which names the position.
  const text = isUtf8(bytes) ? Buffer.from(bytes).toString("utf8") : undefined;
  const json = text === undefined ? undefined : jsonEntries(text);
  if (text === undefined || json === undefined) return readYamlEntries(bytes, keys);
  const read = readJsonEntries(json, keys);
  const twice = repeatedName(text);
  return twice === undefined ? read : { ...read, faults: [{ message: twice, isWarning: false }, ...read.faults] };
}

function readYamlEntries(bytes: Uint8Array, keys: KeyForm): EntriesRead {
  const { entries, findings } = checkMetadataFile(bytes, undefined, keys);
  const faults: EntryFault[] = findings.map(({ line, column, message, isRefusedByApi }) => ({
    line,
    column,
    message,
    isWarning: !isRefusedByApi,
  }));
  return { entries: new Map(entries.map((entry) => [entry.key.text, jsonOf(entry)])), faults };
}

interface JsonElement {
  readonly value: unknown;
  /** The place, for messages. */
  readonly place: string;
}

/** @returns undefined for a text that is not JSON of entries. */
function jsonEntries(text: string): readonly JsonElement[] | undefined {
  const start = text.trimStart()[0];
  if (start !== "[" && start !== "{") return undefined;
  try {
    const value = JSON.parse(text) as unknown;
    const list = isObject(value) && Array.isArray(value["udms"]) ? value["udms"] : value;
    if (Array.isArray(list)) return list.map((element, i) => ({ value: element as unknown, place: `[${i}]` }));
    return isObject(value) && typeof value["key"] === "string" ? [{ value, place: "" }] : undefined;
  } catch {
    return jsonLines(text);
  }
}

function jsonLines(text: string): readonly JsonElement[] | undefined {
  const elements: JsonElement[] = [];
  for (const [i, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    try {
      elements.push({ value: JSON.parse(line) as unknown, place: `line ${i + 1}` });
    } catch {
      return undefined;
    }
  }
  return elements;
}

function readJsonEntries(elements: readonly JsonElement[], keys: KeyForm): EntriesRead {
  const entries = new Map<string, UdmJson>();
  const faults: EntryFault[] = [];
  for (const { value, place } of elements) {
    const note = (what: string): void =>
      void faults.push({ message: place === "" ? what : `${place}: ${what}`, isWarning: false });
    const entry = typedEntry(value, note);
    if (entry === undefined) continue;
    const { name = "", tags = [], vlan = "0", internal = false, metadata = {}, contexts = [] } = entry;
    const input = { key: entry.key, name, tags, vlan: BigInt(vlan), internal, metadata: Object.entries(metadata) };
    const checked = checkUdm(input, undefined, keyReaders[keys]);
    if (!checked.ok) for (const { description } of checked.violations) note(description);
    else if (entries.has(checked.key.text)) note(`key ${JSON.stringify(entry.key)} is given twice`);
    else
      entries.set(checked.key.text, { ...jsonOf({ key: checked.key, ...checked.values }), ...someContexts(contexts) });
  }
  return { entries, faults };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const fieldTypes: Readonly<Record<string, readonly [expected: string, isValid: (value: unknown) => boolean]>> = {
  key: ["a text", (value) => typeof value === "string"],
  name: ["a text", (value) => typeof value === "string"],
  tags: ["texts", (value) => Array.isArray(value) && value.every((tag) => typeof tag === "string")],
  vlan: [
    "a number",
    (value) => /^\d+$/.test(String(value)) && (typeof value === "string" || Number.isSafeInteger(value)),
  ],
  internal: ["true or false", (value) => typeof value === "boolean"],
  metadata: [
    "texts by name",
    (value) => isObject(value) && Object.values(value).every((one) => typeof one === "string"),
  ],
  contexts: [
    `a list of ${udmContexts.join(", ")}`,
    (value) => Array.isArray(value) && value.every((one) => (udmContexts as readonly unknown[]).includes(one)),
  ],
};

function typedEntry(value: unknown, note: (what: string) => void): UdmJson | undefined {
  if (!isObject(value)) {
    note("expected an entry: an object with a key");
    return undefined;
  }
  let isGood = true;
  const fault = (what: string): void => {
    isGood = false;
    note(what);
  };
  if (value["key"] === undefined) fault("key is missing");
  for (const [field, given] of Object.entries(value)) {
    const type = Object.hasOwn(fieldTypes, field) ? fieldTypes[field] : undefined;
    if (type === undefined) fault(`field ${JSON.stringify(field)} is not known`);
    else if (!type[1](given)) fault(`${field} must be ${type[0]}`);
  }
  return isGood ? (value as unknown as UdmJson) : undefined;
}

/** Returns an entry as the API sends it. */
function jsonOf({ key, name, tags, vlan, internal, metadata, fileOnly }: UdmEntry): UdmJson {
  return {
    key: key.text,
    ...(name !== "" && { name }),
    ...(tags.length > 0 && { tags: [...tags] }),
    ...(vlan !== 0n && { vlan: String(vlan) }),
    ...(internal && { internal }),
    ...(metadata.size > 0 && { metadata: Object.fromEntries(metadata) }),
    ...someContexts(fileOnly?.contexts),
  };
}

function someContexts(contexts: readonly string[] = []): Pick<UdmJson, "contexts"> {
  return contexts.length === 0 ? {} : { contexts: [...contexts] };
}

/** Returns the canonical form of a key, for comparisons. A text that is not a key stays unchanged, for the API to refuse. */
export function canonicalKey(text: string): string {
  try {
    return parseStoredKey(text).text;
  } catch {
    return text;
  }
}

/** Returns an entry as it stands in a metadata file. */
export function entryYaml(entry: UdmJson): string {
  const { key, name = "", tags = [], vlan = "0", internal = false, metadata = {}, contexts = [] } = entry;
  const values = { name, tags, vlan: BigInt(vlan), internal, metadata: new Map(Object.entries(metadata)) };
  return renderEntry(withContexts({ key: parseStoredKey(key), ...values }, contexts as readonly UdmContext[]));
}
