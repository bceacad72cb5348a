import type { UdmContext, UdmEntry } from "./entry.ts";
import { quote } from "../../base/text/index.ts";
import {
  isNullNode,
  mergedPairs,
  type Fail,
  type YamlNode,
  renderPair,
  createPositions,
  readYaml,
  type TextPosition,
  YamlFault,
  type YamlScalar,
} from "../../base/yaml/index.ts";
import { type Key, isMappedSpelling, KeyError } from "../../base/ip/index.ts";
import { keyReaders, type ReadKey } from "./name-key.ts";

const plainTags: ReadonlySet<string> = new Set(["!", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp"]);

/** Returns the text of a scalar as it is spelt. Null or an absent value gives the empty text. */
function readText(node: YamlNode, what: string, fail: Fail): string {
  if (node.kind !== "scalar") return fail(`${what} must be a text, not a ${nodeNames[node.kind]}`, node.at);
  if (node.tag !== undefined && !plainTags.has(node.tag)) return fail(`${what} has the tag ${node.tag}`, node.at);
  return isNullNode(node) ? "" : node.text;
}

const nodeNames = { scalar: "text", sequence: "list", mapping: "mapping" } as const;

/** Reads a list of texts. A single text gives a list of one, null an empty list. */
function readTexts(node: YamlNode, what: string, fail: Fail): string[] {
  if (isNullNode(node)) return [];
  if (node.kind === "sequence") return node.items.map((item, i) => readText(item, `${what}[${i}]`, fail));
  if (node.kind === "scalar") return [readText(node, what, fail)];
  return fail(`${what} must be a list, not a mapping`, node.at);
}

const maxVlan = 2n ** 64n - 1n;

/** Reads a decimal integer, quoted or not. Other spellings (`0x10`, `010`, `1e3`) are refused: readers disagree about their values. */
function readVlan(node: YamlNode, fail: Fail): bigint {
  const text = readText(node, "vlan", fail);
  if (text === "") return 0n;
  const vlan = /^(?:0|[1-9][0-9]{0,19})$/.test(text) ? BigInt(text) : -1n;
  if (vlan < 0n || vlan > maxVlan) {
    fail(`vlan must be a decimal integer from 0 to ${maxVlan}, not ${quote(text)}`, node.at);
  }
  return vlan;
}

const trueTexts: ReadonlySet<string> = new Set(["true", "yes", "on", "y"]);
const falseTexts: ReadonlySet<string> = new Set(["false", "no", "off", "n", ""]);

/** Reads a Boolean in the spellings of YAML 1.1, in upper or lower case, quoted or not. */
function readBool(node: YamlNode, what: string, fail: Fail): boolean {
  const text = readText(node, what, fail).toLowerCase();
  if (trueTexts.has(text)) return true;
  if (falseTexts.has(text)) return false;
  return fail(`${what} must be true or false, not ${quote(text)}`, node.at);
}

/** Reads a map from string to string. Each value is taken as it is spelt. */
function readTextMap(node: YamlNode, what: string, fail: Fail): ReadonlyMap<string, string> {
  if (isNullNode(node)) return new Map();
  if (node.kind !== "mapping") return fail(`${what} must be a mapping, not a ${nodeNames[node.kind]}`, node.at);
  return new Map(
    mergedPairs(node, fail).map(({ key, value }) => [
      key.text,
      readText(value, `${what}[${JSON.stringify(key.text)}]`, fail),
    ]),
  );
}

/** Reads the contexts; undefined means no limit. An unknown context also limits the entry, because it matches nothing. */
function readContexts(node: YamlNode, fail: Fail): readonly UdmContext[] | undefined {
  const texts = readTexts(node, "contexts", fail);
  return texts.length === 0 ? undefined : texts.filter((text) => text === "exporter" || text === "endpoint");
}

/**
 * Reads the value of a key in a metadata file. It does not check lengths or characters.
 *
 * @param unknownFields counts fields that are kept but not known.
 */
export function readEntry(key: Key, node: YamlNode, fail: Fail, unknownFields: Map<string, number>): UdmEntry {
  let name = "";
  let tags: readonly string[] = [];
  let vlan = 0n;
  let internal = false;
  let metadata: ReadonlyMap<string, string> = new Map();
  let contexts: readonly UdmContext[] | undefined;
  let yaml = "";

  if (node.kind !== "mapping" && !isNullNode(node)) fail(`the entry of ${key.text} must be a mapping`, node.at);
  for (const pair of node.kind === "mapping" ? mergedPairs(node, fail) : []) {
    const { value } = pair;
    switch (pair.key.text) {
      case "name":
        name = readText(value, "name", fail);
        break;
      case "tags":
        tags = readTexts(value, "tags", fail);
        break;
      case "vlan":
        vlan = readVlan(value, fail);
        break;
      case "internal":
        internal = readBool(value, "internal", fail);
        break;
      case "metadata":
        metadata = readTextMap(value, "metadata", fail);
        break;
      case "contexts":
        contexts = readContexts(value, fail);
        yaml += renderPair(pair, "  ");
        break;
      default:
        unknownFields.set(pair.key.text, (unknownFields.get(pair.key.text) ?? 0) + 1);
        yaml += renderPair(pair, "  ");
    }
  }

  const values = { key, name, tags, vlan, internal, metadata };
  if (yaml === "") return values;
  return { ...values, fileOnly: contexts === undefined ? { yaml } : { yaml, contexts } };
}

/** The content of a metadata file. */
interface UdmFileContent {
  /** The entries in the order of the file. */
  readonly entries: readonly UdmEntry[];
  /** The names of fields that are kept but not known, with the number of entries that have each. */
  readonly unknownFields: ReadonlyMap<string, number>;
  /** Entries that are ignored, because their key is IPv4-mapped and the IPv4 key also has an entry. */
  readonly mappedTwice: readonly MappedTwice[];
}

/** A location in the file, and the text there. */
export interface MappedTwice extends TextPosition {
  readonly message: string;
}

/**
 * Reads a metadata file: one YAML document, a mapping from key to `{name, tags, vlan, internal, metadata, contexts}`.
 * An empty document is an empty database; a null entry has no values. Scalars are taken as they are spelt, so that
 * `01`, `1.10`, `1e3` and `yes` stay texts, and no key becomes a number. Aliases and merge keys are
 * resolved.
 *
 * @param parse reads the keys.
 * @throws YamlFault for a syntax error, a bad key, a duplicate key (also in two spellings) or a value of a wrong shape. A key that occurs both as
 * IPv4 and as IPv4-mapped address is no fault, because older files may have both.
 */
export function readEntries(text: string, parse: ReadKey = keyReaders.addresses): UdmFileContent {
  const positionOf = createPositions(text);
  const fail: Fail = (message, at) => {
    throw new YamlFault(message, positionOf(at));
  };
  const entries = new Map<string, { readonly keyNode: YamlScalar; readonly entry: UdmEntry }>();
  const unknownFields = new Map<string, number>();
  const mappedTwice: MappedTwice[] = [];
  const root = readYaml(text);
  if (root !== undefined && root.kind !== "mapping" && !isNullNode(root)) {
    fail(notAMapping(parse), root.at);
  }
  for (const { key: keyNode, value } of root?.kind === "mapping" ? root.pairs : []) {
    const key = readKey(keyNode, parse, fail);
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
 * Judges a key that occurs twice in a file.
 *
 * @returns the reason to refuse the file. If one of the two is spelt with IPv4-mapped addresses, returns the other one, which is used.
 */
export function judgeTwice(
  key: Key,
  first: YamlScalar,
  second: YamlScalar,
  positionOf: (at: number) => TextPosition,
): string | { readonly used: YamlScalar; readonly warning: MappedTwice } {
  const location = ({ at }: YamlScalar): string => {
    const { line, column } = positionOf(at);
    return `line ${line}, column ${column}`;
  };
  const isFirstMapped = isMappedSpelling(first.text, key);
  if (isFirstMapped === isMappedSpelling(second.text, key)) {
    return `key ${JSON.stringify(second.text)} is given twice, first at ${location(first)}`;
  }
  const [used, unused] = isFirstMapped ? [second, first] : [first, second];
  const message = `key ${quote(unused.text)} is the key ${key.text} at ${location(used)}: that entry is used, this one is not`;
  return { used, warning: { ...positionOf(unused.at), message } };
}

/** Returns the message for a file that is not a mapping. */
export function notAMapping(parse: ReadKey): string {
  return `expected a mapping from keys (${parse === keyReaders.names ? "names" : "IP, CIDR or range"}) to entries`;
}

function readKey(node: YamlScalar, parse: ReadKey, fail: Fail): Key {
  try {
    return parse(node.text);
  } catch (error) {
    if (error instanceof KeyError) return fail(error.message, node.at);
    throw error;
  }
}
