import { brokenRules, oddities } from "../../base/settings/index.ts";
import { receivesFlows } from "../../flow/settings.ts";
import { localRows, outputSettings, outputsOf, storesOf, type StoreSettings } from "./output-settings.ts";
import { settingsTable, type SettingName, type Settings } from "./settings-table.ts";

/**
 * Judges the settings as a whole: what the rows rule, and what takes more than a rule.
 *
 * @param origins where each comes from: `default` for those that nobody has set.
 */
export function checkSettings(
  settings: Settings,
  origins: ReadonlyMap<string, string>,
): { problems: string[]; warnings: string[] } {
  const valueOf = (name: string): unknown => settings[name as SettingName];
  const stores = storesOf(settings).map((store) => checkStore(store, settings, origins));
  return {
    problems: [
      ...brokenRules(ownRows, valueOf),
      ...localProblems(settings),
      ...stores.flatMap(({ problems }) => problems),
    ],
    warnings: [...oddities(ownRows, valueOf), ...idleWarnings(settings), ...stores.flatMap(({ warnings }) => warnings)],
  };
}

/** Rows whose rules name settings by their full names; those of outputs name their own. */
const ownRows = Object.fromEntries(Object.entries(settingsTable).filter(([name]) => !(name in outputSettings)));

/** Judges the outputs of this host. */
function localProblems(settings: Settings): string[] {
  return Object.entries(localRows).flatMap(([word, rows]) => {
    const show = (name: string): string => (name in rows ? `SVC_OUTPUT_${word}_${name}` : name);
    return brokenRules(rows, (name) => settings[show(name) as SettingName], show);
  });
}

function checkStore(
  { kind, values, show, origins: own }: StoreSettings,
  settings: Settings,
  origins: ReadonlyMap<string, string>,
): { problems: string[]; warnings: string[] } {
  const warnings: string[] = [];
  const isGiven = (name: string): boolean => {
    const full = `SVC_OUTPUT_${kind.word}_${name}`;
    return own === undefined ? (origins.get(full) ?? "default") !== "default" : own.has(full);
  };
  if (own !== undefined && !isGiven("ENABLE")) warnings.push(`${show("ENABLE")} is not set: this output is off`);
  if (!values.ENABLE) return { problems: [], warnings };
  const valueOf = (name: string): unknown =>
    name in kind.rows ? values[name as keyof typeof values] : settings[name as SettingName];
  const problems = brokenRules(kind.rows, valueOf, (name) => (name in kind.rows ? show(name) : name));
  const asked = ["SPOOL_MODE", "SPOOL_MAX_SIZE"].find(isGiven);
  if (values.SPOOL_MODE === "overflow" && asked !== undefined && settings.SVC_STATE_DIRECTORY_PATH === "") {
    warnings.push(`${show(asked)} asks for a spool, but there is none: SVC_STATE_DIRECTORY_PATH is empty`);
  }
  return { problems, warnings };
}

/** Warns of a collector that takes no records, or sends them nowhere. */
function idleWarnings(settings: Settings): string[] {
  if (!receivesFlows(settings) && !settings.SVC_INPUT_SNMP_ENABLE && !settings.SVC_INPUT_TRAP_ENABLE) {
    return [
      "no input is on: set SVC_FLOW_SERVER_UDP_ENABLE to receive flows, SVC_INPUT_SNMP_ENABLE to poll devices, SVC_INPUT_TRAP_ENABLE to receive traps",
    ];
  }
  if (outputsOf(settings).some(({ values }) => values.ENABLE)) return [];
  return ["no output is on, records go nowhere: set SVC_OUTPUT_FILE_ENABLE or SVC_OUTPUT_STDOUT_ENABLE"];
}
