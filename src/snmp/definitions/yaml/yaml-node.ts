/** A YAML document without types: every scalar is the text that was written. */
export type YamlNode = string | YamlNode[] | YamlMap;
export type YamlMap = Map<string, YamlNode>;

/** Where in a document: the keys and positions that lead there from its root. */
export type NodePath = readonly (string | number)[];
