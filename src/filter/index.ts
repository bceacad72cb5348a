export { compileFilter, type Matches } from "./evaluate/match-lines.ts";
export { compileLineFilter, type MatchesLine } from "./evaluate/match-lines.ts";
export { createAddressSet } from "./evaluate/match-lines.ts";
export { FilterError } from "./filter-error.ts";
export type { Filter, FilterTerm, Quantity, QuantityRange } from "./filter.ts";
export { parseFilter } from "./parse-filter.ts";
export { recordVocabulary } from "./vocabulary/record-vocabulary.ts";
export { shortNames } from "./vocabulary/record-vocabulary.ts";
export { udmVocabulary } from "./vocabulary/udm-vocabulary.ts";
