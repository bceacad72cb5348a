import { isIP } from "node:net";
import { quote } from "../../base/text/index.ts";
import type { CollectorAnswer } from "../../server/index.ts";
import { CommandError, exitCodes } from "./terminal.ts";
import type { DefineCommand } from "./command.ts";
import { addClientOptions, clientOf } from "./client/client-options.ts";
import { addOutput, print, type OutputFormat } from "./print.ts";

type Findings = CollectorAnswer<"diagnose">;

/** Defines `doctor`: asks a running collector why flows are missing or wrong. */
export const defineDoctor: DefineCommand = (doctor, { terminal, setExitCode }) => {
  addOutput(addClientOptions(doctor)).action(
    async (exporter: string | undefined, { output }: { output: OutputFormat }) => {
      if (exporter !== undefined && isIP(exporter) === 0) {
        throw new CommandError(
          "usage",
          `${quote(exporter)} is no IP address: give the one that the exporter sends from`,
        );
      }
      const client = await clientOf(doctor, terminal);
      const path =
        exporter === undefined
          ? "/api/v1/flow/diagnosis"
          : `/api/v1/flow/exporters/${encodeURIComponent(exporter)}/diagnosis`;
      const answer = (await client.ask("GET", path)) as Findings;
      const head = ["severity", "id", "exporter", "sentence", "advice"];
      const rows = answer.diagnoses.map((each) => [each.severity, each.id, each.exporter, each.sentence, each.advice]);
      await print({ value: answer, head, rows, text: () => formatDiagnosis(answer) }, output, terminal);
      if (!answer.healthy) setExitCode(exitCodes.failure);
    },
  );
};

function formatDiagnosis({ diagnoses, ports, exporters }: Findings): string {
  const many = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`;
  const looked = `${many(exporters, "exporter")}, flow port${ports.length === 1 ? "" : "s"} ${ports.join(", ") || "none"}`;
  const found = ["problem", "warning", "note"].map((severity) =>
    many(diagnoses.filter((one) => one.severity === severity).length, severity),
  );
  const printed = new Set<string>();
  const parts = diagnoses.map(({ id, severity, exporter, sentence, evidence, advice }) => {
    const all = Object.entries(evidence).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${JSON.stringify(value)}`],
    );
    // Print facts that several findings share with the first of them.
    const facts = all.filter((fact) => !printed.has(fact));
    for (const fact of facts) printed.add(fact);
    if (facts.length < all.length) facts.push("(the rest as above)");
    const lines = [
      `${severity.toUpperCase()} ${id}${exporter === undefined ? "" : ` ${exporter}`}`,
      `  ${sentence}`,
      `  Evidence: ${facts.join(" ")}`,
      `  What to do: ${advice}`,
    ];
    return `${lines.map(printable).join("\n")}\n`;
  });
  const none = exporters === 0 ? "No findings so far: nothing has been received yet" : "No findings";
  const end = `${diagnoses.length === 0 ? none : found.join(", ")} (${looked}).`;
  return [...parts, `${end}\n`].join("\n");
}

/** Replaces control characters, which could steer a terminal. */
function printable(line: string): string {
  return line.replace(/\p{Cc}/gu, "?");
}
