import { Option } from "commander";
import type { DefineCommand } from "../command.ts";
import { addConfigOption, commandSettings } from "../command.ts";

export interface CopyOptions {
  readonly from: "file" | "postgresql";
  readonly to: "file" | "postgresql";
  readonly replace?: boolean;
  readonly diff?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const places = ["file", "postgresql"] as const;

/** Defines `udm copy`: copies metadata between a file and a database, without a collector. */
export const defineCopy: DefineCommand = (copy, { terminal }) => {
  addConfigOption(copy)
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
};

/** Defines `udm migrate`: prepares the tables of metadata in a database. */
export const defineMigrate: DefineCommand = (migrate, { terminal }) => {
  addConfigOption(migrate).action(async () => {
    const { migrateMetadata } = await import("./copy-metadata.ts");
    await migrateMetadata((await commandSettings(migrate, terminal)).settings, terminal);
  });
};
