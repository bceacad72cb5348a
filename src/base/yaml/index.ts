export {
  createPositions,
  decodeUtf8,
  isNullNode,
  mergedPairs,
  positionAt,
  YamlFault,
  type Fail,
  type TextPosition,
  type YamlMapping,
  type YamlNode,
  type YamlPair,
  type YamlScalar,
} from "./yaml-node.ts";
export { readYaml, readYamlParts, readYamlSteps, type YamlPart } from "./read-yaml.ts";
export { createPlainYamlReader, type PlainYaml } from "./plain-yaml.ts";
export { hasUnprintable, quotedScalar, renderKey, renderPair, stringScalar } from "./yaml-writer.ts";
