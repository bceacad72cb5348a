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
export { FileNode } from "./file-node.ts";
export { faultFinding, formatProblem, formatShapeFinding, ShapeReport, type ShapeFinding } from "./finding.ts";
export {
  bool,
  defaulted,
  integer,
  list,
  mapOf,
  mappingOr,
  oneOf,
  oneOrList,
  optional,
  pairsOf,
  readShape,
  readShapeOf,
  mapping,
  required,
  scalar,
  Shape,
  shapeTable,
  textLine,
  type ShapeResult,
  type ShapeRow,
  type ShapeValue,
  type Values,
} from "./shape.ts";
export { ListText, type EditedList, type ListItem } from "./list-text.ts";
