import type { Command } from "commander";
import { addClientOptions, clientOf } from "./client/client-options.ts";
import type { CollectorAnswer } from "../../server/index.ts";
import { addOutput, print, shownTime, type Cell, type OutputFormat, type Printed } from "./print.ts";
import { CommandError, exitCodes } from "./terminal.ts";
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
  readonly scope?: string;
  readonly key: string;
  readonly name?: string;
}

const path = "/api/v1/enrich/sources";

/** Defines `source`: the sources of metadata of a running collector. */
export const defineSource: DefineCommand = (source, context) => {
  const { terminal, setExitCode } = context;
  defineSourceList(source.command("list").description(sourceListDescription).helpGroup(throughApi), context);

  const named = (
    name: string,
    description: string,
    show: (answer: unknown) => Printed,
    isBad: (answer: unknown) => boolean,
  ): void => {
    const command = addOutput(addClientOptions(source.command(`${name} <name>`).helpGroup(throughApi)))
      .description(description)
      .action(async (which: string, { output }: { output: OutputFormat }) => {
        const answer = await (await clientOf(command, terminal)).ask("POST", `${path}/${name}`, { name: which });
        await print(show(answer), output, terminal);
        if (isBad(answer)) setExitCode(exitCodes.failure);
      });
  };
  const isBadRun = (answer: unknown): boolean => ["failed", "held"].includes((answer as Source).run?.result ?? "");
  const printedRun = (answer: unknown): Printed => runPrinted(answer as Source, `${terminal.startedAs} source accept`);
  named("run", "read a source now; exit code 1 when it fails or is held", printedRun, isBadRun);
  named(
    "diff",
    "show what a source would change now, and change nothing",
    (answer) => diffPrinted(answer as DiffJson),
    () => false,
  );
  named("accept", "take what is held of a source", printedRun, () => false);
};

/** Defines `source list`, and `udm sources`. */
export const defineSourceList = (list: Command, { terminal }: CommandContext): void => {
  addOutput(addClientOptions(list)).action(async ({ output }: { output: OutputFormat }) => {
    const answer = (await (await clientOf(list, terminal)).ask("GET", path)) as CollectorAnswer<"listSources">;
    if (!answer.enabled)
      throw new CommandError(
        "unimplemented",
        "no sources are set up: SVC_PROCESSOR_ENRICH_IPADDR_SOURCES_PATH names their file",
      );
    const rows = answer.sources.map(sourceRow);
    await print(
      { value: answer, head: ["name", "kind", "state", "entries", "lastGood", "from"], rows },
      output,
      terminal,
    );
  });
};

function sourceRow({ name, kind, state, entries, lastGood, run, place }: Source): readonly Cell[] {
  return [name, kind, state, entries, lastGood === undefined ? "never" : shownTime(lastGood), run?.reason ?? place];
}

function countsText({ added, changed, removed, unchanged }: ChangeCounts): string {
  return `${added} added, ${changed} changed, ${removed} removed, ${unchanged} unchanged`;
}

function runPrinted(answer: Source, accept: string): Printed {
  const { name, run, entries } = answer;
  const { added, changed, removed, unchanged } = run?.changes ?? {};
  return {
    value: answer,
    head: ["name", "result", "reason", "entries", "added", "changed", "removed", "unchanged"],
    rows: [[name, run?.result, run?.reason, entries, added, changed, removed, unchanged]],
    text: () => runText(answer, accept),
  };
}

function runText({ name, run, entries }: Source, accept: string): string {
  if (run === undefined) return `${name}: not run yet\n`;
  const reason = run.reason === undefined ? "" : `: ${run.reason}`;
  const lines = [`${name}: ${run.result}${reason}`, `${entries} entries in use`];
  if (run.changes !== undefined) lines.push(`${run.result === "held" ? "it would be " : ""}${countsText(run.changes)}`);
  if (run.missingScopes !== undefined)
    lines.push(`rows wait for scopes that there are not: ${run.missingScopes.join(", ")}`);
  if (run.faultyRows > 0) lines.push(`${run.faultyRows} of ${run.rows} rows are left out:`);
  for (const { row, column, reason: what } of run.faults)
    lines.push(`  row ${row}${column === "" ? "" : `, ${column}`}: ${what}`);
  if (run.result === "held") lines.push(`To take it: ${accept} ${name}`);
  return printable(lines);
}

function diffPrinted(answer: DiffJson): Printed {
  const rows = (["removed", "changed", "added"] as const).flatMap((what) =>
    answer[what].map(({ scope, key, name }) => [what, key, name, scope]),
  );
  return { value: answer, head: ["change", "key", "name", "scope"], rows, text: () => diffText(answer) };
}

function diffText({ result, reason, changes, added, changed, removed }: DiffJson): string {
  const lines = (sign: string, entries: readonly EntryJson[], count: number): string[] => [
    ...entries.map(({ scope, key, name }) =>
      [`${sign} ${key}`, scope === undefined ? undefined : `(${scope})`, name]
        .filter((text) => text !== undefined)
        .join("  "),
    ),
    ...(count > entries.length ? [`${sign} … ${count - entries.length} more`] : []),
  ];
  return printable([
    ...lines("-", removed, changes.removed),
    ...lines("~", changed, changes.changed),
    ...lines("+", added, changes.added),
    `${countsText(changes)}${result === "held" ? `; a run would hold this: ${reason ?? ""}` : ""}`,
  ]);
}

/** Replaces control characters, which could steer a terminal. */
function printable(lines: readonly string[]): string {
  return lines.map((line) => `${line.replace(/\p{Cc}/gu, "?")}\n`).join("");
}
