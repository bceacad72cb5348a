import { RE2JS } from "re2js";
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

/** Steps of a pattern as it is compiled: it takes at most so many for each character of a text. */
const maxPatternSize = 2000;

/**
 * A pattern in the syntax of RE2, case not counting. What a device says is matched against it, and so it must not take exponential time:
 * with JavaScript's engine it may.
 */
function readPattern(reader: MapReader, key: string): RE2JS | undefined {
  const text = reader.text(key);
  if (text === undefined) return undefined;
  try {
    const pattern = RE2JS.compile(withoutLineEnds(text), RE2JS.CASE_INSENSITIVE);
    if (pattern.programSize() <= maxPatternSize) return pattern;
    reader.error([key], "value", `${key}: the regular expression ${quote(text)} is too large: repeat less in it`);
  } catch (error) {
    const reason = (error as Error).message.replace("error parsing regexp: ", "").replace("`(?i)", "`");
    reader.error([key], "value", `${key}: ${quote(text)} is not a regular expression of RE2: ${reason}`);
  }
  return undefined;
}

/** A dot is no end of a line, as in JavaScript; to RE2 only a line feed is one. */
function withoutLineEnds(pattern: string): string {
  return pattern.replaceAll(/\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\./gsu, (part) =>
    part === "." ? String.raw`[^\n\r\x{2028}\x{2029}]` : part,
  );
}
