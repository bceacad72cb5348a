import type { ApiClient } from "../client/api-call.ts";
import { CommandError } from "../command-error.ts";
import { confirm } from "../confirm.ts";
import { readInput } from "../read-input.ts";
import type { Terminal } from "../terminal.ts";
import type { ApplyOptions } from "./apply-command.ts";
import { changesTo, currentEntries, makeChanges } from "./entry-changes.ts";
import { readEntries, type EntriesRead } from "./read-entries.ts";
import { countChanges, showChanges } from "./show-changes.ts";

/**
 * Makes the entries of a file those of the collector.
 *
 * @returns how many entries differ.
 * @throws CommandError `failed` with every fault of the file; `usage` when nobody can be asked.
 */
export async function applyFile(
  connect: () => Promise<ApiClient>,
  { filename, dryRun = false, yes = false }: ApplyOptions,
  terminal: Terminal,
): Promise<number> {
  const { entries } = requireSound(filename, readEntries(await readInput(filename, terminal)), terminal);
  const client = await connect();
  const changes = changesTo(entries, await currentEntries(client, entries.keys()));
  terminal.out(showChanges(changes));
  const unchanged = entries.size - changes.length;
  terminal.out(`${countChanges(changes)}; ${unchanged} unchanged\n`);
  if (changes.length === 0 || dryRun) return changes.length;
  if (!yes) await confirm("Apply?", terminal);
  await makeChanges(client, changes);
  terminal.out("applied\n");
  return changes.length;
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
