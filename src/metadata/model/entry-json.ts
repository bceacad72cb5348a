import type { UdmEntry } from "./udm-entry.ts";

/** An entry as proto3 JSON: lowerCamelCase names in the order of the schema, zero values left out, vlan as a string. */
export function udmJson(entry: UdmEntry): string {
  // A key has no character that JSON escapes.
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

/** All but what stands for itself in JSON: from the blank on, without quotes, backslashes and surrogates. */
const mayBeEscaped = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;

/** A text as JSON.stringify writes it, which is slow for short ones. */
function jsonText(text: string): string {
  return mayBeEscaped.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** The values back from {@link udmJson}, the order of metadata included. */
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
  // An object has names like `10` before the others, whatever the order of the text.
  if (!/^[0-9]+$/.test(pairs[0]?.[0] ?? "")) return new Map(pairs);
  const start = json.indexOf(metadataStart) + metadataStart.length;
  const texts = Array.from(json.slice(start).matchAll(/"(?:[^"\\]|\\.)*"/g), ([text]) => JSON.parse(text) as string);
  const map = new Map<string, string>();
  for (let i = 0; i < texts.length; i += 2) map.set(texts[i] as string, texts[i + 1] as string);
  return map;
}

/** No text of a field before it can hold these quotes. */
const metadataStart = ',"metadata":{';
