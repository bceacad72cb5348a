import { addClientOptions, clientOf } from "../client/client-options.ts";
import type { ApiClient } from "../client/api-call.ts";
import { CommandError } from "../command-error.ts";
import type { DefineCommand } from "../command-row.ts";
import { confirm } from "../confirm.ts";
import { currentEntries } from "./entry-changes.ts";
import { callTools, searchUdms } from "./tools-json.ts";
import { callUdm, noEntries } from "./udm-json.ts";

interface DeleteOptions {
  readonly filter?: string;
  readonly ignoreMissing?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** `udm delete`. */
export const defineDelete: DefineCommand = (remove, { terminal }) => {
  addClientOptions(remove)
    .option("--filter <udm-filter>", "such as 'tag = old'; shows the keys and asks")
    .option("--ignore-missing", "a key without an entry is no fault")
    .option("--dry-run", "only show which entries would be deleted")
    .option("-y, --yes", "do not ask")
    .action(async (keys: readonly string[], options: DeleteOptions) => {
      const { filter, ignoreMissing = false, dryRun = false, yes = false } = options;
      if ((filter === undefined) === (keys.length === 0))
        throw new CommandError("usage", "give either keys or --filter");
      const client = await clientOf(remove, terminal);
      const doomed = filter === undefined ? keys : await keysOf(client, filter);
      if (dryRun || filter !== undefined) {
        const shown = filter === undefined ? await existing(client, doomed, ignoreMissing) : doomed;
        terminal.out(shown.map((key) => `- ${key}\n`).join(""));
        if (dryRun || shown.length === 0) return;
        if (!yes) await confirm(`Delete ${shown.length} ${shown.length === 1 ? "entry" : "entries"}?`, terminal);
      }
      if (doomed.length === 1 && !ignoreMissing) await callUdm(client, "DeleteUdm", { key: doomed[0] });
      else await callTools(client, "BatchDeleteUdms", { keys: doomed, ignore_missing: ignoreMissing });
    });
};

async function keysOf(client: ApiClient, filter: string): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const entries of searchUdms(client, { filter })) keys.push(...entries.map(({ key }) => key));
  return keys;
}

async function existing(
  client: ApiClient,
  keys: readonly string[],
  ignoreMissing: boolean,
): Promise<readonly string[]> {
  const { canonicalKey } = await import("./read-entries.ts");
  const wanted = keys.map(canonicalKey);
  const found = await currentEntries(client, wanted);
  const missing = wanted.filter((key) => !found.has(key));
  if (missing.length > 0 && !ignoreMissing) throw noEntries(missing);
  return [...found.keys()];
}
