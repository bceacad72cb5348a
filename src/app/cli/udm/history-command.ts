import { Option } from "commander";
import { addClientOptions, clientOf } from "../client/client-options.ts";
import type { DefineCommand } from "../command-row.ts";
import { confirm } from "../confirm.ts";
import type { EntryChange } from "./entry-changes.ts";
import { countChanges, showChanges, showCommit } from "./show-changes.ts";
import { callTools, listChanges, type ChangeJson } from "./tools-json.ts";
import { afterNumber, wholeNumber } from "./whole-number.ts";
import { writeAll } from "./write-all.ts";

interface HistoryOptions {
  readonly author?: string;
  readonly after?: number;
  readonly limit: number;
  readonly sources: boolean;
  readonly output: "text" | "short" | "ndjson";
}

const changesAreOff =
  "the collector keeps no changes: it has no state directory (SVC_STATE_DIRECTORY_PATH), or SVC_PROCESSOR_ENRICH_IPADDR_METADATA_HISTORY_SIZE is 0";

/** `udm history`. */
export const defineHistory: DefineCommand = (history, { terminal }) => {
  addClientOptions(history)
    .option("--author <name>", "only changes by this author")
    .option("--after <number>", "only changes with higher numbers", afterNumber)
    .option("--limit <number>", "as many at most", wholeNumber, 20)
    .option("--no-sources", "without what sources have changed")
    .addOption(
      new Option("-o, --output <format>", "how to write them").choices(["text", "short", "ndjson"]).default("text"),
    )
    .action(async (key: string | undefined, { author, after, limit, sources, output }: HistoryOptions) => {
      const request = {
        ...(key !== undefined && { key }),
        ...(author !== undefined && { author }),
        ...(after !== undefined && { after }),
        without_entries: output === "short",
        ...(!sources && { without_layers: true }),
      };
      const text = output === "ndjson" ? (change: ChangeJson) => `${JSON.stringify(change)}\n` : showCommit;
      const changes = listChanges(await clientOf(history, terminal), request, limit, () => {
        terminal.err(`${changesAreOff}\n`);
      });
      await writeAll(terminal, changes, (batch) => batch.map(text).join(""));
    });
};

/** `udm undo`. */
export const defineUndo: DefineCommand = (undo, { terminal }) => {
  for (const number of undo.registeredArguments) {
    number.description = "the number of the change";
    number.argParser(wholeNumber);
  }
  addClientOptions(undo)
    .option("--dry-run", "only show what would be done")
    .option("-y, --yes", "do not ask")
    .action(async (id: number, { dryRun = false, yes = false }: { dryRun?: boolean; yes?: boolean }) => {
      const client = await clientOf(undo, terminal);
      const ask = async (isDry: boolean): Promise<{ change?: number; changes?: EntryChange[] }> =>
        (await callTools(client, "UndoChange", { id, dry_run: isDry })) as { change?: number; changes?: EntryChange[] };
      const { changes = [] } = await ask(true);
      terminal.out(`${showChanges(changes)}${countChanges(changes)}\n`);
      if (dryRun) return;
      if (!yes) await confirm("Undo?", terminal);
      const { change } = await ask(false);
      terminal.out(change === undefined ? "nothing had to be undone\n" : `undone by change ${change}\n`);
    });
};
