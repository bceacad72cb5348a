import { Command, CommanderError } from "commander";
import { packageVersion } from "../package-root.ts";
import { SettingsError } from "../settings/index.ts";
import { CommandError, exitCodeOf } from "./command-error.ts";
import { addAccessCommands } from "./access/user-command.ts";
import { addCompletionCommand } from "./completion/completion-command.ts";
import { addConfigCommand } from "./config-command.ts";
import { addDemoCommand } from "./demo-command.ts";
import { addDoctorCommand } from "./doctor-command.ts";
import { addFilterCommand } from "./filter-command.ts";
import { addFleetCommand } from "./fleet-command.ts";
import { addFlowsCommand } from "./flows/flows-command.ts";
import { addHealthCommand } from "./health-command.ts";
import { addMetricsCommand } from "./metrics-command.ts";
import { addOutputCommand } from "./output-command.ts";
import { addReplayCommand } from "./replay-command.ts";
import { addServeCommand } from "./serve-command.ts";
import { exitCodes, type Terminal } from "./terminal.ts";
import { addSnmpCommand } from "./snmp-command.ts";
import { addSourceCommand } from "./source-command.ts";
import { addTeeCommand } from "./tee-command.ts";
import { addUdmCommand } from "./udm/udm-command.ts";

/** Runs the command line. @returns the exit code. */
export async function runProgram(terminal: Terminal): Promise<number> {
  let exitCode: number = exitCodes.ok;
  const program = createProgram(terminal, (code) => void (exitCode = code));
  try {
    await program.parseAsync([...terminal.argv], { from: "user" });
    return exitCode;
  } catch (error) {
    return explain(error, terminal);
  }
}

/** The table of commands. A command that ends with another code than 0 calls `setExitCode`. */
export function createProgram(terminal: Terminal, setExitCode: (code: number) => void): Command {
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
    .addHelpText(
      "after",
      "\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 conflict, 5 refused, 6 not reachable, 78 bad settings.",
    )
    .showHelpAfterError("(run netgloss --help for the commands, netgloss <command> --help for their options)");
  addServeCommand(program, terminal, setExitCode);
  addDemoCommand(program, terminal, setExitCode);
  addConfigCommand(program, terminal, setExitCode);
  addDoctorCommand(program, terminal, setExitCode);
  addUdmCommand(program, terminal, setExitCode);
  addSourceCommand(program, terminal, setExitCode);
  addFlowsCommand(program, terminal);
  addHealthCommand(program, terminal, setExitCode);
  addMetricsCommand(program, terminal);
  addReplayCommand(program, terminal, setExitCode);
  addTeeCommand(program, terminal, setExitCode);
  addSnmpCommand(program, terminal, setExitCode);
  addFleetCommand(program, terminal);
  addOutputCommand(program, terminal, setExitCode);
  addFilterCommand(program, terminal, setExitCode);
  addAccessCommands(program, terminal);
  addCompletionCommand(program, terminal);
  program
    .command("version")
    .description("show the versions of netgloss and of Node")
    .action(() => terminal.out(`netgloss ${packageVersion()}, Node ${process.version}\n`));
  return program;
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
