import { addOutput, print, printTable, type Cell, type OutputFormat } from "./print.ts";
import { CommandError, exitCodes } from "./terminal.ts";
import { type DefineCommand } from "./command.ts";
import { addClientOptions, clientOf } from "./client/client-options.ts";
import type { Check } from "../../base/report/index.ts";

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Defines `metrics`: shows the counters of a running collector. */
export const defineMetrics: DefineCommand = (metrics, { terminal }) => {
  addOutput(addClientOptions(metrics))
    .option("--changed", "leave out samples that are 0")
    .action(
      async (names: readonly string[], { changed = false, output }: { changed?: boolean; output: OutputFormat }) => {
        const parts: Uint8Array[] = [];
        for await (const part of await (await clientOf(metrics, terminal)).read("GET", "/metrics")) parts.push(part);
        const text = Buffer.concat(parts).toString("utf8");
        const lines = text.split("\n").filter((line) => {
          const name = /^(?:# (?:HELP|TYPE) )?(\w+)/.exec(line)?.[1] ?? "";
          const isMeant = names.length === 0 || names.some((word) => name.includes(word));
          return name !== "" && isMeant && !(changed && (line.startsWith("#") || line.endsWith(" 0")));
        });
        if (lines.length === 0)
          throw new CommandError("not_found", `there is no metric whose name contains ${names.join(" or ")}`);
        const value = lines.flatMap((line) => sampleOf(line) ?? []);
        const rows = value.map((each) => [each.name, labelText(each.labels), each.value]);
        const asIs = (): string => lines.map((line) => `${line}\n`).join("");
        await print({ value, head: ["name", "labels", "value"], rows, text: asIs }, output, terminal);
      },
    );
};

/** Reads a line of the text format of Prometheus; undefined for one that is not a sample. */
function sampleOf(line: string): Sample | undefined {
  const [, name, labels = "", value] = /^(\w+)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
  if (name === undefined) return undefined;
  const pairs = labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g);
  const unquoted = (text: string): string => text.replaceAll(/\\(.)/g, (_, letter) => (letter === "n" ? "\n" : letter));
  const number = Number(value?.replace(/^([+-]?)Inf$/, "$1Infinity"));
  return {
    name,
    labels: Object.fromEntries(Array.from(pairs, ([, key = "", text = ""]) => [key, unquoted(text)])),
    value: number,
  };
}

const labelText = (labels: Sample["labels"]): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(",");

/** Defines `health`: reports whether a running collector is ready, for people and for health checks of containers. */
export const defineHealth: DefineCommand = (health, { terminal, setExitCode }) => {
  addOutput(addClientOptions(health))
    .option("--live", "ask only whether it runs")
    .action(async ({ live = false, output }: { live?: boolean; output: OutputFormat }) => {
      const client = await clientOf(health, terminal);
      if (live) {
        for await (const _ of await client.read("GET", "/livez"));
        terminal.out("it runs\n");
        return;
      }
      const answer = await client.ask("GET", "/readyz", undefined, { answerStatus: 503 });
      const { ready, degraded, checks } = answer as { ready: boolean; degraded: boolean; checks: readonly Check[] };
      const rows: Cell[][] = checks.map((check) => [stateOf(check), check.name, check.detail]);
      const head = ["state", "check", "detail"];
      const all = ready ? (degraded ? "ready, but not all of it works" : "ready") : "not ready";
      await print({ value: answer, head, rows, text: () => `${all}\n${printTable(head, rows)}` }, output, terminal);
      if (!ready) setExitCode(exitCodes.failure);
    });
};

function stateOf({ ready, degraded }: Check): string {
  if (!ready) return "not ready";
  return degraded === true ? "degraded" : "ready";
}
