import { createPlainCursor } from "./plain-cursor.ts";
import {
  unsupported,
  UnsupportedYaml,
  type YamlMapping,
  type YamlNode,
  type YamlPair,
  type YamlScalar,
  type YamlSequence,
} from "./yaml-node.ts";

/** The result of the fast reader for a text. */
export interface PlainYaml {
  /** The outermost node; undefined for a text without content. */
  readonly root: YamlNode | undefined;
}

/** Maximum depth of nodes; less than in the library's reader. */
const maxDepth = 40;
/** Mappings with fewer keys are searched linearly. */
const fewKeys = 8;

/**
 * Reads common YAML several times faster than the library: block mappings and sequences, scalars on one line, flow style on one line, comments. It
 * always gives the same result as the library's reader, including offsets. It gives up on anything else, including faults.
 *
 * @returns undefined when the library has to read the text.
 */
export type PlainYamlReader = (text: string) => PlainYaml | undefined;

/** Returns a reader for many texts, one after another. */
export function createPlainYamlReader(): PlainYamlReader {
  const reader = createDocumentReader();
  return (text) => {
    try {
      return { root: reader.document(text) };
    } catch (error) {
      if (error instanceof UnsupportedYaml) return undefined;
      throw error;
    }
  };
}

/** Reads a text like a {@link PlainYamlReader}, in steps: one for each pair of the outermost mapping. */
export function* plainYamlSteps(text: string): Generator<void, PlainYaml | undefined> {
  try {
    return { root: yield* createDocumentReader().documentSteps(text) };
  } catch (error) {
    if (error instanceof UnsupportedYaml) return undefined;
    throw error;
  }
}

interface DocumentReader {
  /** Reads a document. @throws UnsupportedYaml */
  document(text: string): YamlNode | undefined;
  /** Reads a document in steps. @throws UnsupportedYaml */
  documentSteps(text: string): Generator<void, YamlNode | undefined>;
}

