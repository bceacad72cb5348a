import { FAILSAFE_SCHEMA, loadAll, mergeTag, realMapTag, YAMLException } from "js-yaml";
import { parsePlainYaml } from "./parse-plain-yaml.ts";
import type { YamlNode } from "./yaml-node.ts";

/** Without implicit types: a community `0123456789` stays what it is. Maps, because `__proto__` is a name like any other. */
const schema = FAILSAFE_SCHEMA.withTags(mergeTag, realMapTag);

/** Against a small file that stands for a huge one. */
const maxAliases = 10_000;

/** Why a text is no YAML, and where: line and column from 1. */
export class YamlError extends Error {
  readonly line: number | undefined;
  readonly column: number | undefined;

  constructor(message: string, line: number | undefined, column: number | undefined) {
    super(message);
    this.name = "YamlError";
    this.line = line;
    this.column = column;
  }
}

/**
 * Reads one YAML document. Every scalar is text as it was spelt; null in any spelling is text too. A file without
 * content is the empty text.
 *
 * @throws YamlError
 */
export function parseYaml(text: string): YamlNode {
  const plain = parsePlainYaml(text);
  if (plain !== undefined) return plain;
  let documents: unknown[];
  try {
    documents = loadAll(text, { schema, maxAliases });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw new YamlError("cannot be read as YAML", undefined, undefined);
    const { mark } = error;
    throw new YamlError(error.reason, mark && mark.line + 1, mark && mark.column + 1);
  }
  if (documents.length > 1) throw new YamlError("expected one YAML document", undefined, undefined);
  return (documents[0] ?? "") as YamlNode;
}
