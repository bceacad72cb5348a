import { createPositions, isNullNode, mergedPairs, readYaml, YamlFault, type YamlNode } from "../../yaml/index.ts";
import { ExchangeError } from "../exchange-error.ts";
import type { FaultList } from "../fault-list.ts";
import { rowsOfABlock, type Row, type RowBlocks } from "./row.ts";

/**
 * The rows of a YAML text: the items of a list, or the entries of a mapping, whose name is the row's `key`, as in the
 * metadata file. Scalars are texts as they are spelt, null is nothing.
 */
export async function* yamlRows(text: string, faults: FaultList): RowBlocks {
  const root = parse(text, faults);
  const positions = createPositions(text);
  let block: Row[] = [];
  let number = 0;
  for (const { at, key, node } of root === undefined ? [] : itemsOf(root)) {
    number++;
    const { line } = positions(at);
    const values = node.kind === "mapping" || isNullNode(node) ? valueOf(node) : undefined;
    if (node.kind !== "mapping" && !isNullNode(node)) {
      faults.add({ row: number, line, column: "", field: "", reason: "the entry is not a mapping" });
    } else block.push({ number, line, header: undefined, values: { ...(values as object), ...key } });
    if (block.length < rowsOfABlock) continue;
    yield block;
    block = [];
  }
  yield block;
}

function parse(text: string, faults: FaultList): YamlNode | undefined {
  try {
    return readYaml(text, (reason, at) => {
      const { line } = createPositions(text)(at);
      faults.add({ row: 0, line, column: "", field: "", reason });
    });
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    throw new ExchangeError("", `the text is not YAML: ${error.message}`);
  }
}

function itemsOf(root: YamlNode): { at: number; key: { key?: string }; node: YamlNode }[] {
  if (root.kind === "sequence") return root.items.map((node) => ({ at: node.at, key: {}, node }));
  if (root.kind === "mapping") {
    return mergedPairs(root, fail).map(({ key, value }) => ({ at: key.at, key: { key: key.text }, node: value }));
  }
  if (isNullNode(root)) return [];
  throw new ExchangeError("", "the YAML text is neither a list nor a mapping");
}

function valueOf(node: YamlNode): unknown {
  if (isNullNode(node)) return undefined;
  if (node.kind === "scalar") return node.text;
  if (node.kind === "sequence") return node.items.map(valueOf);
  // A name like `__proto__` is a name like any other.
  const value = Object.create(null) as Record<string, unknown>;
  for (const pair of mergedPairs(node, fail)) value[pair.key.text] = valueOf(pair.value);
  return value;
}

function fail(message: string): never {
  throw new ExchangeError("", `the text is not YAML that can be read: ${message}`);
}
