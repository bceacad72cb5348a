import { InvalidArgumentError, type Command } from "commander";
import type { SettingsReading } from "../settings/index.ts";
import type { Terminal } from "./terminal.ts";

/** Adds `--config`. */
export function addConfigOption(command: Command): Command {
  return command.option(
    "--config <file>",
    "a file of settings: YAML with their names as keys, or environment variables (.env); repeat for more, a later one wins",
    collect,
  );
}

/**
 * Reads the settings of a command: its settings files, the environment and its flags. Loads the table of settings.
 *
 * @throws SettingsError
 */
export async function commandSettings(command: Command, terminal: Terminal): Promise<SettingsReading> {
  const { readCommandSettings } = await import("./settings-options.ts");
  return readCommandSettings(command, terminal);
}

/** Adds a value of an option that may be repeated. */
export function collect(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}

/** Checks a time span in Explore's form: `15m`, `1h`, `7d`. */
export function timeSpan(text: string): string {
  if (!/^[1-9]\d{0,5}[smhdw]$/.test(text)) throw new InvalidArgumentError("expected a time such as 15m, 1h or 7d.");
  return text;
}

/** The description of `source list` and `udm sources` in the help. */
export const sourceListDescription = "list the sources of metadata with their state and their last run";

/** The parts of the program that a command uses. */
export interface CommandContext {
  readonly terminal: Terminal;
  /** Sets an exit code other than 0. */
  readonly setExitCode: (code: number) => void;
  /** Reports whether a command of this name must be defined completely: the command line names it, or all are wanted. */
  readonly isNamed: (name: string) => boolean;
}

/** Gives a command its options, its subcommands, and its action. */
export type DefineCommand = (command: Command, context: CommandContext) => void | Promise<void>;

/** A command as its parent's help shows it. All else is loaded only when the command line names it, so that a start stays quick. */
export interface CommandRow {
  /** Its name and its arguments: `get <keys...>`. */
  readonly usage: string;
  readonly description: string;
  /** Its heading in the help of its parent. */
  readonly helpGroup?: string;
  readonly hidden?: true;
  readonly load: () => DefineCommand | Promise<DefineCommand>;
}

/** Adds the commands of a table, in order. @param under the default heading */
export async function addCommands(
  parent: Command,
  rows: readonly CommandRow[],
  context: CommandContext,
  under?: string,
): Promise<void> {
  for (const { usage, description, helpGroup = under, hidden = false, load } of rows) {
    const command = parent.command(usage, { hidden }).description(description);
    if (helpGroup !== undefined) command.helpGroup(helpGroup);
    if (context.isNamed(command.name())) await (await load())(command, context);
  }
}

/** The heading of commands that ask a running collector. */
export const throughApi = "Through the API:";
/** The heading of commands that need no collector, next to others. */
export const offline = "Offline:";
