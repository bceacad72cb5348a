/**
 * What a YAML document says, with aliases already followed (an aliased node appears at each place, as one object) and
 * scalars as they are spelt: no value is ever resolved to a number, a bool or a date.
 */
export type YamlNode = YamlScalar | YamlSequence | YamlMapping;

interface YamlNodeBase {
  /** Offset in the text, for error positions. */
  readonly at: number;
  /** As written: `!!str`, `!local`, `!<tag:example.com,2000:x>`. */
  readonly tag: string | undefined;
  /** Size with all aliases expanded: one for each node, and the length of each scalar. */
  readonly weight: number;
  /** Levels below and including this one, with all aliases expanded. */
  readonly depth: number;
}

export interface YamlScalar extends YamlNodeBase {
  readonly kind: "scalar";
  readonly text: string;
  /** Without quotes and not a block scalar: such a scalar may stand for null, a bool or a number. */
  readonly isPlain: boolean;
}

export interface YamlSequence extends YamlNodeBase {
  readonly kind: "sequence";
  readonly items: readonly YamlNode[];
}

export interface YamlMapping extends YamlNodeBase {
  readonly kind: "mapping";
  readonly pairs: readonly YamlPair[];
}

export interface YamlPair {
  readonly key: YamlScalar;
  readonly value: YamlNode;
}

const nullTexts: ReadonlySet<string> = new Set(["", "~", "null", "Null", "NULL"]);

/** Whether every reader of YAML takes the node for null. */
export function isNullNode(node: YamlNode): boolean {
  if (node.kind !== "scalar") return false;
  return node.tag === "!!null" || (node.isPlain && node.tag === undefined && nullTexts.has(node.text));
}
