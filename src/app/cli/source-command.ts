import { Option, type Command } from "commander";
import { addClientOptions, clientOf } from "./client/client-options.ts";
import type { CollectorAnswer } from "../../server/index.ts";
import { CommandError, exitCodes, textTable } from "./terminal.ts";
import { throughApi, type CommandContext, type DefineCommand } from "./command.ts";
import { sourceListDescription } from "./command.ts";

type Source = CollectorAnswer<"listSources">["sources"][number];
type ChangeCounts = NonNullable<NonNullable<Source["run"]>["changes"]>;

interface DiffJson {
  readonly result: string;
  readonly reason?: string;
  readonly changes: ChangeCounts;
  readonly added: readonly EntryJson[];
  readonly changed: readonly EntryJson[];
  readonly removed: readonly EntryJson[];
}

interface EntryJson {
  readonly key: string;
  readonly name?: string;
}

const path = "/api/v1/enrich/sources";

/** `source`: the sources of metadata of a running collector. */
export const defineSource: DefineCommand = (source, context) => {
  const { terminal, setExitCode } = context;
  defineSourceList(source.command("list").description(sourceListDescription).helpGroup(throughApi), context);

  const named = (
    name: string,
    description: string,
    show: (answer: unknown) => string,
    isBad: (answer: unknown) => boolean,
  ): void => {
    const command = addClientOptions(source.command(`${name} <name>`).helpGroup(throughApi))
      .description(description)
      .addOption(format())
      .action(async (which: string, { output }: { output: string }) => {
        const answer = await (await clientOf(command, terminal)).ask("POST", `${path}/${name}`, { name: which });
        terminal.out(written(output, answer, show));
        if (isBad(answer)) setExitCode(exitCodes.failure);
      });
  };
  const isBadRun = (answer: unknown): boolean => ["failed", "held"].includes((answer as Source).run?.result ?? "");
  named(
    "run",
    "read a source now; exit code 1 when it fails or is held",
    (answer) => runText(answer as Source),
    isBadRun,
  );
  named(
    "diff",
    "show what a source would change now, and change nothing",
    (answer) => diffText(answer as DiffJson),
    () => false,
  );
  named(
    "accept",
    "take what is held of a source",
    (answer) => runText(answer as Source),
    () => false,
  );
};

const format = (): Option =>
  new Option("-o, --output <format>", "how to write it").choices(["text", "json"]).default("text");

function written<T>(output: string, answer: T, text: (answer: T) => string): string {
  return output === "json" ? `${JSON.stringify(answer, undefined, 2)}\n` : text(answer);
}

/** `source list`, and `udm sources`. */
export const defineSourceList = (list: Command, { terminal }: CommandContext): void => {
  addClientOptions(list)
    .addOption(format())
    .action(async ({ output }: { output: string }) => {
      const answer = (await (await clientOf(list, terminal)).ask("GET", path)) as CollectorAnswer<"listSources">;
      if (!answer.enabled)
        throw new CommandError(
          "unimplemented",
          "no sources are set up: SVC_PROCESSOR_ENRICH_IPADDR_SOURCES_PATH names their file",
        );
      terminal.out(written(output, answer, ({ sources }) => listText(sources)));
    });
};

function listText(sources: readonly Source[]): string {
  const time = (ms: number | undefined): string =>
    ms === undefined ? "never" : new Date(ms).toISOString().replace(/\.\d+/, "");
  const rows = sources.map(({ name, kind, state, entries, lastGood, run, place }) => [
    name,
    kind,
    state,
    String(entries),
    time(lastGood),
    run?.reason ?? place,
  ]);
  return textTable(["NAME", "KIND", "STATE", "ENTRIES", "LAST GOOD", "FROM"], rows);
}

function countsText({ added, changed, removed, unchanged }: ChangeCounts): string {
  return `${added} added, ${changed} changed, ${removed} removed, ${unchanged} unchanged`;
}

function runText({ name, run, entries }: Source): string {
  if (run === undefined) return `${name}: not run yet\n`;
  const reason = run.reason === undefined ? "" : `: ${run.reason}`;
  const lines = [`${name}: ${run.result}${reason}`, `${entries} entries in use`];
  if (run.changes !== undefined) lines.push(`${run.result === "held" ? "it would be " : ""}${countsText(run.changes)}`);
  if (run.faultyRows > 0) lines.push(`${run.faultyRows} of ${run.rows} rows are left out:`);
  for (const { row, column, reason: what } of run.faults)
    lines.push(`  row ${row}${column === "" ? "" : `, ${column}`}: ${what}`);
  if (run.result === "held") lines.push(`To take it: netgloss source accept ${name}`);
  return printable(lines);
}

function diffText({ result, reason, changes, added, changed, removed }: DiffJson): string {
  const lines = (sign: string, entries: readonly EntryJson[], count: number): string[] => [
    ...entries.map(({ key, name }) => `${sign} ${key}${name === undefined ? "" : `  ${name}`}`),
    ...(count > entries.length ? [`${sign} … ${count - entries.length} more`] : []),
  ];
  return printable([
    ...lines("-", removed, changes.removed),
    ...lines("~", changed, changes.changed),
    ...lines("+", added, changes.added),
    `${countsText(changes)}${result === "held" ? `; a run would hold this: ${reason ?? ""}` : ""}`,
  ]);
}

/** Without control characters, which could steer a terminal. */
function printable(lines: readonly string[]): string {
  return lines.map((line) => `${line.replace(/\p{Cc}/gu, "?")}\n`).join("");
}
