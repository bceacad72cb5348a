export { decodeUtf8 } from "./yaml-node.ts";
export { createPositions, positionAt, YamlFault, type TextPosition } from "./yaml-node.ts";
export { isNullNode, type YamlMapping, type YamlNode, type YamlPair, type YamlScalar } from "./yaml-node.ts";
export { readYaml, readYamlParts, readYamlSteps, type YamlPart } from "./read-yaml.ts";
export { createPlainYamlReader, type PlainYaml } from "./plain-yaml.ts";
export { hasUnprintable, quotedScalar, stringScalar } from "./write-yaml.ts";
export { renderKey, renderPair } from "./write-yaml.ts";
export { mergedPairs, type Fail } from "./yaml-node.ts";
export {
  bool,
  defaulted,
  faultFinding,
  formatShapeFinding,
  integer,
  list,
  mapOf,
  mappingOr,
  oneOf,
  oneOrList,
  optional,
  pairsOf,
  readShape,
  mapping,
  required,
  scalar,
  Shape,
  ShapeReport,
  textLine,
  type FileNode,
  type ShapeFinding,
  type ShapeResult,
  type ShapeRow,
  type ShapeValue,
  type Values,
} from "./shape.ts";
