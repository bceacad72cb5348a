import { Option, type Command } from "commander";
import { flagOf, settingNames, settingOf, type SettingsReading } from "../settings/index.ts";
import { addConfigOption } from "./config-option.ts";

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

/** The one warning about names that mean nothing; undefined when there are none. */
export function unknownNamesWarning({ unknown }: SettingsReading): string | undefined {
  if (unknown.length === 0) return undefined;
  return `names that are no settings of this version and have no effect: ${unknown.join(", ")}`;
}
