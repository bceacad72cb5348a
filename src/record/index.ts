export { compileFilter, type Matches } from "./filter/evaluate/match-lines.ts";
export { compileLineFilter, type MatchesLine } from "./filter/evaluate/match-lines.ts";
export { AddressSet } from "./filter/evaluate/match-lines.ts";
export { maxRegexText, portableRegex, Regex, regexCost } from "./filter/syntax/regex.ts";
export { FilterError } from "./filter/filter.ts";
export type { Filter, FilterTerm, Quantity, QuantityRange, TermOf } from "./filter/filter.ts";
export { parseFilter } from "./filter/parse-filter.ts";
export { filterPlace, operatorsFor, valueInFilter, type FilterPlace } from "./filter/complete-filter.ts";
export { recordVocabulary } from "./filter/vocabulary.ts";
export { shortNames } from "./filter/vocabulary.ts";
export { udmVocabulary } from "./filter/vocabulary.ts";

export { copyBytes, copyLines, fewBytes, viewOf } from "./line-buffer.ts";
export { decodedSegments } from "./record-fields.ts";
export type { Enricher } from "./enricher.ts";
export { readLine, readValueAt, splitFields } from "./line-values.ts";
export { LineValues } from "./line-values.ts";
export { LineShapes, LineWalker, SeenValues, type VisitField } from "./line-walker.ts";
export { LimitedLines, scopeFields, shownWith, type ShownWith } from "./scope-limit.ts";
export { LineBuffer, type AllocateSlab } from "./line-buffer.ts";
export {
  joinLineEnrichers,
  lineObjects,
  scopedNumber,
  scopeOf,
  type AddressAdditions,
  type AppAdditions,
  type AppText,
  type LineEnricher,
  type LineScopes,
  type NumberAdditions,
  type NumberTable,
} from "./enricher.ts";
export type { FieldValues, FieldsUnderWay, RecordFields, Scalar, Value } from "./record-fields.ts";
export type { ShapeLines } from "./line-buffer.ts";
export { leaseLines, type Sink } from "./line-buffer.ts";
export { fieldStart, renderField, renderFields, renderValue, type RenderedFields } from "./record-fields.ts";
export {
  createWorkspace,
  createWorkspaceMemory,
  kernelReserve,
  spaceFor,
  type Workspace,
  type WorkspaceMemory,
} from "./enricher.ts";
export * as addressLayout from "./address-layout.ts";
export {
  createFindConflict,
  fieldGroups,
  fieldNumbers,
  fieldPatterns,
  findField,
  protoRest,
  recordFields,
  type FieldConflict,
} from "./fields/field-table.ts";
export { ecsLowered, ecsName, ecsNames } from "./fields/ecs.ts";
export type { FieldPattern, FieldType, RecordField } from "./fields/record-field.ts";
export { columnOf, columnTypes, type Column, type ColumnType } from "./columns/column.ts";
export type { BatchColumn, ColumnBatch, ColumnData, TextTable } from "./columns/column-batch.ts";
export { LineColumns } from "./columns/line-columns.ts";
export { ArrowStream, arrowStreamType } from "./columns/arrow-stream.ts";
