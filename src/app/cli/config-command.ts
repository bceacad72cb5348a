import type { Command } from "commander";
import { formatSettings } from "../settings/index.ts";
import { addSettingsOptions, commandSettings, unknownNamesWarning } from "./settings-options.ts";
import { exitCodes, type Terminal } from "./terminal.ts";

/** `config check` judges the settings without starting anything; `config print` shows them. */
export function addConfigCommand(program: Command, terminal: Terminal, setExitCode: (code: number) => void): void {
  const config = program.command("config").description("check, show or migrate the settings");

  const check = config
    .command("check")
    .description(
      `check the settings and the files that they name, without starting; exit code ${exitCodes.config} when they cannot be used`,
    )
    .option("--strict", "refuse unknown names, too");
  addSettingsOptions(check).action(async (options: { strict?: boolean }) => {
    const [{ checkFiles }, { flowElements }] = await Promise.all([
      import("../check-files.ts"),
      import("../flow-elements.ts"),
    ]);
    const reading = await commandSettings(check, terminal);
    for (const note of reading.notes) terminal.err(`note: ${note}\n`);
    for (const warning of reading.warnings) terminal.err(`warning: ${warning}\n`);
    const unknown = unknownNamesWarning(reading);
    if (unknown !== undefined) terminal.err(`${options.strict ? "error" : "warning"}: ${unknown}\n`);
    for (const warning of flowElements(reading.settings).warnings) terminal.err(`warning: ${warning}\n`);
    const { problems, warnings } = await checkFiles(reading.settings);
    for (const warning of warnings) terminal.err(`warning: ${warning}\n`);
    for (const problem of problems) terminal.err(`error: ${problem}\n`);
    if (problems.length > 0 || (unknown !== undefined && options.strict)) setExitCode(exitCodes.config);
    else terminal.out("settings are valid\n");
  });

  config
    .command("migrate <file...>")
    .description(
      "print the settings of files, of ElastiFlow NetObserv or of netgloss, by our names, with a comment on each that changes",
    )
    .option("--check", "only report what would change")
    .addHelpText(
      "after",
      `\nExit codes: ${exitCodes.ok} all is there, ${exitCodes.failure} something is missing, unknown or wrong, ${exitCodes.config} a file cannot be read.\n`,
    )
    .action(async (files: readonly string[], options: { check?: boolean }) => {
      const { migrateFiles } = await import("./migrate-files.ts");
      if (!(await migrateFiles(files, options.check === true, terminal))) setExitCode(exitCodes.failure);
    });

  const print = config.command("print").description("show every setting and the source of its value, without secrets");
  addSettingsOptions(print).action(async () => {
    terminal.out(formatSettings(await commandSettings(print, terminal)));
  });
}
