import { Option } from "commander";
import { addClientOptions, clientOf } from "../client/client-options.ts";
import type { DefineCommand } from "../command-row.ts";
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

/** `udm import`. */
export const defineImport: DefineCommand = (bringIn, { terminal }) => {
  addClientOptions(bringIn)
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
};

/** `udm export`. */
export const defineExport: DefineCommand = (takeOut, { terminal }) => {
  addClientOptions(takeOut)
    .addOption(new Option("--format <format>", "what to write").choices(formats).default("csv"))
    .option("--filter <udm-filter>", "such as 'tag = pci'")
    .action(async ({ format, filter = "" }: { format: string; filter?: string }) => {
      const client = await clientOf(takeOut, terminal);
      if (terminal.isWatched) terminal.err("waiting for the collector …\n");
      const { text = "" } = (await callTools(client, "ExportUdms", { format, filter })) as { text?: string };
      terminal.out(text);
    });
};
