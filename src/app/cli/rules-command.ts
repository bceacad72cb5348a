import { FileFindings, formatFinding, readRules, type Rule } from "../../enrich/index.ts";
import type { CollectorAnswer, ExploreRules } from "../../server/index.ts";
import { addClientOptions, clientOf } from "./client/client-options.ts";
import { offline, throughApi, timeSpan, type DefineCommand } from "./command.ts";
import { defineRuleCommands } from "./rule-commands.ts";
import { addOutput, print, printTable, type Cell, type OutputFormat } from "./print.ts";
import { CommandError, exitCodes, readInput } from "./terminal.ts";

interface TryOptions {
  readonly last: string;
  readonly filter?: string;
  readonly output: OutputFormat;
}

/** Defines `rules`: checks files of rules that give records fields, before they take effect. */
export const defineRules: DefineCommand = (rules, context) => {
  const { terminal, setExitCode } = context;
  /** Reads rules; undefined: the file has faults, which are printed. */
  const read = async (
    file: string,
  ): Promise<{ readonly text: string; readonly found: readonly Rule[] } | undefined> => {
    const bytes = await readInput(file, terminal);
    try {
      return { text: Buffer.from(bytes).toString("utf8"), found: readRules(bytes).value };
    } catch (error) {
      if (!(error instanceof FileFindings)) throw error;
      terminal.err(error.findings.map((finding) => `${file}:${formatFinding(finding)}\n`).join(""));
      setExitCode(exitCodes.failure);
      return undefined;
    }
  };

  rules
    .command("check <file>")
    .helpGroup(offline)
    .description("check a file of rules; all faults are reported as file:line:column")
    .action(async (file: string) => {
      const checked = await read(file);
      if (checked !== undefined) terminal.out(`${file}: ${checked.found.length} rules\n`);
    });

  const list = addOutput(addClientOptions(rules.command("list").helpGroup(throughApi)))
    .description("list the rules of a running collector's file; exit code 1 when it cannot be used")
    .action(async ({ output }: { output: OutputFormat }) => {
      const client = await clientOf(list, terminal);
      const answer = (await client.ask("GET", "/api/v1/enrich/rules")) as CollectorAnswer<"listRules">;
      if (!answer.enabled)
        throw new CommandError(
          "unimplemented",
          "no rules are set up: SVC_PROCESSOR_ENRICH_RULES_PATH names their file",
        );
      const rows = answer.rules.map(({ name, of, fields }) => [name, of, fields.join(" ")]);
      await print({ value: answer, head: ["rule", "of", "gives"], rows }, output, terminal);
      if (answer.fault === undefined) return;
      terminal.err(
        `error: the file cannot be used, the rules read before stay: ${answer.fault.replace(/\p{Cc}/gu, "?")}\n`,
      );
      setExitCode(exitCodes.failure);
    });

  defineRuleCommands(rules, "enrich", context);

  const trial = addOutput(addClientOptions(rules.command("try <file>").helpGroup(throughApi)))
    .description("say what the rules of a file would change on records that Explore keeps, by rule and by field")
    .option("--last <time>", "how far to look back", timeSpan, "1h")
    .option("--filter <expression>", "only records that match it; see docs/filters.md")
    .action(async (file: string, { last, filter = "", output }: TryOptions) => {
      const checked = await read(file);
      if (checked === undefined) return;
      const client = await clientOf(trial, terminal);
      const body = { rules: checked.text, from: `-${last}`, filter };
      const answer = (await client.ask("POST", "/api/v1/explore/rules", body)) as ExploreRules;
      const rows = answer.rules.map(ruleRow);
      await print({ value: answer, head: ruleHead, rows, text: () => trialText(answer) }, output, terminal);
      if (!answer.complete) terminal.err(partText(answer));
    });
};

const ruleHead = ["rule", "of", "fits", "changes", "lacks"];

function ruleRow({ name, of, fits, changes, lacks }: ExploreRules["rules"][number]): readonly Cell[] {
  return [name, of, fits, changes, lacks.join(" ")];
}

function trialText({ rules, fields, records, changed }: ExploreRules): string {
  const fieldRows = fields.map((each) => {
    const values = each.values.map(({ value, records: of }) => `${value} (${of})`).join(", ");
    return [each.field, each.gained, each.lost, each.changed, values];
  });
  const table =
    fields.length === 0 ? "" : `\n${printTable(["field", "gained", "lost", "changed", "values"], fieldRows)}`;
  return `${printTable(ruleHead, rules.map(ruleRow))}${table}\n${changed} of ${records} records would change\n`;
}

function partText({ records, flows, sampling }: ExploreRules): string {
  const sampled = sampling > 1 ? `, of which Explore keeps one of up to ${sampling}` : "";
  return `a part was looked at: ${records} of ${Math.round(flows)} records of that time${sampled}\n`;
}
