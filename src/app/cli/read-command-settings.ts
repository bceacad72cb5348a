import { existsSync, readFileSync } from "node:fs";
import type { Command } from "commander";
import {
  environmentSettings,
  isEnvFile,
  parseEnvFile,
  readSettings,
  refuseForeignFile,
  SettingsError,
  type GivenSetting,
  type SettingsReading,
} from "../settings/index.ts";
import type { Terminal } from "./terminal.ts";

/**
 * The settings that a command is given: by its settings files, the environment and its flags.
 *
 * @throws SettingsError
 */
export async function readCommandSettings(command: Command, terminal: Terminal): Promise<SettingsReading> {
  const options = command.opts<{ config?: readonly string[] } & Record<string, unknown>>();
  const fromFiles = await Promise.all((options.config ?? []).map((file) => readSettingsFile(file, terminal.env)));
  const fromFlags: GivenSetting[] = [];
  for (const option of command.options) {
    const text = options[option.attributeName()];
    if (typeof text !== "string" || !option.long?.startsWith("--svc-")) continue;
    const name = option.long.slice(2).toUpperCase().replaceAll("-", "_");
    fromFlags.push({ name, text, origin: `flag ${option.long}` });
  }
  return readSettings([...fromFiles, environmentSettings(terminal.env), fromFlags], (path) =>
    readFileSync(path, "utf8"),
  );
}

/**
 * What a file of settings says, YAML or environment variables.
 *
 * @param env what fills in the variables of a Compose file.
 * @throws SettingsError
 */
export async function readSettingsFile(file: string, env: Terminal["env"]): Promise<GivenSetting[]> {
  const text = readText(file);
  refuseForeignFile(file, text);
  const read = (path: string): string | undefined => (existsSync(path) ? readText(path) : undefined);
  if (isEnvFile(file, text)) return parseEnvFile(file, text, read);
  const { parseSettingsFile } = await import("../settings/settings-file.ts");
  return parseSettingsFile(file, text, { env, read });
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new SettingsError([`cannot read the settings file: ${(error as Error).message}`]);
  }
}