function createDocumentReader(): DocumentReader {
  const cursor = createPlainCursor();
  const isAt = (sign: number): boolean => cursor.isAt(sign);
  const isItem = (): boolean => cursor.isItem();
  let depth = 0;

  const nested = <T>(read: () => T): T => {
    if (++depth > maxDepth) unsupported();
    const node = read();
    depth--;
    return node;
  };

  const inline = (isInFlow: boolean): YamlNode => {
    if (isAt(openingBracket)) return nested(flowSequence);
    if (isAt(openingBrace)) return nested(flowMapping);
    return cursor.scalar(isInFlow);
  };

  const flowSequence = (): YamlNode => {
    const start = cursor.at;
    const items: YamlNode[] = [];
    flowParts(closingBracket, () => items.push(inline(true)));
    return sequenceOf(start, items);
  };

  const flowMapping = (): YamlNode => {
    const start = cursor.at;
    const pairs = createPairs();
    flowParts(closingBrace, () => {
      const key = cursor.key(true);
      if (!cursor.toValue()) unsupported();
      pairs.add(key, inline(true));
    });
    return pairs.mapping(start);
  };

  /** Reads the parts of a flow collection, from its opening sign to after its closing sign. */
  const flowParts = (closing: number, read: () => void): void => {
    cursor.at++;
    cursor.skipBlanks();
    while (!isAt(closing)) {
      read();
      cursor.skipBlanks();
      if (isAt(comma)) {
        cursor.at++;
        cursor.skipBlanks();
      } else if (!isAt(closing)) unsupported();
    }
    cursor.at++;
  };

  const block = (): YamlNode => nested(isItem() ? sequence : mapping);

  const mapping = (): YamlNode => {
    const { indent } = cursor;
    const start = cursor.at;
    const pairs = createPairs();
    do addPair(pairs, indent);
    while (cursor.indent === indent);
    return ended(pairs, indent, start);
  };

  function* mappingSteps(): Generator<void, YamlNode> {
    const { indent } = cursor;
    const start = cursor.at;
    const pairs = createPairs();
    do {
      addPair(pairs, indent);
      yield;
    } while (cursor.indent === indent);
    return ended(pairs, indent, start);
  }

  const addPair = (pairs: Pairs, indent: number): void => {
    if (isItem()) unsupported();
    const key = cursor.key(false);
    pairs.add(key, valueOf(key, indent));
  };

  const ended = (pairs: Pairs, indent: number, start: number): YamlNode => {
    // A line indented further than its neighbours belongs to none of them, or continues a scalar.
    if (cursor.indent > indent) unsupported();
    return pairs.mapping(start);
  };

  /** Reads the value of a key: a node on its line, or a block on the following lines. */
  const valueOf = (key: YamlScalar, indent: number): YamlNode => {
    if (cursor.toValue()) {
      const node = inline(false);
      cursor.endLine();
      return node;
    }
    cursor.endLine();
    // The items of a sequence may have the same indent as its key.
    if (cursor.indent > indent || (cursor.indent === indent && isItem())) return block();
    return { kind: "scalar", at: key.at, tag: undefined, text: "", isPlain: true, weight: 1, depth: 1 };
  };

  const sequence = (): YamlNode => {
    const { indent } = cursor;
    const start = cursor.at;
    const items: YamlNode[] = [];
    while (cursor.indent === indent && isItem()) {
      const dashAt = cursor.at++;
      if (!cursor.toValue() || isItem()) unsupported();
      if (cursor.isKey()) {
        // The indent of the mapping is that of its first key.
        cursor.indent = indent + cursor.at - dashAt;
        items.push(nested(mapping));
      } else {
        items.push(inline(false));
        cursor.endLine();
      }
      if (cursor.indent > indent) unsupported();
    }
    return sequenceOf(start, items);
  };

  /** Moves to the first line with content. @returns true where there is one. */
  const begin = (text: string): boolean => {
    cursor.begin(text);
    depth = 0;
    if (cursor.indent === 0 && /^---(?:\r?\n|$)/.test(text.slice(cursor.at, cursor.at + 5))) {
      cursor.at += 3;
      cursor.endLine();
    }
    return cursor.indent >= 0;
  };

  const outermost = (): YamlNode => {
    if (!isAt(openingBrace) && !isAt(openingBracket)) return block();
    const root = inline(false);
    cursor.endLine();
    return root;
  };

  const atEnd = (root: YamlNode): YamlNode => {
    if (cursor.indent >= 0) unsupported();
    return root;
  };

  return {
    document: (text) => (begin(text) ? atEnd(outermost()) : undefined),
    *documentSteps(text) {
      if (!begin(text)) return undefined;
      const isMapping = !isItem() && !isAt(openingBrace) && !isAt(openingBracket);
      // The outermost node counts as a level.
      if (isMapping) depth++;
      return atEnd(isMapping ? yield* mappingSteps() : outermost());
    },
  };
}

/** Collects the pairs of a mapping. The library reports duplicate keys. */
interface Pairs {
  add(key: YamlScalar, value: YamlNode): void;
  mapping(at: number): YamlMapping;
}

function createPairs(): Pairs {
  const pairs: YamlPair[] = [];
  let keys: Set<string> | undefined;
  let weight = 1;
  let depth = 1;
  return {
    add(key, value) {
      if (keys !== undefined) {
        if (keys.has(key.text)) unsupported();
        keys.add(key.text);
      } else {
        for (const pair of pairs) if (pair.key.text === key.text) unsupported();
        if (pairs.length === fewKeys) keys = new Set([...pairs.map((pair) => pair.key.text), key.text]);
      }
      pairs.push({ key, value });
      weight += key.weight + value.weight;
      depth = Math.max(depth, value.depth + 1, 2);
    },
    mapping: (at) => ({ kind: "mapping", at, tag: undefined, pairs, weight, depth }),
  };
}

function sequenceOf(at: number, items: readonly YamlNode[]): YamlSequence {
  let weight = 1;
  let depth = 1;
  for (const item of items) {
    weight += item.weight;
    depth = Math.max(depth, item.depth + 1);
  }
  return { kind: "sequence", at, tag: undefined, items, weight, depth };
}

const comma = 0x2c;
const openingBracket = 0x5b;
const closingBracket = 0x5d;
const openingBrace = 0x7b;
const closingBrace = 0x7d;
