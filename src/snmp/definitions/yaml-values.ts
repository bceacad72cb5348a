import {
  createPositions,
  mergedPairs,
  readYamlSteps,
  YamlFault,
  type Fail,
  type TextPosition,
  type YamlNode,
  type YamlPair,
} from "../../base/yaml/index.ts";

/** A YAML document without types: every scalar is the text that was written, null in any spelling too. */
export type YamlValue = string | YamlValue[] | YamlMap;
export type YamlMap = Map<string, YamlValue>;

/** Where in a document: the keys and indexes that lead there from its root. */
export type NodePath = readonly (string | number)[];

/** What a text says, and where. */
export interface YamlDocument {
  /** The empty text when it says nothing. */
  readonly value: YamlValue;
  readonly positions: Positions;
}

/** Reads a text in steps: one for each pair of the outermost mapping. @throws YamlFault */
export function* readDocument(text: string): Generator<void, YamlDocument> {
  const root = yield* readYamlSteps(text);
  return { value: root === undefined ? "" : yield* rootValue(root, failIn(text)), positions: positionsOf(text, root) };
}

function* rootValue(root: YamlNode, fail: Fail): Generator<void, YamlValue> {
  if (root.kind !== "mapping") return valueOf(root, fail);
  checkTag(root, fail);
  const map: YamlMap = new Map();
  for (const { key, value } of mergedPairs(root, fail)) {
    map.set(key.text, valueOf(value, fail));
    yield;
  }
  return map;
}

function failIn(text: string): Fail {
  const positionOf = createPositions(text);
  return (message, at) => {
    throw new YamlFault(message, positionOf(at));
  };
}

const knownTags: ReadonlySet<string | undefined> = new Set([undefined, "!", "!!str", "!!seq", "!!map", "!!merge"]);

function checkTag({ tag, at }: YamlNode, fail: Fail): void {
  // It is not repeated: it may be a secret that wanted quotes.
  if (!knownTags.has(tag)) fail("a tag (!…) that is not known; a text that begins so needs quotes", at);
}

function valueOf(node: YamlNode, fail: Fail): YamlValue {
  checkTag(node, fail);
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
 * Finds where the nodes of a text are, in steps. Costs as much as reading it, so it is for files about which there is
 * something to say. A text that cannot be read has no positions; the error has its own.
 */
export function* locateNodes(text: string): Generator<void, Positions> {
  try {
    return positionsOf(text, yield* readYamlSteps(text));
  } catch (error) {
    if (error instanceof YamlFault) return positionsOf(text, undefined);
    throw error;
  }
}

function positionsOf(text: string, root: YamlNode | undefined): Positions {
  const positionOf = createPositions(text);
  // There may be something to say of each definition of a long file.
  let outermost: ReadonlyMap<string, YamlPair> | undefined;
  const find = (path: NodePath): { key: number; value: number } => {
    let node = root;
    let key = 0;
    for (const [level, step] of path.entries()) {
      let next: { key: number; value: YamlNode } | undefined;
      if (level === 0 && root?.kind === "mapping") {
        outermost ??= new Map(mergedPairs(root, noPlace).map((pair) => [pair.key.text, pair]));
        next = placeOf(outermost.get(String(step)));
      } else next = node && stepInto(node, step);
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
  return placeOf(mergedPairs(node, noPlace).find(({ key }) => key.text === step));
}

function placeOf(pair: YamlPair | undefined): { key: number; value: YamlNode } | undefined {
  return pair && { key: pair.key.at, value: pair.value };
}

function noPlace(): never {
  throw new Error("a merge that was read cannot fail");
}
