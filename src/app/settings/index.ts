export { refuseForeignFile } from "./foreign-file.ts";
export { theirDefault } from "./name-settings.ts";
export { isEnvFile, parseEnvFile } from "./env-file.ts";
export { countMappings, mappingOf, type NameMapping } from "./netobserv/netobserv-names.ts";
export { netObservNames } from "./netobserv/netobserv-names.gen.ts";
export { lostResults, migrateSettings, type Migrated } from "./netobserv/migrate.ts";
export { netObservPage } from "./netobserv/netobserv-page.ts";
export { allSettings, formatSettings, settingsPage } from "./read-settings.ts";
export { readSettings, type SettingsReading } from "./read-settings.ts";
export { SettingsError } from "./settings-source.ts";
export { environmentSettings, flagOf, type GivenSetting } from "./settings-source.ts";
export {
  plainSettings,
  settingGroups,
  settingNames,
  settingOf,
  settingsTable,
  type PlainSettings,
  type SettingName,
  type Settings,
} from "./settings-table.ts";
export { outputsOf, storesOf, type StoreSettings } from "./output-settings.ts";
