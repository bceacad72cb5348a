import { Command, CommanderError, type Argument } from "commander";
import { packageVersion } from "../package-root.ts";
import { throughApi, type CommandRow, addCommands } from "./command.ts";
import { SettingsError } from "../settings/settings-source.ts";
import { CommandError, exitCodeOf, exitCodes, exitText, type Terminal } from "./terminal.ts";

/** All commands of the program, in the order of its help. Groups define their subcommands in their own files. */
const commandTable: readonly CommandRow[] = [
  {
    usage: "serve",
    description: "run the collector until SIGTERM or SIGINT",
    load: async () => (await import("./serve-command.ts")).defineServe,
  },
  {
    usage: "demo",
    description: "run a collector with three exporters and two SNMP devices of its own, and show its records",
    load: async () => (await import("./demo-command.ts")).defineDemo,
  },
  {
    usage: "config",
    description: "check, show or migrate the settings",
    load: async () => (await import("./config-command.ts")).defineConfig,
  },
  {
    usage: "doctor [exporter]",
    description: "say why flows are missing or wrong, of all exporters or of one; exit code 1 with findings",
    helpGroup: throughApi,
    load: async () => (await import("./doctor-command.ts")).defineDoctor,
  },
  {
    usage: "exporters",
    description: "list who sends flows to a running collector",
    helpGroup: throughApi,
    load: async () => (await import("./list-commands.ts")).defineExporters,
  },
  {
    usage: "outputs",
    description: "list where a running collector writes records, and what waits",
    helpGroup: throughApi,
    load: async () => (await import("./list-commands.ts")).defineOutputs,
  },
  {
    usage: "udm",
    description: "read and change the metadata of a running collector",
    load: async () => (await import("./udm/udm-command.ts")).defineUdm,
  },
  {
    usage: "source",
    description: "look at the sources of metadata of a running collector, and run them",
    load: async () => (await import("./source-command.ts")).defineSource,
  },
  {
    usage: "flows",
    description: "watch the flows of a running collector",
    load: async () => (await import("./flows-command.ts")).defineFlows,
  },
  {
    usage: "watch",
    description: "alerts of a running collector, and the rules on its flows",
    load: async () => (await import("./watch-command.ts")).defineWatch,
  },
  {
    usage: "rules",
    description: "check rules that give records fields, and say what they would change",
    load: async () => (await import("./rules-command.ts")).defineRules,
  },
  {
    usage: "address <ip>",
    description: "show what an address, or a prefix, is called and why, what it does, since when and with whom",
    helpGroup: throughApi,
    load: async () => (await import("./address-command.ts")).defineAddress,
  },
  {
    usage: "value <field> <value>",
    description: "show the same of a tag, a site, an AS, an exporter, an interface, or a value of any other field",
    helpGroup: throughApi,
    load: async () => (await import("./address-command.ts")).defineValue,
  },
  {
    usage: "view",
    description: "views, boards and reports of a running collector that people share",
    load: async () => (await import("./view-command.ts")).defineView,
  },
  {
    usage: "report",
    description: "boards that a running collector sends at set times",
    load: async () => (await import("./view-command.ts")).defineReport,
  },
  {
    usage: "health",
    description:
      "say whether a running collector is ready, check by check; exit code 1 when it is not, 6 when it does not answer",
    helpGroup: throughApi,
    load: async () => (await import("./health-command.ts")).defineHealth,
  },
  {
    usage: "metrics [names...]",
    description: "show the metrics of a running collector, or those whose names contain one of these words",
    helpGroup: throughApi,
    load: async () => (await import("./health-command.ts")).defineMetrics,
  },
  {
    usage: "replay <file...>",
    description: "decode the flows in captures (pcap or pcapng, - for the standard input) and write their records",
    load: async () => (await import("./replay-command.ts")).defineReplay,
  },
  {
    usage: "tee",
    description: "receive flow datagrams by UDP and pass each on to other collectors, with the sender's address inside",
    load: async () => (await import("./tee-command.ts")).defineTee,
  },
  {
    usage: "snmp",
    description: "SNMP devices of a running collector, and checks of definitions",
    load: async () => (await import("./snmp-command.ts")).defineSnmp,
  },
  {
    usage: "fleet",
    description: "set up what several collectors share",
    load: async () => (await import("./fleet-command.ts")).defineFleet,
  },
  {
    usage: "output",
    description: "test the outputs to stores, send again what they refused",
    load: async () => (await import("./output-command.ts")).defineOutput,
  },
  {
    usage: "filter <expression> [files...]",
    description: "write the records, one JSON object a line, that match a filter; see docs/filters.md",
    load: async () => (await import("./filter-command.ts")).defineFilter,
  },
  {
    usage: "user",
    description: "users of the API, in the file of SVC_API_USERS_PATH",
    load: async () => (await import("./users/user-command.ts")).defineUser,
  },
  {
    usage: "token",
    description: "API tokens, in the file of SVC_API_USERS_PATH",
    load: async () => (await import("./users/user-command.ts")).defineToken,
  },
  {
    usage: "completion <shell>",
    description: 'print a completion script: eval "$(netgloss completion bash)"; see docs/command-line.md',
    load: async () => (await import("./completion-command.ts")).defineCompletion,
  },
  {
    usage: "complete-words [words...]",
    description: "what completion scripts ask",
    hidden: true,
    load: async () => (await import("./completion-command.ts")).defineCompleteWords,
  },
  {
    usage: "version",
    description: "show the versions of netgloss and of Node",
    load:
      () =>
      (version, { terminal }) => {
        version.action(() => terminal.out(`netgloss ${packageVersion()}, Node ${process.version}\n`));
      },
  },
];

