export { type Alert } from "./alerts.ts";
export { type Source } from "./sources.ts";
export { Watch, type WatchOptions, type WatchStatus } from "./watch.ts";
export { readReadyRules, type ReadyRule } from "./ready.ts";
export { parseWatchFile, WatchFileError, watchShape } from "./watch-file.ts";
