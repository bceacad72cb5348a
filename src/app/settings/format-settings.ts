import type { SettingsReading } from "./read-settings.ts";
import { flagOf } from "./settings-source.ts";
import { settingGroups, settingNames, settingOf } from "./settings-table.ts";

/**
 * The settings as the text of a settings file, each with where its value comes from. A secret is a comment, so that
 * the text used as a file does not set it to something else.
 */
export function formatSettings({ settings, origins }: SettingsReading): string {
  const lines = settingNames.map((name) => {
    const { type } = settingOf(name);
    const origin = origins.get(name) ?? "default";
    if (type.secret) return `# ${name}: hidden  # ${origin}`;
    return `${name}: ${yamlScalar(type.format(settings[name]))}  # ${origin}`;
  });
  return `${lines.join("\n")}\n`;
}

/** The page docs/settings.md. */
export function settingsPage(): string {
  const sections = settingGroups.map((group) => {
    const names = settingNames.filter((name) => settingOf(name).group === group);
    return [`## ${group}`, ...names.map(settingSection)].join("\n\n");
  });
  return `${[intro.trim(), ...sections].join("\n\n")}\n`;
}

function settingSection(name: (typeof settingNames)[number]): string {
  const { type, default: fallback, help } = settingOf(name);
  const shown = type.secret ? "" : type.format(fallback);
  const more = type.secret ? `, or \`${name}_FILE\` with the path of a file that holds it` : "";
  return [
    `### ${name}`,
    help,
    `- value: ${type.expected}${more}`,
    `- default: ${shown === "" ? "empty" : `\`${shown}\``}`,
  ]
    .join("\n\n")
    .replace("\n\n- default", "\n- default");
}

function yamlScalar(text: string): string {
  return /^[A-Za-z0-9_./][A-Za-z0-9_./-]*$/.test(text) ? text : JSON.stringify(text);
}

const intro = `
# Settings

Generated from the table in \`src/app/settings/settings-table.ts\` by \`npm run generate\`.

A setting is given in one of four places. A later one beats an earlier one:

1. its default;
2. a YAML file, \`netgloss serve --config netgloss.yml\`, with the names below as keys: \`SVC_API_PORT: 8080\`;
3. the environment: \`SVC_API_PORT=8080\`;
4. a flag, the name in lower case with dashes: \`${flagOf("SVC_API_PORT")} 8080\`. Secrets have none, because others can see a
   command line; they have \`<NAME>_FILE\` with the path of a file that holds the secret, in all places.

A value that does not fit, or a name one or two letters away from a known one, stops the start with exit code 78 and a line
that says what is expected. Other unknown names that start with \`SVC_\` are listed in one warning, because container platforms put
such names into the environment.

\`netgloss config check\` judges the settings without starting, \`--strict\` refuses unknown names, too. \`netgloss config print\` shows
every value and where it comes from.

The metadata API works only when \`SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE\`,
\`SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE\` and \`SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH\` are all set. Else its methods
answer \`unimplemented\`, and message and log name what is missing.
`;
