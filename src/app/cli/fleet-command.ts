import type { Command } from "commander";
import { addConfigOption, commandSettings } from "./settings-options.ts";
import type { Terminal } from "./terminal.ts";

/** `fleet`: what several collectors share, without a collector. */
export function addFleetCommand(program: Command, terminal: Terminal): void {
  const fleet = program.command("fleet").description("set up what several collectors share");
  const migrate = addConfigOption(fleet.command("migrate"))
    .description("make the tables of the fleet in the PostgreSQL database of the settings, or bring them up to date")
    .action(async () => {
      const { migrateFleet } = await import("./migrate-fleet.ts");
      await migrateFleet((await commandSettings(migrate, terminal)).settings, terminal);
    });
}
