import { netObservNames } from "./netobserv-names.gen.ts";
import { countMappings, defaultOf, mappingOf, theirDefaults, type NameMapping } from "./netobserv-names.ts";

/** Returns the page docs/reference/netobserv-settings.md: the treatment of each public name of NetObserv. */
export function netObservPage(): string {
  const { same, accepted, missing } = countMappings();
  const rows = Object.keys(netObservNames).toSorted().map(tableRow);
  const defaults = theirDefaults.map(({ setting, text, of, why }) => {
    const when = isProgram(of) ? programs[of] : `with \`${of}\``;
    return `| \`${setting}\` | \`${text}\` | ${when} | ${why} |`;
  });
  return [
    intro(same, accepted, missing).trim(),
    [tableHead, ...rows].join("\n"),
    defaultsIntro.trim(),
    `${["| setting | NetObserv's default | when | why |\n|---|---|---|---|", ...defaults].join("\n")}\n`,
  ].join("\n\n");
}

const programs = { flow: "settings for flows", snmp: "settings for SNMP", trap: "settings for traps" } as const;
const isProgram = (of: string): of is keyof typeof programs => Object.hasOwn(programs, of);

const defaultsIntro = `
## Defaults that \`config migrate\` writes

What a file of NetObserv does not say, it leaves to NetObserv's defaults. Where ours differ and dashboards, files or consumers rely on them,
\`config migrate\` writes them behind the rest. A file that is used without it has our defaults.
`;

const tableHead =
  "| name, without prefix | value in examples | here | default here | what to know |\n|---|---|---|---|---|";

function tableRow(suffix: string): string {
  const { example, differs } = netObservNames[suffix] ?? { example: "" };
  const mapping = mappingOf(suffix);
  if (mapping === undefined) throw new Error(`${suffix} has no mapping`);
  const said = [
    ...(differs === undefined ? [] : [`**${differs}**`]),
    ...(mapping.kind === "same" ? [] : [reasonOf(mapping)]),
  ];
  const fallback = mapping.kind === "same" ? (defaultOf(mapping.setting) ?? "") : "";
  const cells = [`\`${suffix}\``, code(example), hereCell(mapping), code(fallback), said.join(" ")];
  return `| ${cells.join(" | ")} |`;
}

function hereCell(mapping: NameMapping): string {
  if (mapping.kind !== "same") return mapping.kind;
  return mapping.isAlias ? `same, as \`${mapping.setting}\`` : "same";
}

function reasonOf(mapping: Exclude<NameMapping, { kind: "same" }>): string {
  const text = mapping.kind === "accepted" ? mapping.why : mapping.advice;
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
  (\`flowcoll.conf\`), Compose files, manifests of Kubernetes and values of Helm.
- Of a Compose file, variables count that are below \`environment\` and in the files of \`env_file\`. \`\${NAME:-text}\` and its kin are filled in as Compose
  does it, in these files, too: from the environment, then from the file \`.env\` beside the Compose file. A setting with a variable that has no value
  is left out, and a warning names its place; of the licence nothing is said.
- Of manifests and values of Helm, variables count that are called as settings, and files of settings in a ConfigMap or Secret (\`flowcoll.yml: |\`). What
  a chart calls otherwise (\`outputOpenSearch\`) is not read. A value that another object of Kubernetes holds (\`valueFrom\`), or a template of Helm, is left
  out with a warning.
- Empty means unset. A boolean is true or false, 1 or 0, yes or no. A list is separated by commas.
- Here one program does what NetObserv has three for. Names that only its program for flows knows turn flows on, at its ports when none are
  given; so do names of its SNMP and trap programs. With \`EF_LICENSE_ACCEPTED\` and nothing of a program, flows are on. \`EF_FLOW_SERVER_UDP_ENABLE\`,
  \`EF_INPUT_SNMP_ENABLE\` and \`EF_INPUT_TRAP_ENABLE\` say otherwise.
- Namespaces are outputs that have names: \`EF_EDGE_OUTPUT_KAFKA_TOPIC\` is \`SVC_OUTPUT_KAFKA__EDGE__TOPIC\`.
- Defaults are those of netgloss: what a file does not say is as the column "default here" has it. Most enrichment is off until asked for.
  \`config migrate\` writes those of NetObserv [that matter](#defaults-that-config-migrate-writes).
- \`netgloss config migrate FILE…\` prints the same settings by our names, with a comment on each that changes. With \`--check\` it only reports. Its
  exit code is 1 when something is missing, unknown, wrong or not filled in.

What happens to the ${same + accepted + missing} names:

| here | names | what it means |
|---|---|---|
| same | ${same} | The setting exists and works. [settings.md](settings.md) describes it. |
| accepted | ${accepted} | It has no meaning here. One line in the log says why. |
| missing | ${missing} | It has no effect. The start goes on, and a warning names it, unless what it belongs to is off. |

Where the meaning differs, the table says so in bold.
`;
