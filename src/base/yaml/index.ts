export { decodeUtf8 } from "./decode-utf8.ts";
export { createPositions, positionAt, YamlFault, type TextPosition } from "./yaml-fault.ts";
export { isNullNode, type YamlMapping, type YamlNode, type YamlPair, type YamlScalar } from "./yaml-node.ts";
export { readYaml, readYamlParts, readYamlSteps, type YamlPart } from "./read-yaml.ts";
export { createPlainYamlReader, type PlainYaml } from "./plain-yaml.ts";
export { hasUnprintable, quotedScalar, stringScalar } from "./yaml-scalar.ts";
export { renderKey, renderPair } from "./yaml-node-writer.ts";
export { mergedPairs, type Fail } from "./merged-pairs.ts";
