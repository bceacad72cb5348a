import { isMappedSpelling, KeyError, parseKey, type Key } from "../../base/ip/index.ts";
import { quote } from "../../base/text/index.ts";
import {
  createPositions,
  type Fail,
  isNullNode,
  readYaml,
  type TextPosition,
  YamlFault,
  type YamlScalar,
} from "../../base/yaml/index.ts";
import { readEntry } from "./read-entry.ts";
import type { UdmEntry } from "./udm-entry.ts";

/** What a metadata file says. */
export interface UdmFileContent {
  /** In the order of the file. */
  readonly entries: readonly UdmEntry[];
  /** Names of fields that are kept but mean nothing here, and how many entries have them. */
  readonly unknownFields: ReadonlyMap<string, number>;
  /** Entries that are not used, because their IPv4-mapped key has an entry under the IPv4 key, too. */
  readonly mappedTwice: readonly MappedTwice[];
}

/** A place in the file, and what it says there. */
export interface MappedTwice extends TextPosition {
  readonly message: string;
}

/**
 * Reads a metadata file: one YAML document, a mapping from key to `{name, tags, vlan, internal, metadata, contexts}`.
 * An empty document is an empty database, a null entry one without values. Scalars are taken as they are spelt, so that
 * `01`, `1.10`, `1e3` and `yes` are those texts, and no key is ever read as a number. Aliases and merge keys are
 * followed.
 *
 * @throws YamlFault for a syntax error, a bad key, a key twice (also in two spellings) or a value of a wrong shape. A key that is there as
 * IPv4 and as IPv4-mapped address is no fault: they were two keys once.
 */
export function readEntries(text: string): UdmFileContent {
  const positionOf = createPositions(text);
  const fail: Fail = (message, at) => {
    throw new YamlFault(message, positionOf(at));
  };
  const entries = new Map<string, { readonly keyNode: YamlScalar; readonly entry: UdmEntry }>();
  const unknownFields = new Map<string, number>();
  const mappedTwice: MappedTwice[] = [];
  const root = readYaml(text);
  if (root !== undefined && root.kind !== "mapping" && !isNullNode(root)) {
    fail("expected a mapping from keys (IP, CIDR or range) to entries", root.at);
  }
  for (const { key: keyNode, value } of root?.kind === "mapping" ? root.pairs : []) {
    const key = readKey(keyNode, fail);
    const earlier = entries.get(key.text);
    const entry = readEntry(key, value, fail, unknownFields);
    if (earlier === undefined) {
      entries.set(key.text, { keyNode, entry });
      continue;
    }
    const twice = judgeTwice(key, earlier.keyNode, keyNode, positionOf);
    if (typeof twice === "string") fail(twice, keyNode.at);
    else mappedTwice.push(twice.warning);
    if (twice.used === keyNode) entries.set(key.text, { keyNode, entry });
  }
  return { entries: Array.from(entries.values(), ({ entry }) => entry), unknownFields, mappedTwice };
}

/**
 * Judges a key that a file has at two places.
 *
 * @returns why the file is refused; or, where one of the two is spelt by IPv4-mapped addresses, the other one, which is used.
 */
export function judgeTwice(
  key: Key,
  first: YamlScalar,
  second: YamlScalar,
  positionOf: (at: number) => TextPosition,
): string | { readonly used: YamlScalar; readonly warning: MappedTwice } {
  const place = ({ at }: YamlScalar): string => {
    const { line, column } = positionOf(at);
    return `line ${line}, column ${column}`;
  };
  const isFirstMapped = isMappedSpelling(first.text, key);
  if (isFirstMapped === isMappedSpelling(second.text, key)) {
    return `key ${JSON.stringify(second.text)} is given twice, first at ${place(first)}`;
  }
  const [used, unused] = isFirstMapped ? [second, first] : [first, second];
  const message = `key ${quote(unused.text)} is the key ${key.text} at ${place(used)}: that entry is used, this one is not`;
  return { used, warning: { ...positionOf(unused.at), message } };
}

function readKey(node: YamlScalar, fail: Fail): Key {
  try {
    return parseKey(node.text);
  } catch (error) {
    if (error instanceof KeyError) return fail(error.message, node.at);
    throw error;
  }
}
