export type { AlertQuery } from "./alert-filter.ts";
export type { Alert, AlertEvent, AlertList, FoundAlerts } from "./alerts.ts";
export { AnswerJournal, AnswerRefusal, Answers, openSpeaker, type Answer, type AnswerLimits } from "./answers/index.ts";
export type { FleetAnswer, FleetSession } from "./fleet-answers.ts";
export { type Source } from "./sources.ts";
export { Watch, type AlertDetails, type WatchOptions, type WatchStatus, type WatchSurroundings } from "./watch.ts";
export type { Refused, Silence } from "./silences.ts";
export { readReadyRules, type ReadyRule } from "./ready.ts";
export { parseWatchFile, WatchFileError, watchShape } from "./watch-file.ts";
