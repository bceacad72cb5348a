import { Option, type Command } from "commander";
import { addClientOptions, clientOf } from "../client/client-options.ts";
import type { Terminal } from "../terminal.ts";
import { confirm } from "../confirm.ts";
import type { EntryChange } from "./entry-changes.ts";
import { wholeNumber } from "./search-command.ts";
import { countChanges, showChanges } from "./show-changes.ts";
import { callTools, listChanges, type ChangeJson } from "./tools-json.ts";
import { writeAll } from "./write-all.ts";

interface HistoryOptions {
  readonly author?: string;
  readonly after?: number;
  readonly limit: number;
  readonly sources: boolean;
  readonly output: "text" | "short" | "ndjson";
}

/** `udm history` and `udm undo`. */
export function addHistoryCommands(udm: Command, terminal: Terminal): void {
  const history = addClientOptions(udm.command("history [key]"))
    .description("show what was changed, by whom and when, the newest first")
    .option("--author <name>", "only changes by this author")
    .option("--after <number>", "only changes with higher numbers", wholeNumber)
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
      const changes = listChanges(await clientOf(history, terminal), request, limit);
      await writeAll(terminal, changes, (batch) => batch.map(text).join(""));
    });

  const undo = addClientOptions(udm.command("undo"))
    .argument("<number>", "the number of the change", wholeNumber)
    .description("put back what a change of the history has changed")
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
}

/** A change as a person reads it. */
export function showCommit({
  number,
  time,
  author = "unknown",
  method = "",
  entries = 0,
  changes = [],
  cut = false,
  layer = "",
  collector = "",
}: ChangeJson): string {
  const many = (entries === 1 ? "1 entry" : `${entries} entries`) + (layer === "" ? "" : ` of the source ${layer}`);
  const kept = changes.length === 0 ? "too many to be kept" : `${changes.length} are kept`;
  const by = collector === "" ? author : `${author} on ${collector}`;
  const head = `${number}  ${time}  ${by.replace(/\p{Cc}/gu, "?")}  ${method}  ${many}${cut ? ` (${kept})` : ""}\n`;
  return head + showChanges(changes).replace(/^(?=.)/gm, "  ");
}
