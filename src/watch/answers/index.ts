export { answerConfig, blackhole, flowspec, type AnswerConfig } from "./answer-shape.ts";
export { AnswerRefusal, Answers, type AnswerLimits } from "./answers.ts";
export { chooseMatches, type Attack } from "./choose-match.ts";
export { answerFields, FlowReader, FlowSample, UsualFlows, type WeighedRow } from "./flow-sample.ts";
export { AnswerJournal, isLive, type Answer } from "./journal.ts";
export { prefixOf } from "./route.ts";
export { openSpeaker, speakerShape, type Speaker, type SpeakerConfig } from "./speaker.ts";
