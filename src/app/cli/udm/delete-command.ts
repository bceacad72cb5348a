import type { Command } from "commander";
import { addClientOptions, clientOf } from "../client/client-options.ts";
import { hasCode } from "../command-error.ts";
import type { Terminal } from "../terminal.ts";
import { currentEntries } from "./entry-changes.ts";
import { callUdm, noEntries } from "./udm-json.ts";

interface DeleteOptions {
  readonly ignoreMissing?: boolean;
  readonly dryRun?: boolean;
}

/** `udm delete`. */
export function addDeleteCommand(udm: Command, terminal: Terminal): void {
  const remove = addClientOptions(udm.command("delete <keys...>"))
    .description("delete the entries with exactly these keys")
    .option("--ignore-missing", "a key without an entry is no fault")
    .option("--dry-run", "only show which entries would be deleted")
    .action(async (keys: readonly string[], { ignoreMissing = false, dryRun = false }: DeleteOptions) => {
      const client = await clientOf(remove, terminal);
      if (dryRun || keys.length > 1) {
        const { canonicalKey } = await import("./read-entries.ts");
        const wanted = keys.map(canonicalKey);
        const found = await currentEntries(client, wanted);
        const missing = wanted.filter((key) => !found.has(key));
        if (missing.length > 0 && !ignoreMissing) throw noEntries(missing);
        if (dryRun) return terminal.out([...found.keys()].map((key) => `- ${key}\n`).join(""));
      }
      for (const key of keys) {
        try {
          await callUdm(client, "DeleteUdm", { key });
        } catch (error) {
          if (!ignoreMissing || !hasCode(error, "not_found")) throw error;
        }
      }
    });
}
