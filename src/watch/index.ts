export { type Alert } from "./alerts.ts";
export { type Source } from "./sources.ts";
export { Watch, type WatchOptions, type WatchStatus } from "./watch.ts";
export type { Refused, Silence } from "./silences.ts";
export { parseWatchFile, WatchFileError, watchShape } from "./watch-file.ts";
