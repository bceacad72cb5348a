import type { UdmEntry, UdmFileOnly } from "./entry.ts";
import type { Key } from "../../base/ip/index.ts";
import { parseStoredKey } from "./name-key.ts";
import { quotedScalar, renderKey, stringScalar } from "../../base/yaml/index.ts";

/** Returns an entry as proto3 JSON: lowerCamelCase names in the order of the schema, no zero values, `vlan` as a string. */
export function udmJson(entry: UdmEntry): string {
  // A key has no character that JSON must escape.
  let json = `{"key":"${entry.key.text}"`;
  if (entry.name !== "") json += `,"name":${jsonText(entry.name)}`;
  if (entry.tags.length > 0) {
    let before = ',"tags":[';
    for (const tag of entry.tags) {
      json += before + jsonText(tag);
      before = ",";
    }
    json += "]";
  }
  if (entry.vlan !== 0n) json += `,"vlan":"${entry.vlan}"`;
  if (entry.internal) json += `,"internal":true`;
  if (entry.metadata.size > 0) {
    let before = metadataStart;
    for (const [key, value] of entry.metadata) {
      json += `${before}${jsonText(key)}:${jsonText(value)}`;
      before = ",";
    }
    json += "}";
  }
  return `${json}}`;
}

/** Matches characters that JSON may have to escape: control characters, quotes, backslashes and surrogates. */
const mayBeEscaped = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;

/** Returns a text as JSON.stringify writes it. JSON.stringify itself is slow for short texts. */
function jsonText(text: string): string {
  return mayBeEscaped.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** Reads the values from the text of {@link udmJson}, and keeps the order of metadata. */
export function parseUdmJson(json: string): Omit<UdmEntry, "key" | "fileOnly"> & { readonly key: string } {
  const parsed = JSON.parse(json) as {
    key: string;
    name?: string;
    tags?: string[];
    vlan?: string;
    internal?: boolean;
    metadata?: Record<string, string>;
  };
  return {
    key: parsed.key,
    name: parsed.name ?? "",
    tags: parsed.tags ?? [],
    vlan: parsed.vlan === undefined ? 0n : BigInt(parsed.vlan),
    internal: parsed.internal ?? false,
    metadata: parsed.metadata === undefined ? new Map<string, string>() : metadataMap(parsed.metadata, json),
  };
}

function metadataMap(metadata: Record<string, string>, json: string): Map<string, string> {
  const pairs = Object.entries(metadata);
  // A JavaScript object puts names such as `10` before all others, in spite of their order in the text.
  if (!/^[0-9]+$/.test(pairs[0]?.[0] ?? "")) return new Map(pairs);
  const start = json.indexOf(metadataStart) + metadataStart.length;
  const texts = Array.from(json.slice(start).matchAll(/"(?:[^"\\]|\\.)*"/g), ([text]) => JSON.parse(text) as string);
  const map = new Map<string, string>();
  for (let i = 0; i < texts.length; i += 2) map.set(texts[i] as string, texts[i + 1] as string);
  return map;
}

/** The beginning of the metadata. The text of an earlier field cannot contain these unescaped quotes. */
const metadataStart = ',"metadata":{';

/** A whole entry as two JSON texts. */
interface EntryTextPair {
  /** The text of {@link udmJson}, including the key. */
  readonly json: string;
  /** The entry's {@link UdmFileOnly}; undefined where it has none. */
  readonly fileOnly: string | undefined;
}

export function entryTextPair(entry: UdmEntry): EntryTextPair {
  return { json: udmJson(entry), fileOnly: entry.fileOnly && JSON.stringify(entry.fileOnly) };
}

/** Reads an entry from the texts of {@link entryTextPair}. */
export function readEntryTexts(json: string, fileOnly: string | undefined): UdmEntry {
  const values = parseUdmJson(json);
  const entry = { ...values, key: parseStoredKey(values.key) };
  return fileOnly === undefined ? entry : { ...entry, fileOnly: JSON.parse(fileOnly) as UdmFileOnly };
}

/**
 * Returns an entry as block YAML at column 1, with an end after each line. Fields with their zero value are left out; an entry without
 * fields is `{}`. A string is quoted whenever a reader of YAML 1.1 or 1.2 could read it as another type.
 */
export function renderEntry(entry: UdmEntry): string {
  let body = "";
  if (entry.name !== "") body += `  name: ${stringScalar(entry.name)}\n`;
  if (entry.tags.length > 0) {
    body += "  tags:\n";
    for (const tag of entry.tags) body += `    - ${stringScalar(tag)}\n`;
  }
  if (entry.vlan !== 0n) body += `  vlan: ${entry.vlan}\n`;
  if (entry.internal) body += "  internal: true\n";
  if (entry.metadata.size > 0) {
    body += "  metadata:\n";
    for (const [key, value] of entry.metadata) {
      body += `    ${renderKey(stringScalar(key), "    ")} ${stringScalar(value)}\n`;
    }
  }
  body += entry.fileOnly?.yaml ?? "";
  const key = keyScalar(entry.key);
  return body === "" ? `${key}: {}\n` : `${key}:\n${body}`;
}

/** The text of a file without entries. A YAML reader would read an empty file as null. */
export const emptyFileText = "{}\n";

/** Returns a key as a YAML scalar. IPv6 needs quotes: YAML 1.1 reads `1:2:3:4:5:6:7:8` as a number in base 60, and a key may end in a colon. */
function keyScalar(key: Key): string {
  return key.family === 4 ? key.text : quotedScalar(key.text);
}

/** Returns the position after the lines of the entry that begins here: the next line that is not indented, empty or a comment. */
export function entryEnd(bytes: Uint8Array, at: number): number {
  // A plain loop is faster than a search here, because lines are short.
  for (let i = at; i < bytes.length; i++) {
    if (bytes[i] !== lineFeed) continue;
    const next = bytes[i + 1];
    if (next !== blank && next !== lineFeed && next !== carriageReturn && next !== hash) return i + 1;
  }
  return bytes.length;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const blank = 0x20;
const hash = 0x23;
