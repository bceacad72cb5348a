import { InvalidArgumentError, Option } from "commander";
import { type ApiClient, showProgress } from "../client/api-call.ts";
import { CommandError, confirm, type Terminal, exitCodes } from "../terminal.ts";
import { type DefineCommand } from "../command.ts";
import { readInput } from "../terminal.ts";
import {
  changesTo,
  currentEntries,
  makeChanges,
  type EntryChange,
  countChanges,
  showChanges,
} from "./entry-changes.ts";
import { readEntries, type EntriesRead } from "./entry-yaml.ts";
import { callTools, type UdmJson } from "./udm-json.ts";
import { addEntryOptions, clientOf } from "../client/client-options.ts";

/**
 * Makes the collector's entries equal to those of a file.
 *
 * @returns the number of entries that differ.
 * @throws CommandError `failed` with every fault of the file; `usage` when there is nobody to ask.
 */
async function applyFile(
  connect: () => Promise<ApiClient>,
  options: ApplyOptions,
  terminal: Terminal,
): Promise<number> {
  const { filename, dryRun = false, yes = false } = options;
  const { entries } = requireSound(
    filename,
    readEntries(await readInput(filename, terminal), options.names === true ? "names" : "addresses"),
    terminal,
  );
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

/** The changes that will be made. */
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

/** Keeps the contexts of entries whose contexts the file does not mention, as a replacement does. */
function keepContexts(entries: Entries, current: Entries): Entries {
  const kept = Array.from(entries, ([key, entry]): [string, UdmJson] => {
    const contexts = entry.contexts ?? current.get(key)?.contexts;
    return [key, contexts === undefined ? entry : { ...entry, contexts }];
  });
  return new Map(kept);
}

/** Plans a replacement; the collector finds the differences itself. */
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

/** The scope of a replacement, like UdmScope of the schema. */
export type ReplaceScope = Readonly<Record<string, unknown>>;

/** Returns the option `--replace`. */
export function replaceOption(): Option {
  return new Option(
    "--replace <scope>",
    "delete what is not in the file of this scope: all, a CIDR or range, tag=NAME, or metadata.NAME=VALUE",
  ).argParser(replaceScope);
}

function replaceScope(text: string): ReplaceScope {
  if (text === "all") return { all: true };
  const [, tag] = /^tag=(.+)$/s.exec(text) ?? [];
  if (tag !== undefined) return { tag };
  const [, name, value] = /^metadata\.([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name !== undefined) return { metadata_name: name, metadata_value: value };
  if (/^[0-9a-fA-F:.]+[/-]/.test(text)) return { within: text };
  throw new InvalidArgumentError("expected all, a CIDR or range, tag=NAME, or metadata.NAME=VALUE.");
}

export interface ApplyOptions {
  readonly filename: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly names?: boolean;
  /** The scope within which entries missing in the file are deleted. */
  readonly replace?: ReplaceScope;
  readonly maxDeletes?: string;
}

const file = "a metadata file, or JSON as `udm list` writes it; - is the standard input";

/** Defines `udm apply`. */
export const defineApply: DefineCommand = (apply, { terminal }) => {
  addEntryOptions(apply)
    .requiredOption("-f, --filename <file>", file)
    .addOption(replaceOption())
    .option("--max-deletes <number>", "with --replace: refuse to delete more, a number or a percentage (default 20%)")
    .option("--dry-run", "only show what would change")
    .option("-y, --yes", "do not ask")
    .action(async (options: ApplyOptions) => {
      await applyFile(() => clientOf(apply, terminal), options, terminal);
    });
};

/** Defines `udm diff`. */
export const defineDiff: DefineCommand = (diff, { terminal, setExitCode }) => {
  addEntryOptions(diff)
    .requiredOption("-f, --filename <file>", file)
    .addOption(replaceOption())
    .option("--exit-code", "end with exit code 1 when something would change")
    .action(async ({ exitCode, ...options }: ApplyOptions & { exitCode?: boolean }) => {
      const changes = await applyFile(
        () => clientOf(diff, terminal),
        { ...options, maxDeletes: "100%", dryRun: true },
        terminal,
      );
      if (exitCode === true && changes > 0) setExitCode(exitCodes.failure);
    });
};
