import { Option } from "commander";
import { addClientOptions, clientOf } from "../client/client-options.ts";
import { CommandError } from "../command-error.ts";
import type { DefineCommand } from "../command-row.ts";
import { showCommit } from "./show-changes.ts";
import type { ChangeJson } from "./tools-json.ts";
import { afterNumber, wholeNumber } from "./whole-number.ts";

interface WatchOptions {
  readonly filter?: string;
  readonly after?: number;
  readonly limit?: number;
  readonly sources: boolean;
  readonly output: "text" | "ndjson";
}

/** `udm watch`. */
export const defineWatch: DefineCommand = (watch, { terminal }) => {
  addClientOptions(watch)
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

/** Server-sent events with JSON as their data. */
async function* eventsOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<{ event: string; data: unknown }> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of bytes) {
    const blocks = (rest + decoder.decode(piece, { stream: true })).split("\n\n");
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
