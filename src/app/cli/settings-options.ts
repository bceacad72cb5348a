import { existsSync, readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import {
  environmentSettings,
  refuseForeignFile,
  SettingsError,
  type GivenSetting,
  type SettingsReading,
  flagOf,
  settingGroups,
  settingOf,
} from "../settings/index.ts";
import type { Terminal } from "./terminal.ts";
import { addConfigOption } from "./command.ts";

/**
 * Reads the settings of a command from its settings files, the environment and its flags.
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
  const { readSettings } = await import("../settings/read-settings.ts");
  return readSettings([...fromFiles, environmentSettings(terminal.env), fromFlags], (path) =>
    readFileSync(path, "utf8"),
  );
}

/**
 * Reads a file of settings, YAML or environment variables.
 *
 * @param env values for the variables of a Compose file.
 * @throws SettingsError
 */
export async function readSettingsFile(file: string, env: Terminal["env"]): Promise<GivenSetting[]> {
  const text = readText(file);
  refuseForeignFile(file, text);
  const read = (path: string): string | undefined => (existsSync(path) ? readText(path) : undefined);
  const { isEnvFile, parseEnvFile } = await import("../settings/env-file.ts");
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

/** Adds `--config` and a flag for every setting that is not secret. */
export function addSettingsOptions(command: Command): Command {
  addConfigOption(command);
  const all = settingGroups.flatMap(({ group, names }) => names.map((name) => ({ group, name })));
  for (const { group, name } of all) {
    const { type, help, default: fallback } = settingOf(name);
    if (type.secret) {
      command.addOption(
        new Option(`${flagOf(name)}-file <path>`, `${help} Read from this file.`).helpGroup(`${group}:`),
      );
      continue;
    }
    const isSwitch = typeof fallback === "boolean";
    const shown = type.format(fallback);
    const option = new Option(
      `${flagOf(name)} ${isSwitch ? "[value]" : "<value>"}`,
      `${help} ${type.expected}${shown === "" ? "" : ` (default ${shown})`}`,
    );
    if (isSwitch) option.preset("true");
    command.addOption(option.helpGroup(`${group}:`));
  }
  return command;
}

/** Returns a single warning about all unknown names; undefined when there are none. */
export function unknownNamesWarning({ unknown }: SettingsReading): string | undefined {
  if (unknown.length === 0) return undefined;
  return `names that are no settings of this version and have no effect: ${unknown.join(", ")}`;
}
