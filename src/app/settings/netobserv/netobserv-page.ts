import { countFates, defaultOf, fateOf, netObservNames, type Fate } from "./netobserv-names.ts";

/** The page docs/netobserv-settings.md: what happens to each public name of NetObserv. */
export function netObservPage(): string {
  const { same, accepted, missing } = countFates();
  const rows = Object.keys(netObservNames).toSorted().map(tableRow);
  return `${intro(same, accepted, missing).trim()}\n\n${[tableHead, ...rows].join("\n")}\n`;
}

const tableHead =
  "| name, without prefix | value in examples | here | default here | what to know |\n|---|---|---|---|---|";

function tableRow(suffix: string): string {
  const { example, differs } = netObservNames[suffix] ?? { example: "" };
  const fate = fateOf(suffix);
  if (fate === undefined) throw new Error(`${suffix} has no fate`);
  const said = [
    ...(differs === undefined ? [] : [`**${differs}**`]),
    ...(fate.kind === "same" ? [] : [reasonOf(fate)]),
  ];
  const fallback = fate.kind === "same" ? (defaultOf(fate.setting) ?? "") : "";
  const cells = [`\`${suffix}\``, code(example), hereCell(fate), code(fallback), said.join(" ")];
  return `| ${cells.join(" | ")} |`;
}

function hereCell(fate: Fate): string {
  if (fate.kind !== "same") return fate.kind;
  return fate.isAlias ? `same, as \`${fate.setting}\`` : "same";
}

function reasonOf(fate: Exclude<Fate, { kind: "same" }>): string {
  const text = fate.kind === "accepted" ? fate.why : fate.advice;
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function code(text: string): string {
  return text === "" ? "" : `\`${text}\``;
}

const intro = (same: number, accepted: number, missing: number): string => `
# Settings of ElastiFlow NetObserv

Generated from the tables in \`src/app/settings/netobserv/\` and the settings by \`npm run generate\`.

netgloss reads files and environments of NetObserv as they are:

    netgloss serve --config flowcoll.yml
    netgloss serve --config netobserv.env
    netgloss config migrate flowcoll.yml > netgloss.yml

- A name may begin with \`EF_\` or \`SVC_\`. \`SVC_\` wins, wherever each stands. The log says how many came by \`EF_\`.
- Files are YAML (\`flowcoll.yml\`), environment files (\`.env\`), systemd units with \`Environment=\` and \`EnvironmentFile=\` lines
  (\`flowcoll.conf\`), or Compose files: what is below \`environment\` of each service. Give the files of \`env_file\` with a further \`--config\`.
- Empty means unset. A boolean is true or false, 1 or 0, yes or no. A list is separated by commas.
- \`EF_FLOW_SERVER_UDP_PORT\` without \`EF_FLOW_SERVER_UDP_ENABLE\` turns the input on. So do \`EF_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH\`
  for SNMP and \`EF_INPUT_TRAP_LISTENER_PORT\` for traps: here one program does all.
- Defaults are those of netgloss: what a file does not say is as the column "default here" has it. Most enrichment is off until asked for.
- \`netgloss config migrate FILE…\` prints the same settings by our names, with a comment on each that changes. With \`--check\` it only reports. Its
  exit code is 1 when something is missing, unknown or wrong.

What happens to the ${same + accepted + missing} names:

| here | names | what it means |
|---|---|---|
| same | ${same} | The setting exists and works. [settings.md](settings.md) describes it. |
| accepted | ${accepted} | It has no meaning here. One line in the log says why. |
| missing | ${missing} | It has no effect. The start goes on, and a warning names it, unless what it belongs to is off. |

Where the meaning differs, the table says so in bold.
`;
