import { Option } from "commander";
import type { ReportPreview, ReportRun, ReportsAnswer, SavedViewsAnswer, ViewsImported } from "../../server/index.ts";
import { addClientOptions, clientOf } from "./client/client-options.ts";
import { throughApi, type DefineCommand } from "./command.ts";
import { addOutput, print, type OutputFormat } from "./print.ts";
import { CommandError, readInput } from "./terminal.ts";

const path = "/api/v1/views";

/** Defines `view`: shared views, boards and reports of a running collector. */
export const defineView: DefineCommand = (view, { terminal }) => {
  const list = addOutput(addClientOptions(view.command("list").helpGroup(throughApi)))
    .description("list the views, boards and reports that people share")
    .action(async ({ output }: { output: OutputFormat }) => {
      const answer = (await (await clientOf(list, terminal)).ask("GET", path)) as SavedViewsAnswer;
      const rows = [
        ...answer.boards.map((one) => ["board", one.id, one.name, one.role, one.changedBy, one.changedAt]),
        ...answer.reports.map((one) => ["report", one.id, one.name, one.role, one.changedBy, one.changedAt]),
        ...answer.views.map((one) => ["view", one.id, one.name, one.role, one.changedBy, one.changedAt]),
      ];
      await print(
        { value: answer, head: ["kind", "id", "name", "role", "changedBy", "changedAt"], rows },
        output,
        terminal,
      );
    });

  const save = addClientOptions(view.command("export").helpGroup(throughApi))
    .description("write the views, boards and reports as YAML, as import takes them")
    .action(async () => {
      const { views, boards, reports } = (await (await clientOf(save, terminal)).ask("GET", path)) as SavedViewsAnswer;
      const plain = {
        views: views.map(withoutRecord),
        boards: boards.map(withoutRecord),
        reports: reports.map(withoutRecord),
      };
      terminal.out((await import("js-yaml")).dump(plain, { lineWidth: -1 }));
    });

  const load = addClientOptions(view.command("import <file>").helpGroup(throughApi))
    .description("create or change the views, boards and reports of a YAML file (-: the standard input), all or none")
    .option("--dry-run", "say what would change, and change nothing")
    .action(async (file: string, { dryRun = false }: { dryRun?: boolean }) => {
      const text = Buffer.from(await readInput(file, terminal)).toString();
      const body = { ...(await readYaml(text, file)), dryRun };
      const answer = (await (await clientOf(load, terminal)).ask("POST", `${path}/import`, body)) as ViewsImported;
      const line = (word: string, ids: readonly string[]): string =>
        `${ids.length} ${word}${ids.length === 0 ? "" : `: ${ids.join(", ")}`}\n`;
      const would = dryRun ? "to be " : "";
      terminal.out(line(`${would}created`, answer.created) + line(`${would}changed`, answer.changed));
      terminal.out(line("unchanged", answer.unchanged));
    });
};

const reportsPath = "/api/v1/reports";
const forms = ["html", "text"] as const;

/** Defines `report`: boards of a running collector that are sent at set times. */
export const defineReport: DefineCommand = (report, { terminal }) => {
  const list = addOutput(addClientOptions(report.command("list").helpGroup(throughApi)))
    .description("list the reports, when they are due, and what became of the last ones")
    .action(async ({ output }: { output: OutputFormat }) => {
      const answer = (await (await clientOf(list, terminal)).ask("GET", reportsPath)) as ReportsAnswer;
      const rows = answer.reports.map(({ id, name, schedule, zone, next = "paused", fault, runs: [last] }) => {
        return [
          id,
          name,
          schedule,
          zone,
          fault === undefined ? next : `never: ${fault}`,
          last === undefined ? "" : `${last.state} ${last.due}`,
        ];
      });
      await print({ value: answer, head: ["id", "name", "schedule", "zone", "next", "last"], rows }, output, terminal);
    });

  const send = addClientOptions(report.command("send <id>").helpGroup(throughApi))
    .description("send a report now, to all of its actions")
    .action(async (id: string) => {
      const run = (await (await clientOf(send, terminal)).ask("POST", `${reportsPath}/send`, { id })) as ReportRun;
      const to = run.deliveries.map(({ action }) => action).join(", ");
      terminal.out(`${run.id} is on its way to ${to}: ${run.from} to ${run.to}\n`);
    });

  const preview = addClientOptions(report.command("preview <id>").helpGroup(throughApi))
    .description("write a report as it would be sent now, and send nothing")
    .addOption(new Option("--as <form>", "how to write it").choices(forms).default("text"))
    .action(async (id: string, { as }: { as: (typeof forms)[number] }) => {
      const client = await clientOf(preview, terminal);
      const made = (await client.ask("POST", `${reportsPath}/preview`, { id })) as ReportPreview;
      terminal.out(as === "html" ? made.html : `${made.subject}\n\n${made.text}\n`);
    });
};

function withoutRecord<T extends { revision: number; changedAt: string; changedBy: string }>(
  item: T,
): Omit<T, "revision" | "changedAt" | "changedBy"> {
  const { revision: _, changedAt: __, changedBy: ___, ...rest } = item;
  return rest;
}

async function readYaml(text: string, file: string): Promise<object> {
  const [{ load }, { readYaml: check, YamlFault }] = await Promise.all([
    import("js-yaml"),
    import("../../base/yaml/index.ts"),
  ]);
  let value: unknown;
  try {
    // Refuse aliases that expand to far more than the text; the library would expand them.
    check(text);
    value = load(text);
  } catch (error) {
    const { message } = error as Error;
    const place = error instanceof YamlFault ? `:${error.position.line}:${error.position.column}` : "";
    throw new CommandError("invalid_argument", `${file}${place}: ${message}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new CommandError(
      "invalid_argument",
      `${file}: expected lists of views, boards and reports, as export writes them`,
    );
  return value;
}
