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
 * The settings of a command: its settings files, the environment and its flags. Loads their table.
 *
 * @throws SettingsError
 */
export async function commandSettings(command: Command, terminal: Terminal): Promise<SettingsReading> {
  const { readCommandSettings } = await import("./settings-options.ts");
  return readCommandSettings(command, terminal);
}

/** A further value of an option that may be repeated. */
export function collect(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}

/** A time span as Explore takes it: `15m`, `1h`, `7d`. */
export function timeSpan(text: string): string {
  if (!/^[1-9]\d{0,5}[smhdw]$/.test(text)) throw new InvalidArgumentError("expected a time such as 15m, 1h or 7d.");
  return text;
}

/** The description of `source list` and `udm sources` in the help. */
export const sourceListDescription = "list the sources of metadata with their state and their last run";

/** The parts of the program that a command uses. */
export interface CommandContext {
  readonly terminal: Terminal;
  /** For a command that ends with another code than 0. */
  readonly setExitCode: (code: number) => void;
  /** Tells whether a command of this name is to be defined whole: the command line has the word, or all are wanted. */
  readonly isNamed: (name: string) => boolean;
}

/** Gives a command its options, the commands below it, and what it does. */
export type DefineCommand = (command: Command, context: CommandContext) => void | Promise<void>;

/** A command as the help of its parent shows it. All else is loaded when the command line names it: a start stays quick. */
export interface CommandRow {
  /** Its name and its arguments: `get <keys...>`. */
  readonly usage: string;
  readonly description: string;
  /** The heading that it stands under in the help of its parent. */
  readonly helpGroup?: string;
  readonly hidden?: true;
  readonly load: () => DefineCommand | Promise<DefineCommand>;
}

/** Adds the commands of a table, in its order. @param under the heading of those that name none */
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
