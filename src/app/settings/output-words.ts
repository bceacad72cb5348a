import { settingNames, type SettingName } from "./settings-table.ts";

type WordOf<Name> = Name extends `SVC_OUTPUT_${infer Word}_QUEUE_SIZE` ? Word : never;
/** The word of an output in the names of its settings. */
export type OutputWord = WordOf<SettingName>;

const queueSize = /^SVC_OUTPUT_(\w+)_QUEUE_SIZE$/;

/** The words of all outputs: each has a queue, and `SVC_OUTPUT_<word>_ENABLE`. */
export const outputWords = settingNames.flatMap((name) => (queueSize.exec(name)?.[1] as OutputWord | undefined) ?? []);
