import { quote } from "../../text/index.ts";
import { entityFacts, identityFacts, type FactSource, type IdentityFact, type IdentityRule } from "./identity-rule.ts";
import { describe, type MapReader } from "./map-reader.ts";
import type { YamlValue } from "./yaml-values.ts";

const keys: readonly string[] = [...identityFacts, "models"];
const sourceKeys = ["oid", "descr", "entity", "match", "value"];

/** A rule of `autodiscover/identities`: each fact is a text, a source, or a list of these. */
export function readIdentity(reader: MapReader): IdentityRule | undefined {
  reader.knowOnly(keys);
  const sources = new Map<IdentityFact, readonly FactSource[]>();
  for (const fact of identityFacts) {
    const node = reader.node(fact);
    if (node === undefined) continue;
    const items = Array.isArray(node) ? node : [node];
    const read = items.map((item, i) => readSource(item, Array.isArray(node) ? [fact, i] : [fact], fact, reader));
    sources.set(
      fact,
      read.filter((source) => source !== undefined),
    );
  }
  const models = new Map<string, string>();
  const map = reader.map("models");
  for (const key of map?.keys() ?? []) {
    const inner = reader.within(map as NonNullable<typeof map>, ["models"], "models: ");
    if (!/^\.?\d+(?:\.\d+)*$/.test(key))
      inner.error([key], "key", `${quote(key)} is not the end of an OID, such as 1208`);
    const model = inner.requiredText(key);
    if (!inner.isValid) reader.isValid = false;
    if (model !== undefined) models.set(key.replace(/^\./, ""), model);
  }
  return reader.isValid ? { sources, models } : undefined;
}

function readSource(
  node: YamlValue,
  path: readonly (string | number)[],
  fact: IdentityFact,
  reader: MapReader,
): FactSource | undefined {
  if (typeof node === "string" && node !== "") return { from: "value", value: node };
  if (!(node instanceof Map)) {
    reader.error(path, "value", `${fact}: expected a text or a mapping, found ${describe(node)}`);
    return undefined;
  }
  const inner = reader.within(node, path, `${fact}: `);
  inner.knowOnly(sourceKeys);
  const places = ["oid", "descr", "entity"].filter((key) => inner.has(key));
  if (places.length !== 1) inner.error([], "key", "expected one of oid, descr and entity");
  const value = inner.text("value");
  const match = readPattern(inner, places[0] === "descr" ? "descr" : "match");
  let source: FactSource | undefined;
  if (places[0] === "descr") source = { from: "descr" };
  else if (places[0] === "oid") {
    const oid = inner.oid("oid");
    if (oid !== undefined) source = { from: "oid", oid: oid.oid };
  } else if (places[0] === "entity") {
    const entity = inner.oneOf("entity", entityFacts);
    if (entity !== undefined) source = { from: "entity", entity };
  }
  if (!inner.isValid) reader.isValid = false;
  return source && { ...source, ...(match && { match }), ...(value !== undefined && { value }) };
}

function readPattern(reader: MapReader, key: string): RegExp | undefined {
  const text = reader.text(key);
  if (text === undefined) return undefined;
  try {
    return new RegExp(text, "iu");
  } catch (error) {
    reader.error([key], "value", `${key}: ${quote(text)} is not a regular expression: ${(error as Error).message}`);
    return undefined;
  }
}
