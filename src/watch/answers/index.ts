export { answerConfig, blackhole, flowspec, type AnswerConfig } from "./answer-shape.ts";
export { AnswerRefusal, Answers, type AnswerLimits, type Attack } from "./answers.ts";
export { AttackRows } from "./attack-rows.ts";
export { answerFields, FlowReader, FlowSample, type WeighedRow } from "./flow-sample.ts";
export { AnswerJournal, type Answer } from "./journal.ts";
export { openSpeaker, speakerShape, type Speaker, type SpeakerConfig } from "./speaker.ts";
