import type { ApiClient } from "../client/api-call.ts";
import { showProgress } from "../client/show-progress.ts";
import { CommandError } from "../command-error.ts";
import { confirm } from "../confirm.ts";
import { readInput } from "../read-input.ts";
import type { Terminal } from "../terminal.ts";
import type { ApplyOptions } from "./apply-command.ts";
import { changesTo, currentEntries, makeChanges, type EntryChange } from "./entry-changes.ts";
import { readEntries, type EntriesRead } from "./read-entries.ts";
import { callTools } from "./tools-json.ts";
import type { UdmJson } from "./udm-json.ts";
import { countChanges, showChanges } from "./show-changes.ts";

/**
 * Makes the entries of a file those of the collector.
 *
 * @returns how many entries differ.
 * @throws CommandError `failed` with every fault of the file; `usage` when nobody can be asked.
 */
export async function applyFile(
  connect: () => Promise<ApiClient>,
  options: ApplyOptions,
  terminal: Terminal,
): Promise<number> {
  const { filename, dryRun = false, yes = false } = options;
  const { entries } = requireSound(filename, readEntries(await readInput(filename, terminal)), terminal);
  const client = await connect();
  if (terminal.isWatched) terminal.err(`comparing ${entries.size} entries …\n`);
  const plan =
    options.replace === undefined
      ? await planUpsert(client, entries)
      : await planReplace(client, entries, options, terminal);
  const { changes } = plan;
  terminal.out(showChanges(changes));
  terminal.out(`${countChanges(changes)}; ${plan.unchanged} unchanged\n`);
  if (changes.length === 0 || dryRun) return changes.length;
  if (!yes) await confirm("Apply?", terminal);
  if (terminal.isWatched) terminal.err("saving …\n");
  await plan.make();
  terminal.out("applied\n");
  return changes.length;
}

/** What is going to be done. */
interface Plan {
  readonly changes: readonly EntryChange[];
  readonly unchanged: number;
  readonly make: () => Promise<unknown>;
}

type Entries = EntriesRead["entries"];

async function planUpsert(client: ApiClient, entries: Entries): Promise<Plan> {
  const current = await currentEntries(client, entries.keys());
  const changes = changesTo(keepContexts(entries, current), current);
  return { changes, unchanged: entries.size - changes.length, make: () => makeChanges(client, changes) };
}

/** As a replacement does: entries for which the file says nothing of contexts keep theirs. */
function keepContexts(entries: Entries, current: Entries): Entries {
  const kept = Array.from(entries, ([key, entry]): [string, UdmJson] => {
    const contexts = entry.contexts ?? current.get(key)?.contexts;
    return [key, contexts === undefined ? entry : { ...entry, contexts }];
  });
  return new Map(kept);
}

/** The collector finds the difference itself. */
async function planReplace(
  client: ApiClient,
  entries: Entries,
  { replace, maxDeletes }: ApplyOptions,
  terminal: Terminal,
): Promise<Plan> {
  const request = {
    udms: [...entries.values()],
    scope: replace,
    ...(maxDeletes !== undefined && { max_deletes: maxDeletes }),
  };
  const ask = (dry_run: boolean): Promise<unknown> =>
    showProgress(
      client,
      dry_run ? "replace-check" : "replace",
      terminal,
      callTools(client, "ReplaceUdms", { ...request, dry_run }),
    );
  const { changes = [], unchanged = 0 } = (await ask(true)) as { changes?: EntryChange[]; unchanged?: number };
  return { changes, unchanged, make: () => ask(false) };
}

function requireSound(filename: string, read: EntriesRead, terminal: Terminal): EntriesRead {
  const errors: string[] = [];
  for (const { line, column, message, isWarning } of read.faults) {
    const place = line === undefined ? filename : `${filename}:${line}:${column}`;
    if (isWarning) terminal.err(`warning: ${place}: ${message}\n`);
    else errors.push(`${place}: ${message}`);
  }
  if (errors.length > 0) throw new CommandError("failed", errors.join("\nerror: "));
  return read;
}
