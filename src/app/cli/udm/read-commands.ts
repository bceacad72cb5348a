import type { ChangeJson } from "../../../server/index.ts";
import { InvalidArgumentError, Option } from "commander";
import { type Terminal, confirm, CommandError } from "../terminal.ts";
import { addEntryOptions, addScopedOptions, clientOf } from "../client/client-options.ts";
import { type DefineCommand } from "../command.ts";
import { print, type Cell, type OutputFormat } from "../print.ts";
import { entryFormat, outputOption, type FormatName } from "./entry-formats.ts";
import { searchUdms, callTools, listChanges, callUdm, noEntries, readUdmKeys, type UdmJson } from "./udm-json.ts";
import { type EntryChange, countChanges, showChanges, showCommit, findFullUdm, readFullUdms } from "./entry-changes.ts";

/** Parses the number of the last known change; 0 selects all changes. */
function afterNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError("expected the number of a change, or 0.");
  return Number(text);
}

/** Parses a number of 1 or more. */
function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("expected a whole number from 1.");
  return Number(text);
}

/** Writes batches as fast as they are read. @returns false when nobody reads them any more. */
async function writeAll<T>(
  terminal: Terminal,
  batches: AsyncIterable<readonly T[]>,
  textOf: (batch: readonly T[]) => string,
): Promise<boolean> {
  for await (const batch of batches) {
    terminal.out(textOf(batch));
    if (!(await terminal.drained())) return false;
  }
  return true;
}

interface SearchOptions {
  readonly filter?: string;
  readonly order?: string;
  readonly limit?: number;
  readonly layers?: boolean;
  readonly output: FormatName;
}

/** Defines `udm search`. */
export const defineSearch: DefineCommand = (search, { terminal }) => {
  addEntryOptions(search)
    .option("--filter <udm-filter>", "such as 'tag = pci and metadata.site in (AMS1, FRA2)'; see docs/filters.md")
    .option("--order <field>", "key, name or vlan; -name is the other way round")
    .option("--limit <number>", "as many at most", wholeNumber)
    .option("--layers", "also the entries of sources; a filter that names layer has them without it")
    .addOption(outputOption())
    .action(async (text: string | undefined, { filter, order, limit, layers: all = false, output }: SearchOptions) => {
      const layers = all || /\blayer\b/.test(filter ?? "");
      if (layers && output === "yaml") {
        throw new CommandError(
          "usage",
          "YAML is a metadata file, which has no entries of sources: use json, ndjson or csv",
        );
      }
      const client = await clientOf(search, terminal);
      const request = {
        ...(text !== undefined && { text }),
        ...(filter !== undefined && { filter }),
        ...(order !== undefined && { order }),
        ...(layers && { layers }),
      };
      const format = await entryFormat(output, { layers });
      if (await writeAll(terminal, searchUdms(client, request, limit), format.batch)) terminal.out(format.end());
    });
};

interface HistoryOptions {
  readonly author?: string;
  readonly after?: number;
  readonly limit: number;
  readonly sources: boolean;
  readonly output: OutputFormat | "short" | "ndjson";
}

const changesAreOff =
  "the collector keeps no changes: it has no state directory (SVC_STATE_DIRECTORY_PATH), or SVC_PROCESSOR_ENRICH_IPADDR_METADATA_HISTORY_SIZE is 0";

/** Defines `udm history`. */
export const defineHistory: DefineCommand = (history, { terminal }) => {
  addEntryOptions(history)
    .option("--author <name>", "only changes by this author")
    .option("--after <number>", "only changes with higher numbers", afterNumber)
    .option("--limit <number>", "as many at most", wholeNumber, 20)
    .option("--no-sources", "without what sources have changed")
    .addOption(
      new Option("-o, --output <format>", "how to write them: short is without the entries, ndjson a change a line")
        .choices(["text", "short", "json", "ndjson", "yaml", "csv"])
        .default("text"),
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
      if (output === "text" || output === "short" || output === "ndjson") {
        await writeAll(terminal, changes, (batch) => batch.map(text).join(""));
        return;
      }
      const value: ChangeJson[] = [];
      for await (const batch of changes) value.push(...batch);
      await print({ value, head: historyHead, rows: value.map(historyRow) }, output, terminal);
    });
};

const historyHead = ["number", "time", "author", "method", "entries", "source"];

function historyRow({ number, time, author = "unknown", method, entries, layer }: ChangeJson): readonly Cell[] {
  return [number, time, author, method, entries, layer];
}

