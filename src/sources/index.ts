export { createLastCopies } from "./engine/last-copy.ts";
export { readSourcesFile, SourcesFileError } from "./config/read-sources-file.ts";
export { sourceKinds } from "./kinds/kinds.ts";
export { createSources, type Sources, type SourcesOptions } from "./sources.ts";
export { SourceFault } from "./source-fault.ts";
export type { SourceDiff, SourceState } from "./engine/source-state.ts";
