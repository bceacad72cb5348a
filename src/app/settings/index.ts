export { storeWords, type StoreWord } from "./delivery-settings.ts";
export { missingForMetadataApi } from "./check-settings.ts";
export { formatSettings, settingsPage } from "./format-settings.ts";
export { outputWords } from "./output-words.ts";
export { plainSettings, type PlainSettings } from "./plain-settings.ts";
export { readSettings, type SettingsReading } from "./read-settings.ts";
export { SettingsError } from "./settings-error.ts";
export { environmentSettings, flagOf, type GivenSetting } from "./settings-source.ts";
export { settingNames, settingOf, settingsTable, type SettingName, type Settings } from "./settings-table.ts";
