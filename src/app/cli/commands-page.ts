import { Command, type Option } from "commander";
import { addClientOptions } from "./client/client-options.ts";

/** The page docs/commands.md: a table of all commands, then each with its arguments and options, as its `--help` has them. */
export function commandsPage(program: Command): string {
  const commands = commandsBelow(program, []);
  const ofClients = new Set(addClientOptions(new Command()).options.map(({ long }) => long));
  const rows = commands.map(
    ({ name, command }) => `| [\`${name}\`](#${name.replaceAll(" ", "-")}) | ${sentence(command.description())} |`,
  );
  const list = ["| command | what it does |", "|---|---|", ...rows].join("\n");
  return `${[intro, list, ...commands.map((one) => sectionOf(one, ofClients))].join("\n\n")}\n`;
}

const intro = `# Commands

<!-- \`npm run generate\` writes this page from what \`--help\` shows. -->

All commands with their options. [command-line.md](command-line.md) has exit codes, formats and examples.`;

interface NamedCommand {
  /** Without the program's name: `udm set`. */
  readonly name: string;
  readonly command: Command;
}

/** The commands that do something, in the order of the help. Groups only hold others. */
function commandsBelow(parent: Command, path: readonly string[]): readonly NamedCommand[] {
  const visible = parent.createHelp().visibleCommands(parent);
  return visible.flatMap((command) => {
    const names = [...path, command.name()];
    if (command.name() === "help") return [];
    return command.commands.length > 0 ? commandsBelow(command, names) : [{ name: names.join(" "), command }];
  });
}

/** @param ofClients options that all commands have that ask a collector; one link stands for them */
function sectionOf({ name, command }: NamedCommand, ofClients: ReadonlySet<string | undefined>): string {
  const help = command.createHelp();
  const all = help.visibleOptions(command).filter(({ long }) => long !== "--help");
  const asksCollector = all.some(({ long }) => long === "--url");
  const options = all.filter((option) => !isSetting(option) && !(asksCollector && ofClients.has(option.long)));
  const terms = [
    ...help.visibleArguments(command).map((one) => row(help.argumentTerm(one), help.argumentDescription(one))),
    ...options.map((option) => row(option.flags, help.optionDescription(option))),
  ];
  const usage = ["netgloss", name, command.usage()].join(" ");
  return [
    `## ${name}`,
    `\`${usage}\``,
    sentence(command.description()),
    ...(terms.length > 0 ? [["| argument or option | what it is |", "|---|---|", ...terms].join("\n")] : []),
    ...(all.some(isSetting) ? ["Each [setting](settings.md) is a flag, too: `SVC_API_PORT` is `--svc-api-port`."] : []),
    ...(asksCollector
      ? ["Options that say which collector is asked: [Reaching a collector](command-line.md#reaching-a-collector)."]
      : []),
  ].join("\n\n");
}

const isSetting = ({ long }: Option): boolean => long?.startsWith("--svc-") === true;

const row = (term: string, text: string): string => `| \`${term.replaceAll("|", "\\|")}\` | ${sentence(text)} |`;

/** A help text as a sentence of a table: outside of code, angle brackets are no elements. */
function sentence(text: string): string {
  const safe = text
    .split("`")
    .map((part, i) => (i % 2 === 0 ? part.replaceAll("<", "\\<").replaceAll("*", "\\*") : part))
    .join("`")
    .replaceAll("|", "\\|");
  return `${safe.charAt(0).toUpperCase()}${safe.slice(1)}${safe.endsWith(".") ? "" : "."}`;
}
