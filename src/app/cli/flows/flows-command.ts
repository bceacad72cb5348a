import { InvalidArgumentError, Option } from "commander";
import { addClientOptions, clientOf } from "../client/client-options.ts";
import { CommandError } from "../command-error.ts";
import { throughApi, type DefineCommand } from "../command-row.ts";
import { collect } from "../config-option.ts";

export interface TailOptions {
  readonly filter?: string;
  readonly rate: number;
  readonly limit?: number;
  readonly output: "text" | "json";
}

export interface TopOptions {
  readonly by: readonly string[];
  readonly filter?: string;
  readonly for?: number;
  readonly last?: string;
  readonly limit: number;
  readonly sort: "bytes" | "packets" | "flows";
  readonly output: "table" | "json";
}

/** `flows …`: flows of a running collector while they go by. */
export const defineFlows: DefineCommand = (flows, { terminal }) => {
  const filter = "such as 'src in 10.0.0.0/8 and bytes > 1MB'; see docs/filters.md";

  const tail = addClientOptions(flows.command("tail").helpGroup(throughApi))
    .description("show flows while they go by, a part of them when they are many")
    .option("--filter <expression>", filter)
    .option("--rate <number>", "as many a second at most", numberFrom1, 100)
    .option("--limit <number>", "end after this many", numberFrom1)
    .addOption(new Option("-o, --output <format>", "how to write them").choices(["text", "json"]).default("text"))
    .action(async (options: TailOptions) => {
      const { tailFlows } = await import("./tail-flows.ts");
      await tailFlows(await clientOf(tail, terminal), options, terminal);
    });

  const top = addClientOptions(flows.command("top").helpGroup(throughApi))
    .description(
      "sum up flows by a field, the largest first: those of the next seconds, or with --last 1h those that Explore keeps",
    )
    .requiredOption("--by <field>", "a field, such as dst.name or src.as.org; repeat for more", collect)
    .option("--filter <expression>", filter)
    .option("--for <seconds>", "how long to watch (default: 10)", numberFrom1)
    .option("--last <time>", "ask Explore for the time up to now instead, such as 15m, 1h or 7d", rangeOf)
    .option("--limit <number>", "rows to show", numberFrom1, 20)
    .addOption(new Option("--sort <sum>", "what is largest").choices(["bytes", "packets", "flows"]).default("bytes"))
    .addOption(new Option("-o, --output <format>", "how to write it").choices(["table", "json"]).default("table"))
    .action(async (options: TopOptions) => {
      if (options.last !== undefined) {
        if (options.for !== undefined) throw new CommandError("usage", "--for watches, --last looks back: choose one");
        const { topKeptFlows } = await import("./top-kept-flows.ts");
        await topKeptFlows(() => clientOf(top, terminal), { ...options, last: options.last }, terminal);
        return;
      }
      const { topFlows } = await import("./top-flows.ts");
      await topFlows(() => clientOf(top, terminal), options, terminal);
    });
};

/** As Explore takes it. */
function rangeOf(text: string): string {
  if (!/^[1-9]\d{0,5}[smhdw]$/.test(text)) throw new InvalidArgumentError("expected a time such as 15m, 1h or 7d.");
  return text;
}

function numberFrom1(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("expected a whole number from 1.");
  return Number(text);
}
