import { readFileSync } from "node:fs";
import { Option, type Command } from "commander";
import {
  environmentSettings,
  flagOf,
  isEnvFile,
  parseEnvFile,
  readSettings,
  SettingsError,
} from "../settings/index.ts";
import { settingNames, settingOf, type GivenSetting, type SettingsReading } from "../settings/index.ts";
import type { Terminal } from "./terminal.ts";

/** Adds `--config` and a flag for every setting that is not secret. */
export function addSettingsOptions(command: Command): Command {
  addConfigOption(command);
  for (const name of settingNames) {
    const { type, group, help, default: fallback } = settingOf(name);
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

/** Adds `--config` alone. */
export function addConfigOption(command: Command): Command {
  return command.option(
    "--config <file>",
    "a file of settings: YAML with their names as keys, or environment variables (.env); repeat for more, a later one wins",
    collect,
  );
}

/**
 * The settings of a command: its settings files, the environment and its flags.
 *
 * @throws SettingsError
 */
export async function commandSettings(command: Command, terminal: Terminal): Promise<SettingsReading> {
  const options = command.opts<{ config?: readonly string[] } & Record<string, unknown>>();
  const fromFiles = await Promise.all((options.config ?? []).map(readSettingsFile));
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
 * @throws SettingsError
 */
export async function readSettingsFile(file: string): Promise<GivenSetting[]> {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new SettingsError([`cannot read the settings file: ${(error as Error).message}`]);
  }
  if (isEnvFile(file, text)) return parseEnvFile(file, text);
  const { parseSettingsFile } = await import("../settings/settings-file.ts");
  return parseSettingsFile(file, text);
}

/** The one warning about names that mean nothing; undefined when there are none. */
export function unknownNamesWarning({ unknown }: SettingsReading): string | undefined {
  if (unknown.length === 0) return undefined;
  return `names that are no settings of this version and have no effect: ${unknown.join(", ")}`;
}

/** A further value of an option that may be repeated. */
export function collect(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}
