import { brokenRules, oddities, type Setting } from "../../base/settings/index.ts";
import { receivesFlows } from "../../flow/settings.ts";
import {
  localRows,
  outputSettings,
  outputsOf,
  storesOf,
  type StoreSettings,
  instanceSetting,
  kindOf,
  outputWordOf,
  parseInstanceName,
  type OutputInstance,
} from "./output-settings.ts";
import {
  settingsTable,
  type SettingName,
  type Settings,
  settingGroups,
  settingNames,
  settingOf,
} from "./settings-table.ts";
import { nameSettings, secretOfFileName } from "./name-settings.ts";
import { isSettingName } from "./netobserv/netobserv-names.ts";
import { SettingsError, type GivenSetting, flagOf } from "./settings-source.ts";

/**
 * Checks the settings as a whole: the rules of the rows, and conditions too complex for a rule.
 *
 * @param origins the origin of each setting: `default` for those not given.
 */
function checkSettings(
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

/** Rows whose rules use the full names of settings; rows of outputs use the outputs' own names. */
const ownRows = Object.fromEntries(Object.entries(settingsTable).filter(([name]) => !(name in outputSettings)));

/** Checks the outputs of this host. */
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

/** Settings, with warnings and notes about them. */
export interface SettingsReading {
  readonly settings: Settings;
  /** The origin of each value; `default` where nothing was given. */
  readonly origins: ReadonlyMap<SettingName, string>;
  /** Unknown names that start with `SVC_` or `EF_`, each with its origin. */
  readonly unknown: readonly string[];
  /** Warnings of allowed settings that are probably mistakes. */
  readonly warnings: readonly string[];
  /** Notes for the log that need no action. */
  readonly notes: readonly string[];
}

/**
 * Determines every setting: a later layer wins over an earlier one, and any layer over the default. Names of both prefixes are
 * read as in {@link nameSettings}; an empty text counts as absent.
 *
 * @param layers the given settings, weakest first: settings file, environment, flags.
 * @param readFile reads the file that `<NAME>_FILE` names; one line feed at its end does not count.
 * @throws SettingsError with all problems: values of the wrong type, names one or two edits from a known one, names
 * of another prefix in a file, a secret given twice in one layer, combinations that cannot work.
 */
export function readSettings(
  layers: readonly (readonly GivenSetting[])[],
  readFile: (path: string) => string,
): SettingsReading {
  const named = nameSettings(layers);
  const problems = [...named.problems];
  const base = createScope((name) => name);
  for (const name of settingNames) {
    base.values.set(name, settingOf(name).default);
    base.origins.set(name, "default");
  }
  const instances = new Map<string, InstanceScope>();

  const take = (scope: Scope, name: SettingName, text: string, origin: string): void => {
    const { type } = settingOf(name);
    const value = type.parse(text);
    if (value === undefined) {
      const shown = type.secret ? "" : `, not ${JSON.stringify(text)}`;
      problems.push(`${origin}: ${scope.show(name)} must be ${type.expected}${shown}`);
      return;
    }
    scope.values.set(name, value);
    scope.origins.set(name, origin);
  };

  const takeFile = (scope: Scope, name: SettingName, path: string, origin: string): void => {
    try {
      take(scope, name, readFile(path).replace(/\r?\n$/, ""), `${origin}, file ${path}`);
    } catch (error) {
      problems.push(`${origin}: cannot read the file of ${scope.show(name)}: ${(error as Error).message}`);
    }
  };

  for (const group of named.groups) {
    const names = new Set(group.map((given) => given.name));
    for (const { name, text, origin } of group) {
      const { scope, setting } = scopeOf(name, base, instances);
      const secretName = secretOfFileName.get(setting);
      if (isSettingName(setting)) take(scope, setting, text, origin);
      else if (secretName === undefined) continue;
      else if (names.has(scope.show(secretName))) {
        problems.push(`${origin}: ${name} and ${scope.show(secretName)} are both set: keep one`);
      } else takeFile(scope, secretName, text, origin);
    }
  }

  const withoutNames = { ...Object.fromEntries(base.values), outputInstances: [] } as unknown as Settings;
  const outputInstances = [...instances.values()].map(({ word, name, values, origins }): OutputInstance => {
    const own = Object.entries(kindOf(word).rows).map(([one, { default: fallback }]) => {
      const given = values.get(`SVC_OUTPUT_${word}_${one}` as SettingName);
      return [one, given ?? fallback];
    });
    return { word, name, origins, values: Object.fromEntries(own) as OutputInstance["values"] };
  });
  const settings = { ...withoutNames, outputInstances };
  const found = checkSettings(settings, base.origins);
  problems.push(...found.problems);
  if (problems.length > 0) throw new SettingsError(problems);
  const { origins } = base;
  const { unknown, notes, warnings } = named;
  return { settings, origins, unknown, notes, warnings: [...warnings, ...found.warnings] };
}

/** Values and their origins, of the collector or of an output that has a name. */
interface Scope {
  readonly values: Map<SettingName, unknown>;
  readonly origins: Map<SettingName, string>;
  /** Returns the name by which a setting is given here. */
  readonly show: (name: string) => string;
}

type InstanceScope = Scope & Pick<OutputInstance, "word" | "name">;

const createScope = (show: Scope["show"]): Scope => ({ values: new Map(), origins: new Map(), show });

/** Finds the scope of a name, and its setting there. */
function scopeOf(
  name: string,
  base: Scope,
  instances: Map<string, InstanceScope>,
): { readonly scope: Scope; readonly setting: string } {
  const parsed = parseInstanceName(name);
  if (parsed === undefined || typeof parsed === "string") return { scope: base, setting: name };
  const { word, instance, setting } = parsed;
  const key = `${word} ${instance}`;
  const scope = instances.get(key) ?? {
    word,
    name: instance,
    ...createScope((one) => instanceSetting({ word, name: instance }, one)),
  };
  instances.set(key, scope);
  return { scope, setting };
}

/**
 * Returns the settings as the text of a settings file, each with its origin. A secret is a comment, so that
 * the text used as a file does not change it.
 */
export function formatSettings({ settings, origins }: SettingsReading): string {
  const lines = allSettings(settings, origins).map(({ row, shown, value, origin }) =>
    row.type.secret
      ? `# ${shown}: hidden  # ${origin ?? "default"}`
      : `${shown}: ${yamlScalar(row.type.format(value))}  # ${origin ?? "default"}`,
  );
  return `${lines.join("\n")}\n`;
}

/** A setting with its value, of the collector or of an output that has a name. */
interface ListedSetting {
  readonly row: Setting<unknown>;
  readonly group: string;
  /** The name by which it is given. */
  readonly shown: string;
  readonly value: unknown;
  /** The origin; undefined where it is unknown. */
  readonly origin: string | undefined;
}

/** Lists all settings in the order of the table, followed by those of outputs with names. */
export function allSettings(
  settings: Settings,
  origins: ReadonlyMap<SettingName, string> | undefined,
): readonly ListedSetting[] {
  const own = settingGroups.flatMap(({ group, names }) =>
    names.map((name) => ({
      row: settingOf(name),
      group,
      shown: name as string,
      value: settings[name] as unknown,
      origin: origins?.get(name),
    })),
  );
  const ofInstances = settings.outputInstances.flatMap((instance) => {
    const values: Readonly<Record<string, unknown>> = { ...instance.values };
    return Object.entries(kindOf(instance.word).rows).map(([name, row]) => {
      const full = `SVC_OUTPUT_${instance.word}_${name}`;
      const origin = instance.origins.get(full) ?? "default";
      return { row, group: "Outputs", shown: instanceSetting(instance, full), value: values[name], origin };
    });
  });
  return [...own, ...ofInstances];
}

/** Returns the page docs/reference/settings.md: a table for each group, and one for each output. */
export function settingsPage(): string {
  const sections = settingGroups.map(({ group, names }) => {
    const tables = [...new Set(names.map(outputWordOf))].map((output) => {
      const rows = names.filter((name) => outputWordOf(name) === output).map(tableRow);
      const heading = output === "" ? [] : [`### \`SVC_OUTPUT_${output}_…\``];
      return [...heading, [tableHead, ...rows].join("\n")].join("\n\n");
    });
    return [`## ${group}`, ...tables].join("\n\n");
  });
  return `${[intro.trim(), ...sections].join("\n\n")}\n`;
}

const tableHead = "| setting | what it does | value | default | example |\n|---|---|---|---|---|";

function tableRow(name: SettingName): string {
  const { type, default: fallback, help, example = "" } = settingOf(name);
  const shown = type.secret ? "" : type.format(fallback);
  const more = type.secret ? `; or \`${name}_FILE\`: the path of a file that holds it` : "";
  const value = type.expected.replaceAll("<", "\\<");
  const cells = [`\`${name}\``, help, `${value}${more}`, code(shown) || "empty", code(example)];
  return `| ${cells.join(" | ")} |`;
}

function code(text: string): string {
  return text === "" ? "" : `\`${text}\``;
}

/** Returns a text as a YAML scalar that is read back as the same text. */
export function yamlScalar(text: string): string {
  return /^[A-Za-z0-9_./][A-Za-z0-9_./-]*$/.test(text) ? text : JSON.stringify(text);
}

const intro = `
# Settings

Generated from the tables that \`src/app/settings/settings-table.ts\` gathers by \`npm run generate\`.

Settings come from several places. A later one overrides an earlier one:

| place | example |
|---|---|
| default | |
| YAML file: \`netgloss serve --config netgloss.yml\` | \`SVC_API_PORT: 8080\` |
| file of environment variables: \`netgloss serve --config netgloss.env\` | \`SVC_API_PORT=8080\` |
| environment | \`SVC_API_PORT=8080\` |
| flag | \`${flagOf("SVC_API_PORT")} 8080\` |

- \`--config\` may be given several times. A later file overrides an earlier one; the environment overrides all files.
- Empty means unset: the default, or what an earlier place says. A boolean is true or false, 1 or 0, yes or no. A list is separated by commas.
- Names and files of ElastiFlow NetObserv, with the prefix \`EF_\`, are read, too: see [netobserv-settings.md](netobserv-settings.md).
- Secrets have no flag, because other users of the host can see command lines. In the file and the environment, \`<NAME>_FILE\` names a file that
  holds the secret; \`<name>-file\` is its flag.
- \`SVC_OUTPUT_<OUTPUT>__<NAME>__<SETTING>\`, with two underscores each, is a setting of a further output of the same kind:
  \`SVC_OUTPUT_KAFKA__EDGE__TOPIC\`, see [outputs.md](../outputs.md#several-outputs-of-one-kind). These have no flags.
- A wrong value stops the start with exit code 78 and a message that says what is expected. So does a name that is one or two letters away from a known one.
- Other unknown names that start with \`SVC_\` are listed in one warning, because container platforms set such variables.
- \`netgloss config check\` finds what a start would find, without starting: settings, metadata and other files, SNMP definitions, certificates and
  their keys, directories, ports. \`--strict\` refuses unknown names, too. \`--running\` leaves the ports alone, for settings of a running collector.
- A file that only adds to records (interfaces, port names, a database) may be missing: that is a warning, and \`/readyz\` says \`degraded\`.
- \`netgloss config print\` shows every value and where it comes from.
- The metadata API needs \`SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE\`, \`SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE\` and
  \`SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH\` (or a database, see [fleet.md](../fleet.md#metadata-in-postgresql)). Without them its methods answer \`unimplemented\` and name what is missing.
`;
