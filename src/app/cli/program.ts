import { Command, CommanderError, type Argument } from "commander";
import { packageVersion } from "../package-root.ts";
import { SettingsError } from "../settings/settings-error.ts";
import { CommandError, exitCodeOf } from "./command-error.ts";
import { addCommands } from "./command-row.ts";
import { commandTable } from "./command-table.ts";
import { exitCodes, type Terminal } from "./terminal.ts";

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
 * The program with all its commands.
 *
 * @param setExitCode is called by a command that ends with another code than 0.
 * @param isNamed which commands are defined whole, with their options; of the others the parent's help knows what it shows.
 */
export async function createProgram(
  terminal: Terminal,
  setExitCode: (code: number) => void,
  isNamed: (name: string) => boolean = () => true,
): Promise<Command> {
  const program = new Command("netgloss")
    .description(
      "Network data collector: NetFlow, IPFIX, sFlow and SNMP in; records with your own names on every address out.",
    )
    .version(packageVersion(), "--version", "show the version")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
    })
    // Almost all have options, and those that are not loaded cannot say so.
    .configureHelp({
      subcommandTerm: (command) => [command.name(), ...command.registeredArguments.map(shown)].join(" "),
    })
    .addHelpText(
      "after",
      "\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 conflict, 5 refused, 6 not reachable, 78 bad settings.",
    )
    .showHelpAfterError("(run netgloss --help for the commands, netgloss <command> --help for their options)");
  await addCommands(program, commandTable, { terminal, setExitCode, isNamed });
  for (const command of program.commands) nameHelp(command, program.name());
  return program;
}

/** Lets the errors of a command, and of those below it, name its help. */
function nameHelp(command: Command, before: string): void {
  const path = `${before} ${command.name()}`;
  command.showHelpAfterError(`(${path} --help shows how)`);
  for (const below of command.commands) nameHelp(below, path);
}

function shown(argument: Argument): string {
  const name = argument.name() + (argument.variadic ? "..." : "");
  return argument.required ? `<${name}>` : `[${name}]`;
}

/** Errors that the user can fix get one line each; any other is a bug and is thrown on. */
function explain(error: unknown, terminal: Terminal): number {
  // commander has said what is wrong; help and version come as errors, too.
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
