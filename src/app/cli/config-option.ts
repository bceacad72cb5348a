import type { Command } from "commander";
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
