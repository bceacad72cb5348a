import { formatSettings, type Settings } from "../settings/index.ts";
import { addCommands, type CommandRow, type DefineCommand } from "./command.ts";
import { commandSettings } from "./command.ts";
import { addSettingsOptions, unknownNamesWarning } from "./settings-options.ts";
import { exitCodes, type Terminal } from "./terminal.ts";

const rows: readonly CommandRow[] = [
  {
    usage: "check",
    description: `find what a start would find, without starting: settings, files, certificates, directories, ports; exit code ${exitCodes.config} when they cannot be used`,
    load: () => defineCheck,
  },
  {
    usage: "migrate <file...>",
    description:
      "print the settings of files, of ElastiFlow NetObserv or of netgloss, by our names, with a comment on each that changes",
    load: () => defineMigrate,
  },
  {
    usage: "print",
    description: "show every setting and the source of its value, without secrets",
    load: () => definePrint,
  },
];

/** Defines `config …`: handles the settings, without starting anything. */
export const defineConfig: DefineCommand = (config, context) => addCommands(config, rows, context);

const defineCheck: DefineCommand = (check, { terminal, setExitCode }) => {
  check
    .option("--strict", "refuse unknown names, too")
    .option("--running", "a collector with these settings runs: do not open its ports");
  addSettingsOptions(check).action(async (options: { strict?: boolean; running?: boolean }) => {
    const [{ checkStart }, { flowElements }] = await Promise.all([
      import("../checks/check-start.ts"),
      import("../parts/flow-elements.ts"),
    ]);
    const reading = await commandSettings(check, terminal);
    for (const note of reading.notes) terminal.err(`note: ${note}\n`);
    for (const warning of reading.warnings) terminal.err(`warning: ${warning}\n`);
    const unknown = unknownNamesWarning(reading);
    if (unknown !== undefined) terminal.err(`${options.strict ? "error" : "warning"}: ${unknown}\n`);
    for (const warning of flowElements(reading.settings).warnings) terminal.err(`warning: ${warning}\n`);
    const { problems, warnings } = await checkStart(reading.settings, options.running === true, Date.now());
    for (const warning of warnings) terminal.err(`warning: ${warning}\n`);
    for (const problem of problems) terminal.err(`error: ${problem}\n`);
    const hasDefinitions = await areDefinitionsWell(reading.settings, terminal);
    if (problems.length > 0 || !hasDefinitions || (unknown !== undefined && options.strict))
      setExitCode(exitCodes.config);
    else terminal.out("settings are valid\n");
  });
};

const defineMigrate: DefineCommand = (migrate, { terminal, setExitCode }) => {
  migrate
    .option("--check", "only report what would change")
    .addHelpText(
      "after",
      `\nExit codes: ${exitCodes.ok} all is there, ${exitCodes.failure} something is missing, unknown or wrong, ${exitCodes.config} a file cannot be read.\n`,
    )
    .action(async (files: readonly string[], options: { check?: boolean }) => {
      const { migrateFiles } = await import("./migrate-files.ts");
      if (!(await migrateFiles(files, options.check === true, terminal))) setExitCode(exitCodes.failure);
    });
};

const definePrint: DefineCommand = (print, { terminal }) => {
  addSettingsOptions(print).action(async () => {
    terminal.out(formatSettings(await commandSettings(print, terminal)));
  });
};

/** Checks the definitions, and prints only their faults. */
async function areDefinitionsWell(settings: Settings, terminal: Terminal): Promise<boolean> {
  if (!settings.SVC_INPUT_SNMP_ENABLE) return true;
  const { checkDefinitions } = await import("./check-definitions.ts");
  return checkDefinitions(settings, { err: (text) => terminal.err(text), out() {} });
}
