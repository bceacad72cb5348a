import type { DefineCommand } from "./command-row.ts";
import { addClientOptions, clientOf } from "./client/client-options.ts";
import { CommandError } from "./command-error.ts";

/** `metrics`: what a running collector counts. */
export const defineMetrics: DefineCommand = (metrics, { terminal }) => {
  addClientOptions(metrics)
    .option("--changed", "leave out samples that are 0")
    .action(async (names: readonly string[], { changed = false }: { changed?: boolean }) => {
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
      terminal.out(lines.map((line) => `${line}\n`).join(""));
    });
};
