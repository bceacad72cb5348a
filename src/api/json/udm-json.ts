import type { UdmEntry } from "../../udm/index.ts";

/** An entry as proto3 JSON: lowerCamelCase names in the order of the schema, zero values left out, vlan as a string. */
export function udmJson(entry: UdmEntry): string {
  let json = `{"key":${JSON.stringify(entry.key.text)}`;
  if (entry.name !== "") json += `,"name":${JSON.stringify(entry.name)}`;
  if (entry.tags.length > 0) json += `,"tags":${JSON.stringify(entry.tags)}`;
  if (entry.vlan !== 0n) json += `,"vlan":"${entry.vlan}"`;
  if (entry.internal) json += `,"internal":true`;
  if (entry.metadata.size > 0) {
    const pairs = Array.from(entry.metadata, ([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
    json += `,"metadata":{${pairs.join(",")}}`;
  }
  return `${json}}`;
}

/** `{"<name>":[<item>,…]}` in pieces of about `chunkLength` characters, each rendered when it is asked for. */
export function* jsonListChunks(name: string, items: Iterable<string>, chunkLength = 32_768): Generator<string> {
  let chunk = "";
  let isFirst = true;
  for (const item of items) {
    // An empty list is a zero value and left out.
    chunk += isFirst ? `{"${name}":[${item}` : `,${item}`;
    isFirst = false;
    if (chunk.length >= chunkLength) {
      yield chunk;
      chunk = "";
    }
  }
  yield isFirst ? "{}" : `${chunk}]}`;
}