/** Defines `udm undo`. */
export const defineUndo: DefineCommand = (undo, { terminal }) => {
  for (const number of undo.registeredArguments) {
    number.description = "the number of the change";
    number.argParser(wholeNumber);
  }
  addEntryOptions(undo)
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

interface WatchOptions {
  readonly filter?: string;
  readonly after?: number;
  readonly limit?: number;
  readonly sources: boolean;
  readonly output: "text" | "ndjson";
}

/** Defines `udm watch`. */
export const defineWatch: DefineCommand = (watch, { terminal }) => {
  addScopedOptions(watch)
    .option("--filter <udm-filter>", "only changes of entries that match it, before or after")
    .option("--after <number>", "first those with higher numbers, of all after 0 (default: only new ones)", afterNumber)
    .option("--limit <number>", "end after this many", wholeNumber)
    .option("--no-sources", "without what sources change")
    .addOption(new Option("-o, --output <format>", "how to write them").choices(["text", "ndjson"]).default("text"))
    .action(async ({ filter = "", after, limit = Infinity, sources, output }: WatchOptions) => {
      const client = await clientOf(watch, terminal);
      const query = new URLSearchParams({
        filter,
        ...(after !== undefined && { after: String(after) }),
        ...(!sources && { without_layers: "true" }),
      });
      const answer = await client.read("GET", `/api/v1/enrich/ipaddr/changes?${query.toString()}`, { isEndless: true });
      let left = limit;
      for await (const { event, data } of eventsOf(answer)) {
        if (event === "error") {
          const { code, message } = data as { code: string; message: string };
          throw new CommandError(code, `${code}: ${message}`);
        }
        const { change } = data as { change?: ChangeJson };
        if (change === undefined) continue;
        terminal.out(output === "ndjson" ? `${JSON.stringify(change)}\n` : showCommit(change));
        left--;
        if (!(await terminal.drained()) || left === 0) return;
      }
    });
};

/** Yields server-sent events with JSON as their data. */
async function* eventsOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<{ event: string; data: unknown }> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of bytes) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields = new Map(
        block.split("\n").map((line) => [line.split(": ", 1)[0] ?? "", line.slice(line.indexOf(": ") + 2)]),
      );
      const data = fields.get("data");
      if (data !== undefined) yield { event: fields.get("event") ?? "", data: JSON.parse(data) as unknown };
    }
  }
}

interface ListOptions {
  readonly exact?: boolean;
  readonly json?: boolean;
  readonly output: FormatName;
}

/** Defines `udm get`. */
export const defineGet: DefineCommand = (get, { terminal }) => {
  addEntryOptions(get)
    .addOption(outputOption())
    .action(async (keys: readonly string[], { output }: { output: FormatName }) => {
      const client = await clientOf(get, terminal);
      const found: UdmJson[] = [];
      const missing: string[] = [];
      for (const key of keys) {
        const entry = await findFullUdm(client, key);
        if (entry === undefined) missing.push(key);
        else found.push(entry);
      }
      if (output === "json" && keys.length === 1)
        terminal.out(found.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
      else if (found.length > 0) {
        const format = await entryFormat(output);
        terminal.out(format.batch(found) + format.end());
      }
      if (missing.length > 0) throw noEntries(missing);
    });
};

/** Defines `udm list`. */
export const defineList: DefineCommand = (list, { terminal }) => {
  addEntryOptions(list)
    .option("--exact", "only the entry with exactly this key")
    .addOption(outputOption())
    .option("--json", "short for --output ndjson: one JSON object per line")
    .action(async (key: string | undefined, options: ListOptions) => {
      const client = await clientOf(list, terminal);
      if (options.exact === true && key === undefined)
        throw new CommandError("usage", "--exact is of one key: give it");
      const selection = { ...(key !== undefined && { key }), exact: options.exact === true };
      if (options.output === "name" && options.json !== true) {
        await writeAll(terminal, readUdmKeys(client, selection), (keys) => keys.map((text) => `${text}\n`).join(""));
        return;
      }
      const output = options.json === true ? "ndjson" : options.output;
      const format = await entryFormat(output);
      if (await writeAll(terminal, readFullUdms(client, selection), format.batch)) terminal.out(format.end());
    });
};

/** Defines `udm count`. */
export const defineCount: DefineCommand = (count, { terminal }) => {
  addEntryOptions(count).action(async () => {
    const { count: entries = 0 } = (await callUdm(await clientOf(count, terminal), "CountUdms", {})) as {
      count?: number;
    };
    terminal.out(`${entries}\n`);
  });
};
