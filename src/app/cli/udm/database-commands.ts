import { Option, type Command } from "commander";
import { addConfigOption, commandSettings } from "../settings-options.ts";
import type { Terminal } from "../terminal.ts";

export interface CopyOptions {
  readonly from: "file" | "postgresql";
  readonly to: "file" | "postgresql";
  readonly replace?: boolean;
  readonly diff?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** `udm copy` and `udm migrate`: metadata in a database, without a collector. */
export function addDatabaseCommands(udm: Command, terminal: Terminal): void {
  const places = ["file", "postgresql"] as const;
  const copy = addConfigOption(udm.command("copy"))
    .helpGroup("Offline:")
    .description("copy the entries of the metadata file into the PostgreSQL database of the settings, or back")
    .addOption(new Option("--from <store>", "where the entries are").choices(places).makeOptionMandatory())
    .addOption(new Option("--to <store>", "where they go").choices(places).makeOptionMandatory())
    .option("--replace", "delete what only the target has; else it stays")
    .option("--diff", "show each entry that changes, with its fields")
    .option("--dry-run", "only show what would change")
    .option("-y, --yes", "do not ask")
    .action(async (options: CopyOptions) => {
      const { copyMetadata } = await import("./copy-metadata.ts");
      await copyMetadata((await commandSettings(copy, terminal)).settings, options, terminal);
    });

  const migrate = addConfigOption(udm.command("migrate"))
    .helpGroup("Offline:")
    .description("make the tables of metadata in the PostgreSQL database of the settings, or bring them up to date")
    .action(async () => {
      const { migrateMetadata } = await import("./copy-metadata.ts");
      await migrateMetadata((await commandSettings(migrate, terminal)).settings, terminal);
    });
}
