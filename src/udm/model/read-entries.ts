import { KeyError, parseKey, type Key } from "../../ip/index.ts";
import { type Fail, isNullNode, positionAt, readYaml, YamlFault, type YamlScalar } from "../../yaml/index.ts";
import { readEntry } from "./read-entry.ts";
import type { UdmEntry } from "./udm-entry.ts";

/** What a metadata file says. */
export interface UdmFileContent {
  /** In the order of the file. */
  readonly entries: readonly UdmEntry[];
  /** Names of fields that are kept but mean nothing here, and how many entries have them. */
  readonly unknownFields: ReadonlyMap<string, number>;
}

/**
 * Reads a metadata file: one YAML document, a mapping from key to `{name, tags, vlan, internal, metadata, contexts}`.
 * An empty document is an empty database, a null entry one without values. Scalars are taken as they are spelt, so that
 * `01`, `1.10`, `1e3` and `yes` are those texts, and no key is ever read as a number. Aliases and merge keys are
 * followed.
 *
 * @throws YamlFault for a syntax error, a bad key, a key twice (also in two spellings) or a value of a wrong shape.
 */
export function readEntries(text: string): UdmFileContent {
  const fail: Fail = (message, at) => {
    throw new YamlFault(message, positionAt(text, at));
  };
  const entries: UdmEntry[] = [];
  const unknownFields = new Map<string, number>();
  const firstAt = new Map<string, number>();
  const root = readYaml(text);
  if (root !== undefined && root.kind !== "mapping" && !isNullNode(root)) {
    fail("expected a mapping from keys (IP, CIDR or range) to entries", root.at);
  }
  for (const { key: keyNode, value } of root?.kind === "mapping" ? root.pairs : []) {
    const key = readKey(keyNode, fail);
    const earlier = firstAt.get(key.text);
    if (earlier !== undefined) {
      const { line, column } = positionAt(text, earlier);
      const shown = JSON.stringify(keyNode.text);
      fail(`key ${shown} is given twice, first at line ${line}, column ${column}`, keyNode.at);
    }
    firstAt.set(key.text, keyNode.at);
    entries.push(readEntry(key, value, fail, unknownFields));
  }
  return { entries, unknownFields };
}

function readKey(node: YamlScalar, fail: Fail): Key {
  try {
    return parseKey(node.text);
  } catch (error) {
    if (error instanceof KeyError) return fail(error.message, node.at);
    throw error;
  }
}
