import { extname } from "node:path";
import { Option } from "commander";
import { decodeText, ExchangeError, wholeText } from "../../../metadata/index.ts";
import { type ApiClient, showProgress } from "../client/api-call.ts";
import { CommandError, confirm, type Terminal } from "../terminal.ts";
import { type DefineCommand } from "../command.ts";
import { readInput } from "../terminal.ts";
import { type EntryChange, countChanges, showChanges } from "./entry-changes.ts";
import { hostBitsWarning } from "./write-commands.ts";
import { callTools } from "./udm-json.ts";
import { addEntryOptions, clientOf } from "../client/client-options.ts";
import { replaceOption, type ReplaceScope } from "./apply-command.ts";

interface ImportAnswer {
  readonly changes?: readonly EntryChange[];
  readonly unchanged?: number;
  readonly change?: number;
  readonly rows?: number;
  readonly faults?: readonly { row?: number; line?: number; column?: string; field?: string; reason?: string }[];
  readonly faultCount?: number;
}

const formatsByEnding: Readonly<Record<string, string>> = {
  ".json": "json",
  ".ndjson": "ndjson",
  ".jsonl": "ndjson",
  ".yml": "yaml",
  ".yaml": "yaml",
};

/**
 * Imports a file, after a dry run that shows the difference and every fault.
 *
 * @throws CommandError `failed` when a row has a fault and faulty ones must not be skipped; nothing is changed then.
 */
async function importFile(
  connect: () => Promise<ApiClient>,
  file: string,
  options: ImportOptions,
  terminal: Terminal,
): Promise<void> {
  const {
    format = formatsByEnding[extname(file).toLowerCase()] ?? "csv",
    dryRun = false,
    yes = false,
    skipFaulty = false,
  } = options;
  const request = {
    text: await textOf(file, terminal),
    format,
    map: await mapOf(options.map ?? "", terminal),
    select: options.select ?? "",
    delimiter: options.delimiter ?? "",
    ...(options.replace !== undefined && { scope: options.replace }),
    max_deletes: options.maxDeletes ?? "",
    skip_faulty_rows: skipFaulty,
  };
  const client = await connect();
  if (terminal.isWatched) terminal.err(`reading ${file} …\n`);
  const ask = async (dry_run: boolean): Promise<ImportAnswer> =>
    (await showProgress(
      client,
      dry_run ? "import-check" : "import",
      terminal,
      callTools(client, "ImportUdms", { ...request, dry_run }),
    )) as ImportAnswer;
  const { changes = [], unchanged = 0, rows = 0, faults = [], faultCount = 0 } = await ask(true);
  for (const { row = 0, line = 0, column = "", reason = "" } of faults) {
    const place = `${file}${line > 0 ? `:${line}` : ""}${row > 0 ? `: row ${row}` : ""}${column === "" ? "" : `, column ${column}`}`;
    terminal.err(`${skipFaulty ? "warning" : "error"}: ${place}: ${reason}\n`);
  }
  if (faultCount > faults.length) terminal.err(`and ${faultCount - faults.length} more faults\n`);
  terminal.out(showChanges(changes));
  for (const { key, before } of changes) if (before === undefined) terminal.err(hostBitsWarning(key));
  terminal.out(`${rows === 1 ? "1 row" : `${rows} rows`}; ${countChanges(changes)}; ${unchanged} unchanged\n`);
  if (faultCount > 0 && !skipFaulty) {
    const isOfColumns = faults.some(({ row = 0, line = 0 }) => row + line === 0);
    const isByName = options.map === undefined && isOfColumns;
    const hint = isByName ? "; --map says what the columns are: sheet, netbox and others" : "";
    const many = faultCount === 1 ? "1 fault" : `${faultCount} faults`;
    throw new CommandError("failed", `${many} in ${file}: nothing was changed${hint}`);
  }
  if (dryRun || changes.length === 0) return;
  if (!yes) await confirm("Import?", terminal);
  const { change = 0 } = await ask(false);
  terminal.out(`imported: change ${change}\n`);
}

/** Reads a file in UTF-8 or UTF-16. Names from a spreadsheet in another encoding would be garbled. */
async function textOf(file: string, terminal: Terminal): Promise<string> {
  const bytes = await readInput(file, terminal);
  try {
    return await wholeText(decodeText([bytes], Infinity));
  } catch (error) {
    if (error instanceof ExchangeError) throw new CommandError("failed", `${file}: ${error.message}`);
    throw error;
  }
}

/** Returns the name of a map, or the text of a file with one. */
async function mapOf(text: string, terminal: Terminal): Promise<string> {
  if (!/[./\\]/.test(text)) return text;
  return Buffer.from(await readInput(text, terminal)).toString("utf8");
}

export interface ImportOptions {
  readonly format?: string;
  readonly map?: string;
  readonly select?: string;
  readonly delimiter?: string;
  readonly replace?: ReplaceScope;
  readonly maxDeletes?: string;
  readonly skipFaulty?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const formats = ["csv", "json", "ndjson", "yaml"] as const;
const maps = "netgloss, sheet, netbox, phpipam, infoblox, netdisco";

/** Defines `udm import`. */
export const defineImport: DefineCommand = (bringIn, { terminal }) => {
  addEntryOptions(bringIn)
    .addOption(new Option("--format <format>", "what the file is (default: by its name)").choices(formats))
    .option("--map <name>", `how columns become fields: ${maps}, or the name of a JSON file with a map of columns`)
    .option("--select <jsonata>", "of JSON: an expression whose value is the rows")
    .option("--delimiter <text>", "of CSV: what parts the columns")
    .addOption(replaceOption())
    .option("--max-deletes <number>", "with --replace: refuse to delete more, a number or a percentage (default 20%)")
    .option("--skip-faulty", "import the rows without faults; otherwise one fault refuses all")
    .option("--dry-run", "only show what would change, and all faults")
    .option("-y, --yes", "do not ask")
    .action(async (file: string, options: ImportOptions) => {
      await importFile(() => clientOf(bringIn, terminal), file, options, terminal);
    });
};

/** Defines `udm export`. */
export const defineExport: DefineCommand = (takeOut, { terminal }) => {
  addEntryOptions(takeOut)
    .addOption(new Option("--format <format>", "what to write").choices(formats).default("csv"))
    .option("--filter <udm-filter>", "such as 'tag = pci'")
    .option("--all-scopes", "also the entries of all scopes, with a column scope")
    .action(async ({ format, filter = "", allScopes }: { format: string; filter?: string; allScopes?: true }) => {
      const client = await clientOf(takeOut, terminal);
      if (terminal.isWatched) terminal.err("waiting for the collector …\n");
      const request = { format, filter, ...(allScopes === true && { allScopes }) };
      const { text = "" } = (await callTools(client, "ExportUdms", request)) as { text?: string };
      terminal.out(text);
    });
};
