import { Option, type Command } from "commander";
import { addClientOptions, clientOf } from "../client/client-options.ts";
import type { Terminal } from "../terminal.ts";
import { replaceOption, type ReplaceScope } from "./replace-option.ts";
import { callTools } from "./tools-json.ts";

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

/** `udm import` and `udm export`. */
export function addExchangeCommands(udm: Command, terminal: Terminal): void {
  const bringIn = addClientOptions(udm.command("import <file>"))
    .description("create and replace entries from a sheet (CSV), JSON or YAML, after showing what changes")
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
      const { importFile } = await import("./import-file.ts");
      await importFile(() => clientOf(bringIn, terminal), file, options, terminal);
    });

  const takeOut = addClientOptions(udm.command("export"))
    .description("write all entries, or those of a filter, in a form that import reads back as they were")
    .addOption(new Option("--format <format>", "what to write").choices(formats).default("csv"))
    .option("--filter <udm-filter>", "such as 'tag = pci'")
    .action(async ({ format, filter = "" }: { format: string; filter?: string }) => {
      const client = await clientOf(takeOut, terminal);
      if (terminal.isWatched) terminal.err("waiting for the collector …\n");
      const { text = "" } = (await callTools(client, "ExportUdms", { format, filter })) as { text?: string };
      terminal.out(text);
    });
}
