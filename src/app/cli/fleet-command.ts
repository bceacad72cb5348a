import type { DefineCommand } from "./command.ts";
import { addConfigOption, commandSettings } from "./config-option.ts";

/** `fleet`: what several collectors share, without a collector. */
export const defineFleet: DefineCommand = (fleet, { terminal }) => {
  const migrate = addConfigOption(fleet.command("migrate"))
    .description("make the tables of the fleet in the PostgreSQL database of the settings, or bring them up to date")
    .action(async () => {
      const { migrateFleet } = await import("./migrate-fleet.ts");
      await migrateFleet((await commandSettings(migrate, terminal)).settings, terminal);
    });
};