/** Runs the command line. @returns the exit code. */
export async function runProgram(terminal: Terminal): Promise<number> {
  let exitCode: number = exitCodes.ok;
  const words = new Set(terminal.argv);
  try {
    const program = await createProgram(
      terminal,
      (code) => void (exitCode = code),
      (name) => words.has(name),
    );
    await program.parseAsync([...terminal.argv], { from: "user" });
    return exitCode;
  } catch (error) {
    return explain(error, terminal);
  }
}

/**
 * Creates the program with all its commands.
 *
 * @param setExitCode is called by a command that ends with another code than 0.
 * @param isNamed selects commands to define completely, with their options; of the others, only the parent's help is complete.
 */
export async function createProgram(
  terminal: Terminal,
  setExitCode: (code: number) => void,
  isNamed: (name: string) => boolean = () => true,
): Promise<Command> {
  const program = new Command(terminal.startedAs)
    .description(
      "Network data collector: NetFlow, IPFIX, sFlow and SNMP in; records with your own names on every address out.",
    )
    .version(packageVersion(), "-v, --version", "show the version")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
    })
    // Almost all commands have options, and those not loaded cannot say so.
    .configureHelp({
      subcommandTerm: (command) => [command.name(), ...command.registeredArguments.map(shown)].join(" "),
    })
    .addHelpText("after", `\nExit codes: ${exitText}`)
    .showHelpAfterError(
      `(run ${terminal.startedAs} --help for the commands, ${terminal.startedAs} <command> --help for their options)`,
    );
  await addCommands(program, commandTable, { terminal, setExitCode, isNamed });
  for (const command of program.commands) nameHelp(command, program.name());
  return program;
}

/** Makes the errors of a command, and of its subcommands, name its help. */
function nameHelp(command: Command, before: string): void {
  const path = `${before} ${command.name()}`;
  command.showHelpAfterError(`(${path} --help shows how)`);
  for (const below of command.commands) nameHelp(below, path);
}

function shown(argument: Argument): string {
  const name = argument.name() + (argument.variadic ? "..." : "");
  return argument.required ? `<${name}>` : `[${name}]`;
}

/** Prints errors that the user can fix, one line each. Any other error is a bug and is thrown again. */
function explain(error: unknown, terminal: Terminal): number {
  // commander has printed the fault; help and version are errors, too.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  if (error instanceof SettingsError) {
    for (const problem of error.problems) terminal.err(`error: ${problem}\n`);
    return exitCodes.config;
  }
  if (error instanceof CommandError) {
    terminal.err(`error: ${error.message}\n`);
    return exitCodeOf(error);
  }
  throw error;
}
