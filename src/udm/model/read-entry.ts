import type { Key } from "../../ip/index.ts";
import { isNullNode, mergedPairs, renderPair, type Fail, type YamlNode } from "../../yaml/index.ts";
import { readBool, readContexts, readText, readTextMap, readTexts, readVlan } from "./read-fields.ts";
import type { UdmContext, UdmEntry } from "./udm-entry.ts";

/**
 * What the value of a key in a metadata file says. Rules on length and characters are not checked here.
 *
 * @param unknownFields counts fields that are kept but mean nothing here.
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
