import type { Secret } from "../../text/index.ts";
import { settingNames, settingOf, type SettingName, type Settings } from "./settings-table.ts";

/** The settings without the secrets: plain data, which may be handed to another thread. */
export type PlainSettings = {
  readonly [Name in SettingName as Settings[Name] extends Secret ? never : Name]: Settings[Name];
};

export function plainSettings(settings: Settings): PlainSettings {
  const plain = settingNames.filter((name) => settingOf(name).type.secret !== true);
  return Object.fromEntries(plain.map((name) => [name, settings[name]])) as unknown as PlainSettings;
}
