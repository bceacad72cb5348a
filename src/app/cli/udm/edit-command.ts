import type { Command } from "commander";
import { addClientOptions, clientOf } from "../client/client-options.ts";
import type { Terminal } from "../terminal.ts";

/** `udm edit`. */
export function addEditCommand(udm: Command, terminal: Terminal): void {
  const edit = addClientOptions(udm.command("edit <keys...>"))
    .description(
      "edit entries in $VISUAL or $EDITOR; one that is not there is created, one that is taken out is deleted",
    )
    .action(async (keys: readonly string[]) => {
      const { editEntries } = await import("./edit-entries.ts");
      await editEntries(await clientOf(edit, terminal), keys, terminal);
    });
}
