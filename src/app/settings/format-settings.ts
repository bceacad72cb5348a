import type { SettingsReading } from "./read-settings.ts";
import { outputWords } from "./output-words.ts";
import { instanceSetting, settingsOfWord } from "./output-instances.ts";
import { flagOf } from "./settings-source.ts";
import { settingGroups, settingNames, settingOf, type SettingName, type Settings } from "./settings-table.ts";

/**
 * The settings as the text of a settings file, each with where its value comes from. A secret is a comment, so that
 * the text used as a file does not set it to something else.
 */
export function formatSettings({ settings, origins }: SettingsReading): string {
  const line = (name: SettingName, shown: string, of: Settings, origin = "default"): string => {
    const { type } = settingOf(name);
    if (type.secret) return `# ${shown}: hidden  # ${origin}`;
    return `${shown}: ${yamlScalar(type.format(of[name]))}  # ${origin}`;
  };
  const lines = settingNames.map((name) => line(name, name, settings, origins.get(name)));
  for (const instance of settings.outputInstances) {
    for (const name of settingsOfWord(instance.word)) {
      lines.push(line(name, instanceSetting(instance, name), instance.settings, instance.origins.get(name)));
    }
  }
  return `${lines.join("\n")}\n`;
}

/** The page docs/settings.md: a table for each group, for each output its own. */
export function settingsPage(): string {
  const sections = settingGroups.map((group) => {
    const names = settingNames.filter((name) => settingOf(name).group === group);
    const tables = [...new Set(names.map(outputOf))].map((output) => {
      const rows = names.filter((name) => outputOf(name) === output).map(tableRow);
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

/** The word of the output that a setting belongs to; empty for all other settings. */
function outputOf(name: SettingName): string {
  return outputWords.find((word) => name.startsWith(`SVC_OUTPUT_${word}_`)) ?? "";
}

function code(text: string): string {
  return text === "" ? "" : `\`${text}\``;
}

/** A text as a scalar of YAML that is read back as the same text. */
export function yamlScalar(text: string): string {
  return /^[A-Za-z0-9_./][A-Za-z0-9_./-]*$/.test(text) ? text : JSON.stringify(text);
}

const intro = `
# Settings

Generated from the table in \`src/app/settings/settings-table.ts\` by \`npm run generate\`.

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
  \`SVC_OUTPUT_KAFKA__EDGE__TOPIC\`, see [outputs.md](outputs.md#several-outputs-of-one-kind). These have no flags.
- A wrong value stops the start with exit code 78 and a message that says what is expected. So does a name that is one or two letters away from a known one.
- Other unknown names that start with \`SVC_\` are listed in one warning, because container platforms set such variables.
- \`netgloss config check\` finds what a start would find, without starting: settings, metadata and other files, SNMP definitions, certificates and
  their keys, directories, ports. \`--strict\` refuses unknown names, too. \`--running\` leaves the ports alone, for settings of a running collector.
- A file that only adds to records (interfaces, port names, a database) may be missing: that is a warning, and \`/readyz\` says \`degraded\`.
- \`netgloss config print\` shows every value and where it comes from.
- The metadata API needs \`SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE\`, \`SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE\` and
  \`SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH\` (or a database, see [postgresql.md](postgresql.md)). Without them its methods answer \`unimplemented\` and name what is missing.
`;
