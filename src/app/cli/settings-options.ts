import { readFileSync } from "node:fs";
import { Option, type Command } from "commander";
import { environmentSettings, flagOf, readSettings, SettingsError } from "../settings/index.ts";
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
  return command.option("--config <file>", "a YAML file of settings, their names as keys");
}

/**
 * The settings of a command: its settings file, the environment and its flags.
 *
 * @throws SettingsError
 */
export async function commandSettings(command: Command, terminal: Terminal): Promise<SettingsReading> {
  const options = command.opts<Record<string, string | undefined>>();
  const fromFile = options["config"] === undefined ? [] : await readSettingsFile(options["config"]);
  const fromFlags: GivenSetting[] = [];
  for (const option of command.options) {
    const text = options[option.attributeName()];
    if (text === undefined || !option.long?.startsWith("--svc-")) continue;
    const name = option.long.slice(2).toUpperCase().replaceAll("-", "_");
    fromFlags.push({ name, text, origin: `flag ${option.long}` });
  }
  return readSettings([fromFile, environmentSettings(terminal.env), fromFlags], (path) => readFileSync(path, "utf8"));
}

async function readSettingsFile(file: string): Promise<GivenSetting[]> {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new SettingsError([`cannot read the settings file: ${(error as Error).message}`]);
  }
  const { parseSettingsFile } = await import("../settings/settings-file.ts");
  return parseSettingsFile(file, text);
}

/** The one warning about names that mean nothing; undefined when there are none. */
export function unknownNamesWarning({ unknown }: SettingsReading): string | undefined {
  if (unknown.length === 0) return undefined;
  return `names that are no settings of this version and have no effect: ${unknown.join(", ")}`;
}
