export type { ExchangeEntry } from "./exchange-entry.ts";
export { ExchangeError } from "./exchange-error.ts";
export { exportEntries } from "./export-entries.ts";
export type { ImportFault } from "./fault-list.ts";
export {
  exchangeFormats,
  importEntries,
  importObjects,
  type ExchangeFormat,
  type ImportOptions,
  type ImportResult,
} from "./export-entries.ts";
export type { ColumnMap, ColumnRule, FixedValues, Target } from "./map/column-map.ts";
export { fromUdmEntry, toUdmEntry } from "./exchange-entry.ts";
export { repeatedName } from "./rows/json-rows.ts";
export { readColumnMap, readFixed } from "./map/read-column-map.ts";
export { readyMap, readyMapNames, type ReadyMapName } from "./map/ready-maps.ts";
export type { CsvOptions } from "./rows/csv-rows.ts";
export { decodeText, wholeText } from "./rows/decode-text.ts";
export { Selections, serveSelection, type Select, type SelectionLimits } from "./rows/selection.ts";
