import { lostResults, migrateSettings, theirDefault, type GivenSetting, type Migrated } from "../settings/index.ts";
import { readSettingsFile } from "./settings-options.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Prints the settings of files by our names, or with `onlyReport` only the changes; a summary goes to the standard error.
 *
 * @returns whether all requested features exist.
 * @throws SettingsError when a file cannot be read.
 */
export async function migrateFiles(
  files: readonly string[],
  onlyReport: boolean,
  terminal: Terminal,
): Promise<boolean> {
  const given: GivenSetting[] = [];
  for (const file of files) given.push(...(await readSettingsFile(file, terminal.env)));
  const migrated = migrateSettings(given);
  if (onlyReport) terminal.out(migrated.map(reportLine).join(""));
  else terminal.out(`# Settings of netgloss, from ${files.join(", ")}\n${migrated.map(fileLine).join("")}`);
  const count = (result: Migrated["result"]): number => migrated.filter((one) => one.result === result).length;
  const results = ["same", "accepted", "missing", "unknown", "wrong"] as const;
  const counted = results.map((result) => `${count(result)} ${result}`);
  const unfilled = count("unfilled");
  terminal.err(`${[...counted, ...(unfilled > 0 ? [`${unfilled} unfilled`] : [])].join(", ")}\n`);
  return migrated.every(({ result }) => !lostResults.has(result));
}

function fileLine({ result, line }: Migrated): string {
  return result === "unset" ? "" : `${line}\n`;
}

function reportLine({ given, result, line, comment }: Migrated): string {
  if (result === "unset" || comment === "") return "";
  // A default of NetObserv is in no file.
  return given.origin === theirDefault ? `${line}\n` : `${given.origin}: ${given.name}: ${comment}\n`;
}
