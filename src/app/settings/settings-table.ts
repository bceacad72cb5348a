import { enrichSettings, nameSettings, ruleSettings } from "../../enrich/settings.ts";
import { exploreSettings } from "../../explore/settings.ts";
import { watchSettings } from "../../watch/settings.ts";
import { fleetSettings } from "../../fleet/settings.ts";
import { flowSettings } from "../../flow/settings.ts";
import { metadataSettings } from "../../metadata/settings.ts";
import { recordSettings } from "../../record/settings.ts";
import { serverSettings } from "../../server/settings.ts";
import { netifSnmpSettings, snmpSettings } from "../../snmp/settings.ts";
import { logFormats, logLevels } from "../../base/report/index.ts";
import {
  bool,
  int,
  oneOf,
  orEmpty,
  path,
  plainText,
  row,
  type Setting,
  type ValuesOf,
} from "../../base/settings/index.ts";
import type { Secret } from "../../base/text/index.ts";
import { outputSettings, plainInstance, type OutputInstance } from "./output-settings.ts";

const logSettings = {
  SVC_LOG_LEVEL: row(oneOf(logLevels), "info", "Messages of this level and above are logged."),
  SVC_LOG_FORMAT: row(oneOf(logFormats), "text", "The format of the log, which goes to the standard error."),
  SVC_LOGGER_FILE_LOG_ENABLE: row(
    bool,
    false,
    "Writes the log to a file, too. A file that cannot be written does not stop the collector.",
  ),
  SVC_LOGGER_FILE_LOG_FILENAME: row(
    path,
    "/var/log/netgloss/netgloss.log",
    "The file of the log. SIGUSR2 opens it again.",
  ),
  SVC_LOGGER_FILE_LOG_MAX_SIZE: row(
    int(0, 1_048_576, "MiB"),
    100,
    "Rotates the file of the log when it would be larger. 0 is never.",
  ),
  SVC_LOGGER_FILE_LOG_MAX_BACKUPS: row(
    int(0, 100_000, "files"),
    4,
    "How many rotated files of the log are kept. 0 is all.",
  ),
  SVC_LOGGER_FILE_LOG_MAX_AGE: row(
    int(0, 36_500, "days"),
    0,
    "Removes rotated files of the log that are older, at each rotation. 0 is none.",
  ),
  SVC_LOGGER_FILE_LOG_COMPRESS: row(bool, false, "Compresses rotated files of the log with gzip."),
  SVC_INSTANCE_NAME: row(
    orEmpty(plainText),
    "",
    "A name for this collector: it is the field `instance` of each log line, and a label of netgloss_instance_info.",
    "ams-1",
  ),
};

const firstSteps = {
  SVC_QUICKSTART_ENABLE: row(
    bool,
    false,
    "Creates the directories of the files above, creates a sample metadata file if there is none, and prints commands to try.",
  ),
};

/**
 * The settings of all rooms by their groups, in the order of the documentation. Names follow ElastiFlow NetObserv's, with `SVC_`
 * for `EF_`. A setting has a row only if something honours it.
 */
const groups = {
  Metadata: metadataSettings,
  API: serverSettings,
  Flows: flowSettings,
  SNMP: snmpSettings,
  Fleet: fleetSettings,
  Records: recordSettings,
  Enrichment: { ...enrichSettings, ...netifSnmpSettings, ...nameSettings, ...ruleSettings },
  Outputs: outputSettings,
  Explore: exploreSettings,
  Watch: watchSettings,
  Log: logSettings,
  "First steps": firstSteps,
};

/** All settings. */
export const settingsTable = {
  ...groups.Metadata,
  ...groups.API,
  ...groups.Flows,
  ...groups.SNMP,
  ...groups.Fleet,
  ...groups.Records,
  ...groups.Enrichment,
  ...groups.Outputs,
  ...groups.Explore,
  ...groups.Watch,
  ...groups.Log,
  ...groups["First steps"],
};

/** The names of the settings of each group, in the order of the page. */
export const settingGroups = Object.entries(groups).map(([group, rows]) => ({
  group,
  names: Object.keys(rows) as SettingName[],
}));

export type SettingName = keyof typeof settingsTable;

/** The value of every setting, checked. */
export type Settings = ValuesOf<typeof settingsTable> & {
  /** Outputs that have names. */
  readonly outputInstances: readonly OutputInstance[];
};

export const settingNames = Object.keys(settingsTable) as readonly SettingName[];

/** Returns the row of a setting, for code that treats all alike. */
export function settingOf(name: SettingName): Setting<unknown> {
  return settingsTable[name];
}

/** The settings without the secrets: plain data, which may be passed to another thread. */
export type PlainSettings = {
  readonly [Name in SettingName as Settings[Name] extends Secret ? never : Name]: Settings[Name];
} & Pick<Settings, "outputInstances">;

export function plainSettings(settings: Settings): PlainSettings {
  const plain = settingNames.filter((name) => settingOf(name).type.secret !== true);
  return {
    ...Object.fromEntries(plain.map((name) => [name, settings[name]])),
    outputInstances: settings.outputInstances.map(plainInstance),
  } as unknown as PlainSettings;
}
