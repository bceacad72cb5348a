import { Option, type Command } from "commander";
import { addClientOptions, clientOf } from "../client/client-options.ts";
import type { Terminal } from "../terminal.ts";
import { callTools } from "./tools-json.ts";

interface ExplainOptions {
  readonly context?: string;
  readonly output: "table" | "json" | "yaml";
}

/** `udm explain`. */
export function addExplainCommand(udm: Command, terminal: Terminal): void {
  const explain = addClientOptions(udm.command("explain <ip>"))
    .description("show what records get of an address: each field, what gave it, and what lost")
    .addOption(
      new Option("--context <name>", "only as this end of a flow, or as this device").choices([
        "src",
        "dst",
        "exporter",
        "system",
      ]),
    )
    .addOption(
      new Option("-o, --output <format>", "how to write it").choices(["table", "json", "yaml"]).default("table"),
    )
    .action(async (ip: string, { context = "", output }: ExplainOptions) => {
      const answer = await callTools(await clientOf(explain, terminal), "ExplainAddress", { ip, context });
      if (output === "json") terminal.out(`${JSON.stringify(answer, undefined, 2)}\n`);
      else if (output === "yaml") terminal.out((await import("js-yaml")).dump(answer, { lineWidth: -1 }));
      else terminal.out((await import("./show-explanation.ts")).showExplanation(answer));
    });
}
