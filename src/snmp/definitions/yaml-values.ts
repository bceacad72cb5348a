import {
  createPositions,
  mergedPairs,
  readYaml,
  YamlFault,
  type Fail,
  type TextPosition,
  type YamlNode,
} from "../../yaml/index.ts";

/** A YAML document without types: every scalar is the text that was written, null in any spelling too. */
export type YamlValue = string | YamlValue[] | YamlMap;
export type YamlMap = Map<string, YamlValue>;

/** Where in a document: the keys and indexes that lead there from its root. */
export type NodePath = readonly (string | number)[];

/** What a text says; the empty text when it says nothing. @throws YamlFault */
export function readValue(text: string): YamlValue {
  const positionOf = createPositions(text);
  const fail: Fail = (message, at) => {
    throw new YamlFault(message, positionOf(at));
  };
  const root = readYaml(text);
  return root === undefined ? "" : valueOf(root, fail);
}

const knownTags: ReadonlySet<string | undefined> = new Set([undefined, "!", "!!str", "!!seq", "!!map", "!!merge"]);

function valueOf(node: YamlNode, fail: Fail): YamlValue {
  // It is not repeated: it may be a secret that wanted quotes.
  if (!knownTags.has(node.tag)) fail("a tag (!…) that is not known; a text that begins so needs quotes", node.at);
  if (node.kind === "scalar") return node.text;
  if (node.kind === "sequence") return node.items.map((item) => valueOf(item, fail));
  const map: YamlMap = new Map();
  for (const { key, value } of mergedPairs(node, fail)) map.set(key.text, valueOf(value, fail));
  return map;
}

/** Positions of the keys and values of one document. */
export interface Positions {
  /** Of the value at the path, or of what comes nearest on the way to it. */
  value(path: NodePath): TextPosition;
  /** Of the last key of the path. */
  key(path: NodePath): TextPosition;
}

/**
 * Finds where the nodes of a text are. Costs as much as reading it, so it is for files about which there is something to
 * say.
 */
export function locateNodes(text: string): Positions {
  const positionOf = createPositions(text);
  const root = rootOf(text);
  const find = (path: NodePath): { key: number; value: number } => {
    let node = root;
    let key = 0;
    for (const step of path) {
      const next = node && stepInto(node, step);
      // What a merge brings in stands elsewhere: its place is that of the mapping that takes it.
      if (next === undefined || next.key < (node?.at ?? 0)) return { key, value: key };
      key = next.key;
      // So does what an alias stands for.
      if (next.value.at < key) return { key, value: key };
      node = next.value;
    }
    return { key, value: node?.at ?? 0 };
  };
  return { key: (path) => positionOf(find(path).key), value: (path) => positionOf(find(path).value) };
}

function stepInto(node: YamlNode, step: string | number): { key: number; value: YamlNode } | undefined {
  if (node.kind === "sequence") {
    const item = node.items[Number(step)];
    return item && { key: item.at, value: item };
  }
  if (node.kind === "scalar") return undefined;
  const pair = mergedPairs(node, noPlace).find(({ key }) => key.text === step);
  return pair && { key: pair.key.at, value: pair.value };
}

function noPlace(): never {
  throw new Error("a merge that was read cannot fail");
}

/** A text that cannot be read has no positions; the error has its own. */
function rootOf(text: string): YamlNode | undefined {
  try {
    return readYaml(text);
  } catch (error) {
    if (error instanceof YamlFault) return undefined;
    throw error;
  }
}
