import { JsonNumber, type JsonNode } from "./json-node.ts";

/** A JSON value as `JSON.parse` gives it. */
export function plainJson(node: JsonNode): unknown {
  if (node instanceof JsonNumber) return Number(node.text);
  if (node instanceof Map) return Object.fromEntries(Array.from(node, ([name, value]) => [name, plainJson(value)]));
  return Array.isArray(node) ? node.map((each) => plainJson(each as JsonNode)) : node;
}
