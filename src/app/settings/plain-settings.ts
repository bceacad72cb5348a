import type { Secret } from "../../text/index.ts";
import type { PlainOutputInstance } from "./output-instances.ts";
import { settingNames, settingOf, type SettingName, type Settings } from "./settings-table.ts";

/** The settings without the secrets: plain data, which may be handed to another thread. */
export type PlainSettings = {
  readonly [Name in SettingName as Settings[Name] extends Secret ? never : Name]: Settings[Name];
} & { readonly outputInstances: readonly PlainOutputInstance[] };

export function plainSettings(settings: Settings): PlainSettings {
  const plain = settingNames.filter((name) => settingOf(name).type.secret !== true);
  const outputInstances = settings.outputInstances.map((instance) => ({
    ...instance,
    settings: plainSettings(instance.settings),
  }));
  return {
    ...Object.fromEntries(plain.map((name) => [name, settings[name]])),
    outputInstances,
  } as unknown as PlainSettings;
}
