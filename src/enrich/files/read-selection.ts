import type { Key } from "../../base/ip/index.ts";
import { quote } from "../../base/text/index.ts";
import { isNullNode, type YamlNode } from "../../base/yaml/index.ts";
import { readKey } from "./read-key.ts";
import { readMapFile, type ReadFile, type Reporter } from "./read-map-file.ts";

/** Which addresses a look-up is for, as an operator lists them. */
export interface SelectionLists {
  readonly include: readonly Key[];
  readonly exclude: readonly Key[];
}

/**
 * Reads a file that says which addresses a look-up is for: `{include: [10.0.0.0/8], exclude: [10.1.0.0-10.1.3.255]}`.
 *
 * @throws FileFindings
 */
export function readSelection(bytes: Uint8Array): ReadFile<SelectionLists> {
  return readMapFile(bytes, (root, report) => {
    const lists: Record<keyof SelectionLists, readonly Key[]> = { include: [], exclude: [] };
    for (const { key, value } of root?.pairs ?? []) {
      if (key.text === "include" || key.text === "exclude") lists[key.text] = readList(value, key.text, report);
      else report.error(key, `${quote(key.text)} is none of include, exclude`);
    }
    return lists;
  });
}

function readList(node: YamlNode, name: string, report: Reporter): Key[] {
  if (isNullNode(node)) return [];
  if (node.kind !== "sequence") {
    report.error(node, `${name}: expected a list of addresses, CIDRs or ranges`);
    return [];
  }
  return node.items.flatMap((item) => {
    if (item.kind === "scalar") return readKey(item, report) ?? [];
    report.error(item, `${name}: expected an address, a CIDR or a range`);
    return [];
  });
}
