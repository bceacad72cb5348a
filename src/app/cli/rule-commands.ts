import type { Command } from "commander";
import type {
  FoundKeyJson,
  ListRuleChangesResponseJson,
  ListRulesResponseJson,
  RuleWrittenJson,
  TestRuleResponseJson,
} from "../../server/index.ts";
import { addClientOptions, clientOf } from "./client/client-options.ts";
import { throughApi, timeSpan, type CommandContext } from "./command.ts";
import { addOutput, print, type Cell, type OutputFormat } from "./print.ts";
import { CommandError, exitCodes, readInput, type Terminal } from "./terminal.ts";

const services = { enrich: "EnrichRuleService", watch: "WatchRuleService" } as const;

/** The number of changes that the collector keeps. */
const mostChanges = 1000;

interface SetOptions {
  readonly replace?: string;
  readonly before?: string;
  readonly revision?: string;
  readonly dryRun?: true;
  readonly output: OutputFormat;
}

/** Calls a method of the service of the rules. */
type Ask = (command: Command, method: string, body: Readonly<Record<string, unknown>>) => Promise<unknown>;

function apiCommand(rules: Command, name: string): Command {
  return addOutput(addClientOptions(rules.command(name).helpGroup(throughApi)));
}

/** Reads a rule from a file, or from the standard input. */
async function textOf(file: string, terminal: Terminal): Promise<string> {
  return Buffer.from(await readInput(file, terminal)).toString("utf8");
}

/** Defines the commands that show, try and change rules of one kind through the API. */
export function defineRuleCommands(rules: Command, kind: keyof typeof services, context: CommandContext): void {
  const { terminal } = context;
  const ask: Ask = async (command, method, body) =>
    (await clientOf(command, terminal)).ask("POST", `/rules.v1.${services[kind]}/${method}`, body);
  const revised = (name: string): Command =>
    apiCommand(rules, name).option(
      "--revision <text>",
      "refuse when the file has another revision: somebody else has changed it",
    );
  const written = async (answer: RuleWrittenJson, said: string, output: OutputFormat): Promise<void> => {
    const { rule = {}, revision = "", change = "0" } = answer;
    const text = (): string =>
      `${said} ${rule.name ?? ""}${change === "0" ? "" : `, change ${change}`}, revision ${revision}\n`;
    const rows = [[rule.name ?? "", Number(change), revision]];
    await print({ value: answer, head: ["rule", "change", "revision"], rows, text }, output, terminal);
  };
  defineQuestions(rules, kind, ask, context);

  const set = revised("set <file>")
    .description("create the rule of a file, or put it in place of the one of its name; - is the standard input")
    .option("--replace <name>", "the rule in whose place it comes")
    .option("--before <name>", "the rule before which it comes; else it keeps its place, a new one is the last")
    .option("--dry-run", "say what is wrong with it, and change nothing")
    .action(async (file: string, { replace: name = "", before = "", revision = "", dryRun, output }: SetOptions) => {
      const body = { text: await textOf(file, terminal), name, before, revision, validateOnly: dryRun === true };
      await written((await ask(set, "SetRule", body)) as RuleWrittenJson, dryRun === true ? "good:" : "set", output);
    });

  const move = revised("move <name>")
    .description("give a rule another place; without --before it becomes the last")
    .option("--before <name>", "the rule before which it comes")
    .action(async (name: string, { before = "", revision = "", output }: SetOptions) => {
      await written((await ask(move, "MoveRule", { name, before, revision })) as RuleWrittenJson, "moved", output);
    });

  const remove = revised("delete <name>")
    .description("delete a rule")
    .action(async (name: string, { revision = "", output }: SetOptions) => {
      await written((await ask(remove, "DeleteRule", { name, revision })) as RuleWrittenJson, "deleted", output);
    });

  const undo = revised("undo <change>")
    .description("put back what a change has changed; refused when the rule was changed since")
    .option("--dry-run", "say whether it can be undone, and change nothing")
    .action(async (change: string, { revision = "", dryRun, output }: SetOptions) => {
      const body = { number: change, revision, dryRun: dryRun === true };
      const said = dryRun === true ? "can be undone:" : "undone:";
      await written((await ask(undo, "UndoRuleChange", body)) as RuleWrittenJson, said, output);
    });
}

/** Defines the commands that change no rule. */
function defineQuestions(
  rules: Command,
  kind: keyof typeof services,
  ask: Ask,
  { terminal, setExitCode }: CommandContext,
): void {
  const show = addClientOptions(rules.command("show <name>").helpGroup(throughApi))
    .description("print the YAML of a rule, as `set` takes it")
    .action(async (name: string) => {
      const { rules: found = [] } = (await ask(show, "ListRules", {})) as ListRulesResponseJson;
      const rule = found.find((each) => each.name === name);
      if (rule === undefined) throw new CommandError("not_found", `there is no rule ${name}`);
      terminal.out(`${rule.text ?? ""}\n`);
    });

  const history = apiCommand(rules, "history [name]")
    .description("list changes by the API, the newest first; of one rule, or of all")
    .action(async (name = "", { output }: { readonly output: OutputFormat }) => {
      const answer = (await ask(history, "ListRuleChanges", {
        name,
        limit: mostChanges,
      })) as ListRuleChangesResponseJson;
      const { changes = [] } = answer;
      const rows = changes.map(
        ({ number = "", time = "", author = "", method = "", before, after }): readonly Cell[] => [
          Number(number),
          time,
          author,
          method,
          (after ?? before)?.name ?? "",
        ],
      );
      await print({ value: changes, head: ["change", "time", "by", "method", "rule"], rows }, output, terminal);
    });

  const test = apiCommand(rules, "test <file>")
    .description("try the rule of a file on flows that Explore keeps, before it counts; - is the standard input")
    .option("--replace <name>", "the rule in whose place it is tried")
    .option("--last <time>", "how far to look back", timeSpan, "1h")
    .action(async (file: string, options: { replace?: string; last: string; output: OutputFormat }) => {
      const { replace: name = "", last, output } = options;
      const body = { text: await textOf(file, terminal), name, from: `-${last}` };
      const answer = (await ask(test, "TestRule", body)) as TestRuleResponseJson;
      if (answer.untried !== undefined) {
        terminal.err(`nothing is wrong with it, but it was not tried: ${answer.untried}\n`);
        setExitCode(exitCodes.failure);
        return;
      }
      await print(kind === "watch" ? foundTable(answer) : fittingTable(answer), output, terminal);
      if (answer.complete !== true) terminal.err("a part of the range, or of its records, was looked at\n");
    });
}

function foundTable(answer: TestRuleResponseJson): Parameters<typeof print>[0] {
  const row = ({ key = [], peak = 0, windows = 0, first = "", last = "" }: FoundKeyJson): readonly Cell[] => [
    key.join(" "),
    Number(peak),
    windows,
    first,
    last,
  ];
  return { value: answer, head: ["key", "peak", "windows", "first", "last"], rows: (answer.found ?? []).map(row) };
}

function fittingTable(answer: TestRuleResponseJson): Parameters<typeof print>[0] {
  const { records = "0", fits = "0", changes = "0" } = answer;
  const rows = [[Number(records), Number(fits), Number(changes)]];
  return { value: answer, head: ["records", "fits", "changes"], rows };
}
